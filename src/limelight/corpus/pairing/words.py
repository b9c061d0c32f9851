"""The words that sentences of two languages have in common: equal ones, or through a lexicon or translations.

A source word matches a target word with a weight from 0 to 1. The idf of a word is log(N / n), if n of N sentences have
it (inverse document frequency).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from limelight.preparation.lexicon import Ids, Pieces, learn_lexicon
from limelight.text.words import words_of

MAX_LETTERS = 6
"""Words are compared by their first letters, so that forms of a word, and many cognates, count as one."""
MAX_WORDS = 200
"""Words of a sentence that are used."""
MIN_IDF, MAX_IDF = 1.0, 6.0
"""Words of a lower idf are in more than a third of the sentences, and are left out."""
MIN_WEIGHT = 0.1
"""Weights of the lexicon below it are noise."""
UNMATCHED = 0.1
"""Factor for the idf of words without any match: that one is missing in a sentence says nothing."""
MIN_MET = 2
"""Minimum number of pairs in which two words occur together, to count as translations of each other: a word that occurs
once matches all words of a sentence."""
TRANSLATED = "\0"
"""Prefix of a word of a translation of the source."""

Numbers = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Matches = Mapping[int, Mapping[int, float]]
"""For each source word the target words that it matches, and the weights."""


def words_in(text: str, mark: str = "") -> list[str]:
    """The beginnings of the words of a sentence."""
    return [mark + word.lower()[:MAX_LETTERS] for word in words_of(text)[:MAX_WORDS]]


def idf_of(rows: Sequence[Ids], words: Mapping[str, int]) -> Numbers:
    """The idf of each word, 0 below `MIN_IDF`."""
    counts = np.bincount(np.concatenate([*rows, np.zeros(0, dtype=np.int64)]), minlength=len(words))
    idf = np.log(max(len(rows), 1) / np.maximum(counts, 1))
    return np.asarray(np.where(idf < MIN_IDF, 0.0, np.minimum(idf, MAX_IDF)))


def reduce_unmatched(idf: Numbers, words: Mapping[str, int], matched: Collection[int]) -> Numbers:
    """The idf of each word, reduced for words without any match that are not numbers."""
    factor = np.full(len(idf), UNMATCHED)
    factor[[*matched, *(number for word, number in words.items() if any(map(str.isdigit, word)))]] = 1.0
    return np.asarray(idf * factor)


def equal_words(source: Mapping[str, int], target: Mapping[str, int]) -> Matches:
    """The words that are written alike on both sides, also in translations."""
    equal = {number: target.get(word.removeprefix(TRANSLATED)) for word, number in source.items()}
    return {number: {other: 1.0} for number, other in equal.items() if other is not None}


def learned_words(pairs: Sequence[Pieces], sources: int, targets: int, equal: Matches) -> Matches:
    """The equal words and those that translate one another in these pairs: IBM Model 1 in both directions, with
    `sources` and `targets` different words.

    A weight is twice the geometric mean of both probabilities, and at most 1.
    """
    forward = learn_lexicon(pairs, nothing=sources, classes=targets)
    backward = learn_lexicon([Pieces(pair.target, pair.source) for pair in pairs], nothing=targets, classes=sources)
    ours, theirs = np.divmod(forward.keys, targets)
    weights = np.minimum(1.0, 2 * np.sqrt(forward.probabilities * backward.of(theirs * sources + ours)))
    kept = (weights >= MIN_WEIGHT) & (ours < sources) & (forward.counts >= MIN_MET)
    matches = defaultdict[int, dict[int, float]](dict)
    for word, other, weight in zip(ours[kept].tolist(), theirs[kept].tolist(), weights[kept].tolist(), strict=True):
        matches[word][other] = weight
    for word, same in equal.items():
        matches[word].update(same)
    return matches


def turned(matches: Matches) -> Matches:
    """The source words that each target word matches."""
    sources = defaultdict[int, dict[int, float]](dict)
    for word, others in matches.items():
        for other, weight in others.items():
            sources[other][word] = weight
    return sources


def in_common(rows: Sequence[Ids], others: Sequence[Ids], matches: Matches, idf: Numbers) -> Floats:
    """(rows, others): the idf of the words of each other sentence that words of the row match, times the weights of the
    matches."""
    words = np.unique(np.concatenate([*others, np.zeros(0, dtype=np.int64)]))
    columns = {word: column for column, word in enumerate(words.tolist())}
    has = np.zeros((len(words), len(others)), dtype=np.float32)
    for number, row in enumerate(others):
        has[np.searchsorted(words, row), number] = 1
    weights = np.zeros((len(rows), len(words)), dtype=np.float32)
    for line, row in zip(weights, rows, strict=True):
        for word in row.tolist():
            for other, weight in matches.get(word, {}).items():
                if other in columns:
                    line[columns[other]] = max(line[columns[other]], weight)
    common: Floats = (weights * idf[words].astype(np.float32)) @ has
    return common
