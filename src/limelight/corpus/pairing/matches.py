"""Which sentences of two documents have words in common: through equal words, a lexicon, or translations.

A source word x matches a target word w with a weight from 0 to 1. A word is worth log(N / n), if n of N sentences have
it. What a pair of sentences has in common is the worth of the matched words of either side, times their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.preparation.lexicon import Ids, Pieces, in_blocks, learn_lexicon, meet
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
MIN_MET = 2
"""Pairs in which two words met at least, to count as translations of each other."""
TRANSLATED = "\0"
"""Begins a word of a translation of the source."""

Numbers = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


class Side(NamedTuple):
    """The words of all sentences of a side, as numbers."""

    rows: Sequence[Ids]
    worth: Numbers
    """Weight of each word."""
    words: dict[str, int]

    def total(self) -> Numbers:
        """What all words of each sentence are worth."""
        return np.array([self.worth[row].sum() for row in self.rows])


class Weights(NamedTuple):
    """The words that match: source and target word of each match, and its weight."""

    sources: Ids
    targets: Ids
    weights: Numbers


class Entries(NamedTuple):
    """What the sentences of one side match on the other: sentence, word of the other side, and how much that counts."""

    rows: Ids
    words: Ids
    counts: Floats


def words_in(text: str, mark: str = "") -> list[str]:
    """The beginnings of the words of a sentence."""
    return [mark + word.lower()[:MAX_LETTERS] for word in words_of(text)[:MAX_WORDS]]


def side_of(texts: Iterable[Sequence[str]]) -> Side:
    """The words of each sentence, each once."""
    numbers: dict[str, int] = {}
    rows = []
    for words in texts:
        rows.append(np.array(sorted({numbers.setdefault(word, len(numbers)) for word in words}), dtype=np.int64))
    counts = np.bincount(np.concatenate([*rows, np.zeros(0, dtype=np.int64)]), minlength=len(numbers))
    worth = np.log(max(len(rows), 1) / np.maximum(counts, 1))
    return Side(rows, np.where(worth < MIN_WORTH, 0.0, np.minimum(worth, MAX_WORTH)), numbers)


def usable(side: Side, matching: Ids) -> Side:
    """The side, in which words without any match are worth little, unless they are numbers: that one is missing in a
    sentence says nothing."""
    share = np.full(len(side.worth), UNMATCHED)
    share[matching] = 1.0
    for word, number in side.words.items():
        if any(map(str.isdigit, word)):
            share[number] = 1.0
    return side._replace(worth=side.worth * share)


def equal_words(source: Side, target: Side) -> Weights:
    """The words that are written alike on both sides, also in translations."""
    found = [(number, target.words.get(word.removeprefix(TRANSLATED), -1)) for word, number in source.words.items()]
    kept = np.array([each for each in found if each[1] >= 0], dtype=np.int64).reshape(-1, 2)
    return Weights(kept[:, 0], kept[:, 1], np.ones(len(kept)))


def learned_words(source: Side, target: Side, pairs: Sequence[tuple[Ids, Ids]]) -> Weights:
    """The words that translate one another in these pairs of rows: IBM Model 1 in both directions.

    A weight is twice the geometric mean of both probabilities, and at most 1.
    """
    rows = [Pieces(one, other) for one, other in pairs if len(one) and len(other)]
    if not rows:
        return Weights(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    sources, targets = len(source.words), len(target.words)
    forward = learn_lexicon(rows, nothing=sources, classes=targets)
    turned = [Pieces(row.target, row.source) for row in rows]
    backward = learn_lexicon(turned, nothing=targets, classes=sources)
    keys = forward.sources.astype(np.int64) * targets + forward.targets
    others = backward.targets.astype(np.int64) * targets + backward.sources
    order = np.argsort(others)
    spots = np.minimum(np.searchsorted(others[order], keys), max(len(others) - 1, 0))
    same = others[order][spots] == keys
    both = np.where(same, np.sqrt(forward.probabilities * backward.probabilities[order][spots]), 0.0)
    weights = np.minimum(1.0, 2 * both)
    kept = (weights >= MIN_WEIGHT) & (forward.sources < sources) & _met_often(rows, keys, targets, sources)
    return Weights(forward.sources[kept].astype(np.int64), forward.targets[kept].astype(np.int64), weights[kept])


def _met_often(rows: Sequence[Pieces], keys: Ids, targets: int, nothing: int) -> npt.NDArray[np.bool_]:
    """Whether both words of a match are in at least `MIN_MET` pairs: words that met once match all of a sentence."""
    counts = np.zeros(len(keys), dtype=np.int64)
    for block in in_blocks(rows):
        met, often = np.unique(meet(block, nothing, targets).keys, return_counts=True)
        spots = np.minimum(np.searchsorted(keys, met), len(keys) - 1)
        same = keys[spots] == met
        counts[spots[same]] += often[same]
    found: npt.NDArray[np.bool_] = counts >= MIN_MET
    return found


def both(one: Entries, other: Entries) -> Entries:
    """The entries of two groups of sentences."""
    return Entries(*(np.concatenate(parts) for parts in zip(one, other, strict=True)))


def of_rows(entries: Entries, chosen: npt.NDArray[np.bool_]) -> Entries:
    """The entries of some sentences."""
    kept = chosen[entries.rows]
    return Entries(entries.rows[kept], entries.words[kept], entries.counts[kept])


def joined(*given: Weights) -> Weights:
    """All matches, each once, with its greatest weight."""
    sources, targets, weights = (np.concatenate(parts) for parts in zip(*given, strict=True))
    return Weights(*_greatest(sources, targets, weights))


def matched(rows: Sequence[Ids], weights: Weights, worth: Numbers) -> Entries:
    """What these sentences match on the other side, whose words have this `worth`."""
    order = np.argsort(weights.sources, kind="stable")
    firsts = weights.sources[order]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    words = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    owners = np.repeat(np.arange(len(rows)), lengths)
    begins, ends = np.searchsorted(firsts, words, "left"), np.searchsorted(firsts, words, "right")
    spots = order[ranges(begins, ends)]
    sentences, others, amounts = _greatest(
        np.repeat(owners, ends - begins), weights.targets[spots], weights.weights[spots]
    )
    counts = (amounts * worth[others]).astype(np.float32)
    return Entries(sentences[counts > 0], others[counts > 0], counts[counts > 0])


def turned(weights: Weights) -> Weights:
    """The same matches from the target to the source."""
    return Weights(weights.targets, weights.sources, weights.weights)


def ranges(begins: Ids, ends: Ids) -> Ids:
    """The numbers from each begin to its end (exclusive), one range after the other."""
    lengths = np.maximum(ends - begins, 0)
    starts = np.cumsum(lengths) - lengths
    found: Ids = np.arange(int(lengths.sum())) + np.repeat(begins - starts, lengths)
    return found


def _greatest(firsts: Ids, seconds: Ids, values: Numbers) -> tuple[Ids, Ids, Numbers]:
    """Each combination once, in order, with the greatest of its values."""
    if not len(firsts):
        return firsts, seconds, values
    order = np.lexsort((seconds, firsts))
    firsts, seconds, values = firsts[order], seconds[order], values[order]
    new = np.concatenate([[True], (firsts[1:] != firsts[:-1]) | (seconds[1:] != seconds[:-1])])
    starts = np.flatnonzero(new)
    return firsts[starts], seconds[starts], np.maximum.reduceat(values, starts)
