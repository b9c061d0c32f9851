"""Model 1 against a dictionary and plain loops, and on a language whose lexicon is known."""

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

from limelight.preparation import lexicon
from limelight.preparation.lexicon import (
    NO_SOURCE,
    Lexicon,
    Pieces,
    learn_lexicon,
    meet,
    most_likely,
)

NOTHING, CLASSES = 11, 13


def random_pairs(count: int, longest: int = 7) -> list[Pieces]:
    """Pieces come twice in a sentence, and some sides are empty."""

    def side(size: int) -> np.ndarray:
        return np.array(random.choices(range(2, size), k=random.randint(0, longest)), dtype=np.uint16)

    return [Pieces(side(NOTHING), side(CLASSES)) for _ in range(count)]


def by_loops(pairs: Sequence[Pieces], iterations: int) -> dict[tuple[int, int], float]:
    """t(target | source), by the definition."""
    t: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        shares: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for pair in pairs:
            sources = [*pair.source.tolist(), NOTHING]
            for target in pair.target.tolist():
                whole = sum(t[source, target] for source in sources)
                for source in sources:
                    shares[source, target] += t[source, target] / whole
                    totals[source] += t[source, target] / whole
        t = defaultdict(float, {key: share / totals[key[0]] for key, share in shares.items()})
    return dict(t)


def as_dictionary(found: Lexicon) -> dict[tuple[int, int], float]:
    return {divmod(key, CLASSES): value for key, value in zip(found.keys.tolist(), found.probabilities, strict=True)}


@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_it_is_model_1(seed: int, monkeypatch: pytest.MonkeyPatch, iterations: int, block: int) -> None:
    """However the pairs are divided into blocks, all of which take the same part."""
    random.seed(seed)
    monkeypatch.setattr(lexicon, "BLOCK", max(block, 56))  # one pair has at most (7 + 1) * 7 meetings
    pairs = random_pairs(31)
    found = as_dictionary(learn_lexicon(pairs, nothing=NOTHING, classes=CLASSES, iterations=iterations))
    assert found == pytest.approx(by_loops(pairs, iterations), rel=1e-12)


def test_places_near_the_diagonal_are_preferred() -> None:
    """exp(-lambda |i/m - j/n|), normalized over the sources of a target place; p0 for none."""
    pairs = [Pieces(np.array([3, 4, 5]), np.array([6, 7])), Pieces(np.zeros(0, dtype=np.int64), np.array([8]))]
    keys, widths, preferences = meet(pairs, NOTHING, CLASSES, diagonal=2.0)
    assert keys.tolist() == [source * CLASSES + target for target in (6, 7) for source in (3, 4, 5, NOTHING)] + [
        NOTHING * CLASSES + 8
    ]
    assert widths.tolist() == [4, 4, 1]
    near = np.exp(-2 * np.abs(np.array([[1 / 3], [2 / 3], [1]]) - np.array([1 / 2, 1]))).T
    near *= (1 - NO_SOURCE) / near.sum(axis=1, keepdims=True)
    assert isinstance(preferences, np.ndarray)
    assert preferences[:8].reshape(2, 4)[:, :3] == pytest.approx(near, rel=1e-6)
    assert preferences[[3, 7, 8]] == pytest.approx(NO_SOURCE)


def test_memory_is_bounded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many meetings an even choice of the pairs is taken, and a pair that alone has too many is not."""
    seen: list[int] = []
    chunks = lexicon.chunks
    monkeypatch.setattr(lexicon, "chunks", lambda pairs, *size: seen.append(len(pairs)) or chunks(pairs, *size))
    monkeypatch.setattr(lexicon, "MAX_COOCCURRENCES", 90)
    monkeypatch.setattr(lexicon, "BLOCK", 40)
    small, large = Pieces(np.array([3, 4]), np.array([5, 6, 7])), Pieces(np.arange(2, 11), np.arange(2, 12))
    learn_lexicon([small] * 10, nothing=NOTHING, classes=CLASSES)
    learn_lexicon([small] * 100, nothing=NOTHING, classes=CLASSES)
    learn_lexicon([small, large, small], nothing=NOTHING, classes=CLASSES)
    assert seen == [10, 10, 2]


def test_the_most_likely_come_first() -> None:
    keys = np.array([3, 4, 9, 21, 28, 52])  # of 10 classes
    found = Lexicon(keys, np.array([0.2, 0.6, 0.2, 0.4, 0.6, 1]), np.ones(6, dtype=int), nothing=9, classes=10)
    expected = [[4, 3], [7, 7], [8, 1], [7, 7]]
    assert most_likely(found, sources=4, count=2, fill=7).tolist() == expected
    assert most_likely(found, sources=1, count=4, fill=7).tolist() == [[4, 3, 9, 7]]
