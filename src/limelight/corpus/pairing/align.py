"""Align the sentences of documents with the sentences of their translations.

Three passes over all documents together. The first compares lengths and words that are written alike, such as numbers
and names; with a translation of the source (the idea of Bleualign: Sennrich and Volk 2010) its words, too. The pairs
that it finds teach a lexicon (IBM Model 1), with which the second pass finds more, and the third again.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from limelight.corpus.pairing import words as lexical
from limelight.corpus.pairing.path import Bead, Section, Text, best_path, excess
from limelight.corpus.pairing.words import Floats, Matches, Numbers
from limelight.preparation.lexicon import Ids, Pieces, evenly, word_ids

PASSES = 3
FIRST_NEUTRAL, MIN_NEUTRAL, MAX_NEUTRAL = 0.12, 0.06, 0.35
"""The matched share that speaks neither for nor against a pair: in the first pass, and bounds for later ones."""
MAX_LEARNED = 200_000
"""Pairs from which the lexicon is learned."""
BLOCK = 10
"""Source sentences of a block; blocks are in the one or the other half of a text in turn."""
SURE = 0.7
"""Confidence of the pairs from which the lexicon is learned."""
ANCHOR = 0.9
"""Confidence of the pairs at which a long text may be divided."""
MAX_CELLS = 9_000_000
"""Source times target sentences of a section, which has about thirty bytes for each."""
INTERCEPT, OF_SCORE, OF_NEIGHBORS, OF_MERGED = 1.92, 0.45, 0.41, -3.24
MAX_SCORE, MAX_NEIGHBOR = 8.0, 4.0
"""Logistic regression of whether a bead is right on its score, on the scores of both neighbors, and on whether it has
more than one sentence of a side, within these bounds; fitted on documents as `python -m benchmarks.pairing` makes them,
a quarter of whose beads are wrong."""
DOUBT, SMALL = 3.0, 30
"""Subtracted if the words say nothing, and the pairs of a document that says it alone."""
MIN_GAIN = 0.08
"""How much more of the words has to be matched than in other pairs. Of unrelated texts it is up to 0.05, because the
best path is chosen; of translations 0.1 to 0.3."""


class Sentence(NamedTuple):
    """A sentence of a document."""

    text: str
    line: int


class Document(NamedTuple):
    """The sentences of a document, and of its translation."""

    source: Sequence[Sentence]
    target: Sequence[Sentence]
    translations: Sequence[str] = ()
    """Translations of the source sentences by a model; empty without one."""


class _Side(NamedTuple):
    """One side of a document."""

    rows: list[Ids]
    """The words of each sentence as numbers."""
    lengths: Numbers

    def text(self, rows: slice, idf: Numbers) -> Text:
        """A section of its sentences."""
        return Text(self.lengths[rows], np.array([idf[row].sum() for row in self.rows[rows]]))


class _Lexicon(NamedTuple):
    """What a pass knows of the words."""

    halves: tuple[Matches, Matches]
    """The matching words, learned from the first and from the second half of the pairs."""
    idf: tuple[Numbers, Numbers]
    """The idf of the words of both sides."""
    neutral: float
    """See `Section`."""


def align(documents: Sequence[Document]) -> list[list[Bead]]:
    """The beads of each document, in order. The idf of words and the lexicon are learned from all documents."""
    source_words, target_words = dict[str, int](), dict[str, int]()
    sides = [
        (
            _side(document.source, word_ids(_source_words(document), source_words)),
            _side(document.target, word_ids((lexical.words_in(text) for text, _ in document.target), target_words)),
        )
        for document in documents
    ]
    source_idf, target_idf = (
        lexical.idf_of([row for both in sides for row in both[side].rows], words)
        for side, words in enumerate((source_words, target_words))
    )
    equal = lexical.equal_words(source_words, target_words)
    halves, neutral = (equal, equal), FIRST_NEUTRAL
    paths: list[list[Bead]] = [[] for _ in documents]
    gains: list[Numbers] = []
    for number in range(PASSES):
        if number:
            sizes = len(source_words), len(target_words)
            first, second = (lexical.learned_words(pairs, *sizes, equal) for pairs in _sure_pairs(paths, sides))
            halves, neutral = (first, second), _neutral_share(paths)
        matched_targets = {word for half in halves for targets in half.values() for word in targets}
        idf = (
            lexical.reduce_unmatched(source_idf, source_words, {*halves[0], *halves[1]}),
            lexical.reduce_unmatched(target_idf, target_words, matched_targets),
        )
        lexicon = _Lexicon(halves, idf, neutral)
        aligned = [_aligned(*document, lexicon, former) for document, former in zip(sides, paths, strict=True)]
        paths, gains = [_with_confidence(beads) for beads, _ in aligned], [gain for _, gain in aligned]
    return [
        beads if _belong_together(number, paths, gains) else _with_confidence(beads, DOUBT)
        for number, beads in enumerate(paths)
    ]


def _source_words(document: Document) -> list[list[str]]:
    """The words of each source sentence, and of its translation if there is one."""
    translations = document.translations or [""] * len(document.source)
    return [
        lexical.words_in(sentence.text) + lexical.words_in(translation, lexical.TRANSLATED)
        for sentence, translation in zip(document.source, translations, strict=True)
    ]


def _side(sentences: Sequence[Sentence], rows: list[Ids]) -> _Side:
    return _Side(rows, np.array([len(sentence.text) for sentence in sentences], dtype=np.float64))


Point = tuple[int, int]


def _cuts(begin: Point, end: Point, anchors: Sequence[Point]) -> list[Point]:
    """Where a text is divided into sections of at most `MAX_CELLS`: at anchors, or in the middle without any."""
    if (end[0] - begin[0]) * (end[1] - begin[1]) <= MAX_CELLS:
        return []
    middle = (begin[0] + end[0]) // 2, (begin[1] + end[1]) // 2
    inside = [anchor for anchor in anchors if begin[0] < anchor[0] < end[0] and begin[1] < anchor[1] < end[1]]
    cut = min(inside, key=lambda anchor: abs(anchor[0] - middle[0]) + abs(anchor[1] - middle[1]), default=middle)
    return [*_cuts(begin, cut, inside), cut, *_cuts(cut, end, inside)]


def _aligned(source: _Side, target: _Side, lexicon: _Lexicon, former: Sequence[Bead]) -> tuple[list[Bead], Numbers]:
    """The beads of one document, and the values of `excess`."""
    ratio = max(float(target.lengths.sum()), 1.0) / max(float(source.lengths.sum()), 1.0)
    end = len(source.rows), len(target.rows)
    anchors = [(bead.source, bead.target) for bead in former if bead.confidence >= ANCHOR]
    beads: list[Bead] = []
    gains = []
    for (first, other), (last, other_last) in pairwise([(0, 0), *_cuts((0, 0), end, anchors), end]):
        ours, theirs = slice(first, last), slice(other, other_last)
        texts = source.text(ours, lexicon.idf[0]), target.text(theirs, lexicon.idf[1])
        common = _common(source.rows[ours], target.rows[theirs], first, lexicon)
        section = Section(*texts, *common, lexicon.neutral, ratio)
        path = best_path(section)
        gains.append(excess(path, section))
        beads += [bead._replace(source=bead.source + first, target=bead.target + other) for bead in path]
    return beads, np.concatenate(gains)


def _common(sources: Sequence[Ids], targets: Sequence[Ids], first: int, lexicon: _Lexicon) -> tuple[Floats, Floats]:
    """`of_targets` and `of_sources` of a `Section`. The words of each half of the sources are matched by the lexicon of
    the other half: a lexicon confirms any pair that it was learned from."""
    of_targets = np.zeros((len(sources), len(targets)), dtype=np.float32)
    of_sources = np.zeros_like(of_targets)
    for half, matches in enumerate(lexicon.halves[::-1]):
        numbers = [number for number in range(len(sources)) if _half_of(first + number) == half]
        rows = [sources[number] for number in numbers]
        of_targets[numbers] = lexical.in_common(rows, targets, matches, lexicon.idf[1])
        of_sources[numbers] = lexical.in_common(targets, rows, lexical.turned(matches), lexicon.idf[0]).T
    return of_targets, of_sources


def _half_of(source: int) -> int:
    return source // BLOCK % 2


def _sure_pairs(paths: Sequence[Sequence[Bead]], sides: Sequence[tuple[_Side, _Side]]) -> list[list[Pieces]]:
    """The words of the sure pairs of the first and of the second half."""
    sure = [(*both, bead) for both, path in zip(sides, paths, strict=True) for bead in path if bead.confidence >= SURE]
    halves: list[list[Pieces]] = [[], []]
    for source, target, bead in evenly(sure, MAX_LEARNED):
        ours = source.rows[bead.source : bead.source + bead.kind[0]]
        theirs = target.rows[bead.target : bead.target + bead.kind[1]]
        pair = Pieces(np.unique(np.concatenate(ours)), np.unique(np.concatenate(theirs)))
        halves[_half_of(bead.source)].append(pair)
    return halves


def _neutral_share(paths: Sequence[Sequence[Bead]]) -> float:
    """Less than half of the share that is matched in sure pairs."""
    shares = [bead.share for path in paths for bead in path if bead.confidence >= SURE]
    return float(np.clip(0.4 * np.mean(shares), MIN_NEUTRAL, MAX_NEUTRAL)) if shares else FIRST_NEUTRAL


def _belong_together(number: int, paths: Sequence[Sequence[Bead]], gains: Sequence[Numbers]) -> bool:
    """Whether the words of a document match better than the words of other pairs. A small document counts as all
    documents together; of a few sentences it cannot be told."""
    chosen = [number] if len(gains[number]) >= SMALL else range(len(paths))
    together = np.concatenate([gains[row] for row in chosen])
    if len(together) < 2:
        return True
    return float(together.mean()) > max(MIN_GAIN, 2 * float(together.std()) / math.sqrt(len(together)))


def _with_confidence(beads: Sequence[Bead], doubt: float = 0.0) -> list[Bead]:
    """A bead between others is surer than one between sentences without translation."""
    scores = np.array([bead.score if bead.pairs else -MAX_NEIGHBOR for bead in beads])
    near = np.pad(np.clip(scores, -MAX_NEIGHBOR, MAX_NEIGHBOR), 1)
    merged = np.array([bead.kind != (1, 1) for bead in beads])
    logits = INTERCEPT + OF_SCORE * np.clip(scores, -MAX_SCORE, MAX_SCORE) + OF_MERGED * merged - doubt
    logits = logits + OF_NEIGHBORS * (near[:-2] + near[2:])
    confidences = (1 / (1 + np.exp(-logits))).tolist()
    return [
        bead._replace(confidence=confidence if bead.pairs else 0.0)
        for bead, confidence in zip(beads, confidences, strict=True)
    ]
