"""Cutting batches: nothing lost, nothing twice, the budget kept, little padding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.batch import Lengths, count_batches, cut_batches


def real_fraction(source_lengths: Lengths, target_lengths: Lengths, batches: list[np.ndarray]) -> float:
    """The share of positions, both sides together, that hold a real token."""
    real = int(source_lengths.sum() + target_lengths.sum())
    held = sum(len(rows) * int(source_lengths[rows].max() + target_lengths[rows].max()) for rows in batches)
    return real / held if held else 1.0


def cut(sources: np.ndarray, targets: np.ndarray, tokens: int, seed: int = 0) -> list[np.ndarray]:
    return cut_batches(sources, targets, tokens=tokens, generator=np.random.default_rng(seed))


def sentence_lengths(pairs: int, seed: int, spread: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Lengths as real sentences have them: log-normal, the two sides alike but not the same, a few very long."""
    generator = np.random.default_rng(seed)
    sources = generator.lognormal(mean=2.8, sigma=spread, size=pairs)
    targets = sources * generator.lognormal(mean=0.05, sigma=0.4 * spread, size=pairs)
    return np.clip(sources, 2, 256).astype(np.int64), np.clip(targets, 2, 256).astype(np.int64)


lengths = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


@given(lengths, st.integers(1, 500), st.integers(0, 2**32 - 1))
def test_every_pair_once_within_the_budget(pairs: list[tuple[int, int]], tokens: int, seed: int) -> None:
    sources, targets = np.array(pairs).T
    batches = cut(sources, targets, tokens, seed)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    for rows in batches:
        size = len(rows) * max(sources[rows].max(), targets[rows].max())
        assert size <= tokens or len(rows) == 1


@pytest.mark.parametrize(
    ("pairs", "tokens", "spread", "least"),
    [
        (30_000, 4096, 0.3, 0.97),  # captions: a small corpus of sentences that are much alike
        (100_000, 4096, 0.5, 0.97),  # a chunk of a large one
        (100_000, 25_000, 0.5, 0.93),  # 100 large batches cannot each be as alike as 700 small ones
    ],
)
def test_most_places_hold_a_real_piece(pairs: int, tokens: int, spread: float, least: float, seed: int) -> None:
    sources, targets = sentence_lengths(pairs, seed, spread)
    batches = cut(sources, targets, tokens, seed)
    fraction = real_fraction(sources, targets, batches)
    filled = np.mean([len(rows) * max(sources[rows].max(), targets[rows].max()) / tokens for rows in batches])
    print(f"{fraction:.4f} of the places are real, batches are {filled:.2f} full")
    assert fraction >= least
    assert filled >= 0.6  # large batches: 0.75 on average, with a standard deviation of 0.025


def test_batches_are_counted_without_cutting_all_of_them(seed: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 40, size=(2, 50_000))
    cuts = cut_batches(*lengths, tokens=512, generator=np.random.default_rng(1))
    assert count_batches(*lengths, tokens=512) == pytest.approx(len(cuts), rel=0.05)
    assert count_batches(*lengths[:, :500], tokens=512) > 1
    assert count_batches(*lengths[:, :0], tokens=512) == 0
