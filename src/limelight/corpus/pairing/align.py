"""Align the sentences of documents with those of their translations.

Three passes over all documents together. The first compares lengths and words that are written alike, such as numbers
and names; with a translation of the source (the idea of Bleualign: Sennrich and Volk 2010) its words, too. The pairs
that it finds teach a lexicon (IBM Model 1), with which the second pass finds more, and the third again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from limelight.corpus.pairing import matches, path
from limelight.corpus.pairing.matches import Side, Weights
from limelight.corpus.pairing.path import Bead
from limelight.preparation.lexicon import Ids, evenly

PASSES = 3
FIRST_EVEN, MIN_EVEN, MAX_EVEN = 0.12, 0.06, 0.35
"""The matched share that speaks neither for nor against a pair: in the first pass, and bounds for later ones."""
MAX_LEARNED = 200_000
"""Pairs from which the lexicon is learned."""
SURE = 0.7
"""Confidence of the pairs from which it is learned."""
ANCHOR = 0.9
"""Confidence of the pairs around which the next pass searches."""
INTERCEPT, OF_SCORE, OF_NEIGHBORS, OF_MERGED = 1.92, 0.45, 0.41, -3.24
MAX_SCORE, MAX_NEIGHBOR = 8.0, 4.0
"""Logistic regression of whether a bead is right on its score, on those of both neighbors, and on whether it has more
than one sentence of a side, within these bounds; fitted on documents as `python -m benchmarks.pairing` makes them, a
quarter of whose beads are wrong."""


class Sentence(NamedTuple):
    """A sentence of a document."""

    text: str
    line: int
    paragraph: int


class Document(NamedTuple):
    """The sentences of a document, and of its translation."""

    source: Sequence[Sentence]
    target: Sequence[Sentence]
    translations: Sequence[str] = ()
    """Of the source sentences by a model; empty without one."""


class Aligned(NamedTuple):
    """A bead with its confidence."""

    bead: Bead
    confidence: float
    """From 0 to 1; 0 for sentences without translation."""


class _Place(NamedTuple):
    """Where the sentences of a document are among those of all documents."""

    sources: slice
    targets: slice


def align(documents: Sequence[Document], say: Callable[[str], None] = lambda text: None) -> list[list[Aligned]]:
    """The beads of each document, in order. Words are weighed, and the lexicon is learned, over all of them."""
    translated = [[matches.words_in(text, matches.TRANSLATED) for text in each.translations] for each in documents]
    sources = [
        words + more
        for each, others in zip(documents, translated, strict=True)
        for words, more in zip(
            (matches.words_in(sentence.text) for sentence in each.source),
            others or [[]] * len(each.source),
            strict=True,
        )
    ]
    source = matches.side_of(sources)
    target = matches.side_of(matches.words_in(sentence.text) for each in documents for sentence in each.target)
    places, ends = [], (0, 0)
    for each in documents:
        begins, ends = ends, (ends[0] + len(each.source), ends[1] + len(each.target))
        places.append(_Place(slice(begins[0], ends[0]), slice(begins[1], ends[1])))
    weights, even = matches.equal_words(source, target), FIRST_EVEN
    found: list[list[Aligned]] = []
    for number in range(PASSES):
        if number:
            learned = matches.learned_words(source, target, _sure_pairs(found, places, source, target))
            weights = matches.joined(matches.equal_words(source, target), learned)
            even = _even_share(found)
        last = number == PASSES - 1
        sides = matches.usable(source, weights.sources), matches.usable(target, weights.targets)
        found = [
            _aligned(each, place, sides, weights, even, say if last else _nothing, _anchors(former))
            for each, place, former in zip(documents, places, found or [[]] * len(documents), strict=True)
        ]
    return found


def _nothing(_text: str) -> None:
    """Only the last pass reports."""


def _aligned(
    document: Document,
    place: _Place,
    sides: tuple[Side, Side],
    weights: Weights,
    even: float,
    say: Callable[[str], None],
    anchors: list[tuple[int, int]],
) -> list[Aligned]:
    """The beads of one document."""
    if not document.source or not document.target:
        beads = [Bead(number, 0, (1, 0), 0.0) for number in range(len(document.source))]
        beads += [Bead(0, number, (0, 1), 0.0) for number in range(len(document.target))]
        return [Aligned(bead, 0.0) for bead in beads]
    rows = sides[0].rows[place.sources], sides[1].rows[place.targets]
    forward = matches.matched(rows[0], weights, sides[1].worth)
    backward = matches.matched(rows[1], matches.turned(weights), sides[0].worth)
    count = len(rows[0]), len(rows[1])
    band = path.make_band(*count, anchors)
    if not anchors and not band.whole:
        band = path.make_band(*count, path.anchors_of(forward, rows[1], sides[1].worth))
    evidence = path.Evidence(
        path.common(band, forward, _postings(rows[1])),
        path.common(band, backward, _postings(rows[0]), by_target=True),
        even,
    )
    texts = _text(document.source, rows[0], sides[0]), _text(document.target, rows[1], sides[1])
    beads = path.best_path(band, *texts, evidence)
    if path.at_the_edge(band, beads):
        say(
            f"{count[0]:,} and {count[1]:,} sentences: large parts have no translation, and pairs beside them may "
            "be missing; divide the documents into chapters"
        )
    return _with_confidence(beads)


def _anchors(former: Sequence[Aligned]) -> list[tuple[int, int]]:
    """The sure pairs of the pass before: the next one searches around them."""
    return [(each.bead.source, each.bead.target) for each in former if each.confidence >= ANCHOR]


def _postings(rows: Sequence[Ids]) -> Ids:
    """`word * sentences + sentence` of all words, ascending."""
    words = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return np.sort(words * len(rows) + owners)


def _text(sentences: Sequence[Sentence], rows: Sequence[Ids], side: Side) -> path.Text:
    lengths = np.array([len(each.text) for each in sentences], dtype=np.float64)
    totals = np.array([side.worth[row].sum() for row in rows])
    paragraphs = np.array([each.paragraph for each in sentences])
    return path.Text(lengths, totals, np.concatenate([[True], paragraphs[1:] != paragraphs[:-1]]))


def _with_confidence(beads: Sequence[Bead]) -> list[Aligned]:
    """A bead between others is surer than one between sentences without translation."""
    pairs = [bool(bead.kind[0] and bead.kind[1]) for bead in beads]
    helped = [
        _bounded(bead.score if pair else -MAX_NEIGHBOR, MAX_NEIGHBOR) for bead, pair in zip(beads, pairs, strict=True)
    ]
    found = []
    for number, (bead, pair) in enumerate(zip(beads, pairs, strict=True)):
        near = [helped[spot] for spot in (number - 1, number + 1) if 0 <= spot < len(beads)]
        logit = INTERCEPT + OF_SCORE * _bounded(bead.score, MAX_SCORE) + OF_NEIGHBORS * sum(near)
        logit += OF_MERGED * (bead.kind != (1, 1))
        found.append(Aligned(bead, 1 / (1 + math.exp(-logit)) if pair else 0.0))
    return found


def _bounded(value: float, most: float) -> float:
    return min(max(value, -most), most)


def _sure_pairs(
    found: Sequence[Sequence[Aligned]], places: Sequence[_Place], source: Side, target: Side
) -> list[tuple[Ids, Ids]]:
    """The words of sure pairs."""
    pairs = [
        (place.sources.start + bead.source, place.targets.start + bead.target, bead.kind)
        for each, place in zip(found, places, strict=True)
        for bead, confidence in each
        if confidence >= SURE
    ]
    return [
        (
            np.unique(np.concatenate(source.rows[one : one + kind[0]])),
            np.unique(np.concatenate(target.rows[other : other + kind[1]])),
        )
        for one, other, kind in (pairs[number] for number in evenly(len(pairs), MAX_LEARNED))
    ]


def _even_share(found: Sequence[Sequence[Aligned]]) -> float:
    """Less than half of the share that is matched in sure pairs."""
    shares = [each.bead.share for some in found for each in some if each.confidence >= SURE]
    return float(np.clip(0.4 * np.mean(shares), MIN_EVEN, MAX_EVEN)) if shares else FIRST_EVEN
