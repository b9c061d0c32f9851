"""Scores of pairs against wrong pairs: samples, cross-validated good pairs, and stretches of evidence."""

import itertools

import numpy as np
import pytest

from limelight.preparation.sides import (
    BLOCK_PAIRS,
    draw_sample,
    score_pairs,
    share,
    stretches,
    words_in,
)
from limelight.text.pair import Pair
from tests.preparation.parallel import invented_pairs


def numbered(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(source, target, "f.tsv", line) for line, (source, target) in enumerate(pairs, start=1)]


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 160, 161, 1000, 12_345])
def test_a_sample_is_of_blocks_evenly_from_the_whole_text(count: int) -> None:
    sample = draw_sample((Pair("a" * 900, "b", "f", line) for line in range(count)), most=8)
    assert sample.total == count
    assert sample.places.tolist() == [pair.line for pair in sample.pairs]
    assert len(sample.pairs) <= 8 * BLOCK_PAIRS
    assert count <= 8 * BLOCK_PAIRS or len(sample.pairs) > 4 * BLOCK_PAIRS - BLOCK_PAIRS
    if count:
        assert sample.places[0] == 0
        gaps = np.diff(sample.places)
        assert len(set(gaps[gaps > 1].tolist())) <= 1
        assert count - sample.places[-1] <= max(gaps.max(initial=0) + BLOCK_PAIRS, BLOCK_PAIRS)
        assert len(sample.pairs[0].source) == 400


def test_most_true_pairs_are_good_and_a_quarter_of_random_ones(seed: int) -> None:
    pairs = invented_pairs(600, seed)
    clean = score_pairs(words_in(draw_sample(numbered(pairs))))
    assert clean.known.mean() > 0.95
    assert clean.good[clean.known].mean() > 0.9
    assert share(clean.partners, clean.counted) > 2 * share(clean.shuffled, clean.counted)
    targets = np.random.default_rng(seed).permutation([target for _, target in pairs])
    mixed = score_pairs(words_in(draw_sample(numbered(list(zip([one for one, _ in pairs], targets, strict=True))))))
    assert 0.1 < mixed.good[mixed.known].mean() < 0.45
    assert share(mixed.partners, mixed.counted) == pytest.approx(share(mixed.shuffled, mixed.counted), abs=0.08)
    assert mixed.elsewhere[mixed.known].mean() == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("step", [-1, 1])
def test_the_offset_of_shifted_sides_is_found(step: int, seed: int) -> None:
    pairs = invented_pairs(600, seed)
    rolled = [target for _, target in pairs[-step:] + pairs[:-step]]
    shifted = numbered([(pair[0], target) for pair, target in zip(pairs, rolled, strict=True)])
    words = words_in(draw_sample(shifted))
    rates = {offset: score_pairs(words, offset=offset).good.mean() for offset in (-1, 0, 1)}
    assert rates[step] > 0.9
    assert max(rates[0], rates[-step]) < 0.5


def test_text_whose_words_do_not_recur_is_not_known() -> None:
    pairs = [(f"{number}a", f"{number}b") for number in range(300)]
    assert not score_pairs(words_in(draw_sample(numbered(pairs)))).known.any()


def test_stretches_are_those_with_the_largest_sums(seed: int) -> None:
    """As by trying all of them."""
    evidence = np.random.default_rng(seed).normal(-0.3, 1, 60)
    first = next(stretches(evidence, 0.5))
    sums = {(a, b): evidence[a:b].sum() for a, b in itertools.combinations(range(61), 2)}
    assert sums[first] == pytest.approx(max(sums.values()))
    found = list(stretches(evidence, 0.5))
    assert all(evidence[a:b].sum() >= 0.5 for a, b in found)
    assert sum(b - a for a, b in found) == len({row for a, b in found for row in range(a, b)})
    assert list(stretches(evidence, 1e9)) == []
    assert list(stretches(np.zeros(5), 0.0)) == []
