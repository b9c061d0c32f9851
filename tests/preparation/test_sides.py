"""Text on which training cannot succeed: found in any part of a file, and clean text is not accused."""

import itertools
import random

import numpy as np
import pytest

from limelight.preparation.sides import (
    BLOCK_PAIRS,
    SideCheck,
    Stretch,
    check_sides,
    draw_sample,
    score_pairs,
    stretches,
    words_in,
)
from limelight.text.pair import Pair
from tests.preparation.parallel import invented_pairs
from tests.text.test_languages import TEXTS

Sides = list[tuple[str, str]]


def numbered(pairs: Sides) -> list[Pair]:
    return [Pair(*sides, "f.tsv", line) for line, sides in enumerate(pairs, start=1)]


def checked(pairs: Sides, source: str = "", target: str = "") -> SideCheck:
    return check_sides(draw_sample(numbered(pairs)), "f.tsv", source, target)


def in_languages(source: str, target: str, count: int, seed: int) -> Sides:
    """Invented pairs with eight function words of a language in each."""
    draw = random.Random(seed)
    return [
        (
            f"{one} {' '.join(draw.choices(TEXTS[source].split(), k=8))}",
            f"{other} {' '.join(draw.choices(TEXTS[target].split(), k=8))}",
        )
        for one, other in invented_pairs(count, seed)
    ]


def only(found: SideCheck) -> tuple[str, Stretch]:
    (text,), (rows,) = found.findings, found.misaligned
    return text, rows


@pytest.mark.parametrize("count", [200, 1000, 6000])
def test_clean_text_is_not_accused(count: int, seed: int) -> None:
    found = checked(invented_pairs(count, seed))
    assert (found.findings, found.wrong) == ([], 0)
    assert "% of the pairs fit better" in found.measured
    assert checked(sorted(invented_pairs(count // 4, seed) * 4)).findings == []  # many translations of a sentence


@pytest.mark.parametrize(
    ("begin", "side", "where"), [(40, 1, "before"), (900, 1, "before"), (40, 0, "after"), (900, 0, "after")]
)
def test_a_missing_line_is_found(begin: int, side: int, where: str, seed: int) -> None:
    pairs = invented_pairs(1200, seed)
    later = [*pairs[:begin], *pairs[begin + 1 :]]
    shifted = [(one[0], other[1]) if side else (other[0], one[1]) for one, other in zip(pairs, later, strict=False)]
    text, rows = only(checked(shifted))
    assert abs(rows.first - begin) <= 6
    assert f"from line {rows.first + 1:,} on the sides do not belong together: " in text
    name = "target" if side else "source"
    assert f"the translation of each source is in the line {where} it: is a line of the {name} side missing" in text
    assert checked(shifted).wrong == pytest.approx(1 - begin / 1199, abs=0.01)


def test_shuffled_lines_are_found_where_they_are(seed: int) -> None:
    pairs = invented_pairs(1500, seed)
    targets = [target for _, target in pairs]
    part = targets[500:900]
    random.Random(seed).shuffle(part)
    targets[500:900] = part
    text, rows = only(checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)]))
    assert abs(rows.first - 500) <= 10
    assert abs(rows.end - 900) <= 10
    assert "was one side sorted, shuffled, or taken from another text?" in text
    random.Random(seed).shuffle(targets)
    whole = checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)])
    assert "in all lines the sides do not belong together" in whole.findings[0]
    assert whole.wrong > 0.95


def test_lines_in_other_languages_are_found(seed: int) -> None:
    pairs, others = in_languages("en", "fr", 1500, seed), in_languages("en", "es", 1500, seed)
    found = checked(
        [(target, source) if row >= 1000 else (source, target) for row, (source, target) in enumerate(pairs)]
    )
    assert "in each other's language: are the sides swapped there?" in found.findings[0]
    assert found.languages == ("en", "fr")
    assert found.wrong == pytest.approx(1 / 3, abs=0.05)
    foreign = checked(pairs[:600] + others[600:800] + pairs[800:])
    assert "are in another language: are these lines of another text?" in foreign.findings[0]


def test_what_cannot_be_told_is_not_said(seed: int) -> None:
    """Few pairs, and pairs of words that occur once."""
    pairs = invented_pairs(100, seed)
    wrong = [(one, other) for (one, _), (_, other) in zip(pairs, pairs[::-1], strict=True)]
    names = [(f"word{number}", f"wort{2 * number}") for number in range(500)]
    assert checked(wrong) == checked([]) == checked(names) == SideCheck()


def test_a_declared_language_is_compared_with_the_whole_side() -> None:
    found = checked([(TEXTS["fr"], TEXTS["en"])] * 40, "en", "fr")
    assert found.wrong == 1
    assert found.findings[0].endswith("are the sides swapped?")
    assert "the target side, said to be de, looks like fr; give --source" in checked(
        [(TEXTS["en"], TEXTS["fr"])] * 40, "en", "de"
    ).findings[0]  # fmt: skip
    words = list(zip(TEXTS["fr"].split() * 30, (TEXTS["en"].split() * 30), strict=False))
    found = checked(words, "en", "fr")
    assert found.wrong == 0  # a warning
    assert found.findings


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 160, 161, 1000, 12_345])
def test_a_sample_is_of_blocks_evenly_from_the_whole_text(count: int) -> None:
    sample = draw_sample((Pair("a" * 900, "b", "f", line) for line in range(count)), most=8)
    assert len(sample) <= 8 * BLOCK_PAIRS
    assert count <= 8 * BLOCK_PAIRS or len(sample) > 4 * BLOCK_PAIRS - BLOCK_PAIRS
    if count:
        lines = np.array([pair.line for pair in sample])
        assert lines[0] == 0
        gaps = np.diff(lines)
        assert len(set(gaps[gaps > 1].tolist())) <= 1
        assert count - lines[-1] <= max(gaps.max(initial=0) + BLOCK_PAIRS, BLOCK_PAIRS)
        assert len(sample[0].source) == 400


def test_most_true_pairs_are_good_and_a_quarter_of_random_ones(seed: int) -> None:
    pairs = invented_pairs(600, seed)
    clean = score_pairs(*words_in(numbered(pairs)))
    assert clean.known.mean() > 0.95
    assert clean.good[clean.known].mean() > 0.9
    targets = np.random.default_rng(seed).permutation([target for _, target in pairs])
    mixed = score_pairs(*words_in(numbered(list(zip([one for one, _ in pairs], targets, strict=True)))))
    assert 0.1 < mixed.good[mixed.known].mean() < 0.45
    assert mixed.elsewhere[mixed.known].mean() == pytest.approx(0.5, abs=0.12)


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
