"""The words that sentences of two languages have in common: equal ones, or through a lexicon or translations.

A source word x matches a target word w with a weight from 0 to 1. A word is worth log(N / n), if n of N sentences have
it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.preparation.lexicon import Ids, Pieces, learn_lexicon, word_ids
from limelight.text.words import words_of

MAX_LETTERS = 6
"""Words are compared by their first letters, so that forms of a word, and many cognates, count as one."""
MAX_WORDS = 200
"""Words of a sentence that are used."""
MIN_WORTH = 1.0
"""Words that are worth less are in more than a third of the sentences, and are left out."""
MAX_WORTH = 6.0
MIN_WEIGHT = 0.1
"""Weights of the lexicon below it are noise."""
UNMATCHED = 0.1
"""Factor for the worth of words without any match."""
MIN_MET = 2
"""Pairs in which two words met at least, to count as translations of each other."""
TRANSLATED = "\0"
"""Begins a word of a translation of the source."""

Numbers = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Weights = Mapping[tuple[int, int], float]
"""The weight of each source and target word that match."""
Matches = Mapping[int, tuple[Ids, Numbers]]
"""The words of the other side that a word matches, and the weights."""


class Side(NamedTuple):
    """The words of all sentences of a side, as numbers."""

    rows: Sequence[Ids]
    worth: Numbers
    """Weight of each word."""
    words: dict[str, int]

    def totals(self, rows: Sequence[Ids]) -> Numbers:
        """The worth of all words of each sentence."""
        return np.array([self.worth[row].sum() for row in rows])


def words_in(text: str, mark: str = "") -> list[str]:
    """The beginnings of the words of a sentence."""
    return [mark + word.lower()[:MAX_LETTERS] for word in words_of(text)[:MAX_WORDS]]


def side_of(texts: Iterable[Sequence[str]]) -> Side:
    """The words of each sentence, each once."""
    rows, numbers = word_ids(texts)
    counts = np.bincount(np.concatenate([*rows, np.zeros(0, dtype=np.int64)]), minlength=len(numbers))
    worth = np.log(max(len(rows), 1) / np.maximum(counts, 1))
    return Side(rows, np.where(worth < MIN_WORTH, 0.0, np.minimum(worth, MAX_WORTH)), numbers)


def usable(side: Side, matching: Iterable[int]) -> Side:
    """The side, in which words without any match are worth little, unless they are numbers: that one is missing in a
    sentence says nothing."""
    share = np.full(len(side.worth), UNMATCHED)
    share[list(matching)] = 1.0
    share[[number for word, number in side.words.items() if any(map(str.isdigit, word))]] = 1.0
    return side._replace(worth=side.worth * share)


def equal_words(source: Side, target: Side) -> dict[tuple[int, int], float]:
    """The words that are written alike on both sides, also in translations."""
    found = ((number, target.words.get(word.removeprefix(TRANSLATED))) for word, number in source.words.items())
    return {(number, other): 1.0 for number, other in found if other is not None}


def learned_words(source: Side, target: Side, pairs: Sequence[tuple[Ids, Ids]]) -> dict[tuple[int, int], float]:
    """The words that translate one another in these pairs of rows: IBM Model 1 in both directions.

    A weight is twice the geometric mean of both probabilities, and at most 1. Words that met once match all of a
    sentence, and are left out.
    """
    rows = [Pieces(one, other) for one, other in pairs if len(one) and len(other)]
    if not rows:
        return {}
    sources, targets = len(source.words), len(target.words)
    forward = learn_lexicon(rows, nothing=sources, classes=targets)
    backward = learn_lexicon([Pieces(*row[::-1]) for row in rows], nothing=targets, classes=sources)
    keys, ours, theirs = np.intersect1d(
        forward.sources.astype(np.int64) * (targets + 1) + forward.targets,
        backward.targets.astype(np.int64) * (targets + 1) + backward.sources,
        assume_unique=True,
        return_indices=True,
    )
    weights = np.minimum(1.0, 2 * np.sqrt(forward.probabilities[ours] * backward.probabilities[theirs]))
    kept = weights >= MIN_WEIGHT
    found = dict(zip((divmod(key, targets + 1) for key in keys[kept].tolist()), weights[kept].tolist(), strict=True))
    candidates: dict[int, list[int]] = {}
    for one, other in found:
        candidates.setdefault(one, []).append(other)
    met = Counter[tuple[int, int]]()
    for row in rows:
        there = set(row.target.tolist())
        met.update((one, other) for one in row.source.tolist() for other in candidates.get(one, ()) if other in there)
    return {pair: weight for pair, weight in found.items() if met[pair] >= MIN_MET}


def joined(*given: Weights) -> Weights:
    """All matches, each with its greatest weight."""
    found: dict[tuple[int, int], float] = {}
    for weights in given:
        for pair, weight in weights.items():
            found[pair] = max(weight, found.get(pair, 0.0))
    return found


def matches_of(weights: Weights, *, turned: bool = False) -> Matches:
    """The matches of each source word, or with `turned` of each target word."""
    groups: dict[int, dict[int, float]] = {}
    for (one, other), weight in weights.items():
        word, match = (other, one) if turned else (one, other)
        groups.setdefault(word, {})[match] = weight
    ordered = ((word, sorted(group.items())) for word, group in groups.items())
    return {
        word: (np.array([each for each, _ in some]), np.array([each for _, each in some])) for word, some in ordered
    }


def in_common(rows: Sequence[Ids], matches: Sequence[Matches], others: Sequence[Ids], worth: Numbers) -> Floats:
    """(rows, others): the worth of the words of each other sentence that words of the row match, by the matches of that
    row, times their weights."""
    words = np.unique(np.concatenate([*others, np.zeros(0, dtype=np.int64)]))
    has = np.zeros((len(words), len(others)), dtype=np.float32)
    for place, other in enumerate(others):
        has[np.searchsorted(words, other), place] = 1
    found = np.zeros((len(rows), len(words)), dtype=np.float32)
    for line, row, known in zip(found, rows, matches, strict=True):
        for word in row.tolist():
            if word in known and len(words):
                targets, weights = known[word]
                spots = np.minimum(np.searchsorted(words, targets), len(words) - 1)
                there = words[spots] == targets
                line[spots[there]] = np.maximum(line[spots[there]], weights[there])
    common: Floats = (found * worth[words].astype(np.float32)) @ has
    return common


REACH, DRIFT = 40, 12
"""Sentences along and across the diagonal within which two hits confirm each other."""


def unique_hits(sources: Sequence[Ids], targets: Sequence[Ids], weights: Weights) -> list[tuple[int, int]]:
    """Pairs of sentences that have a word in common which no other sentence of either side has, ascending in both and
    each near its neighbors."""
    ours, theirs = _lone(sources), _lone(targets)
    hits = sorted({(ours[one], -theirs[other]) for one, other in weights if one in ours and other in theirs})
    chain = _ascending([(one, -minus) for one, minus in hits])
    near = [
        abs(there[0] - here[0]) <= REACH and abs((there[0] - here[0]) - (there[1] - here[1])) <= DRIFT
        for here, there in pairwise(chain)
    ]
    return [hit for hit, before, after in zip(chain[1:], near, near[1:], strict=False) if before and after]


def _lone(rows: Sequence[Ids]) -> dict[int, int]:
    """The row of each word that only one row has."""
    counts = Counter(word for row in rows for word in row.tolist())
    return {word: place for place, row in enumerate(rows) for word in row.tolist() if counts[word] == 1}


def _ascending(hits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest sequence that ascends in both; hits are ordered by the first, and descending by the second."""
    from bisect import bisect_left

    ends: list[int] = []
    places: list[int] = []
    links: list[int] = []
    for number, (_, other) in enumerate(hits):
        spot = bisect_left(ends, other)
        ends[spot : spot + 1] = [other]
        places[spot : spot + 1] = [number]
        links.append(places[spot - 1] if spot else -1)
    found, number = [], places[-1] if places else -1
    while number >= 0:
        found.append(hits[number])
        number = links[number]
    return found[::-1]


def log_tail(deltas: Numbers) -> Numbers:
    """log(2 (1 - Phi(delta))), from a table in steps of 1/20."""
    found: Numbers = _TAILS[np.minimum(deltas * _STEP, len(_TAILS) - 1).astype(np.int64)]
    return found


_STEP, _MAX_DELTA = 20, 8
_TAILS = np.array([math.log(max(math.erfc(x / _STEP / math.sqrt(2)), 1e-12)) for x in range(_MAX_DELTA * _STEP + 1)])
