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
import numpy.typing as npt

from limelight.corpus.pairing import path
from limelight.corpus.pairing.path import Bead, Numbers, Side, Weights
from limelight.preparation.lexicon import Ids, evenly

Flags = npt.NDArray[np.bool_]
PASSES = 3
FIRST_EVEN, MIN_EVEN, MAX_EVEN = 0.12, 0.06, 0.35
"""The matched share that speaks neither for nor against a pair: in the first pass, and bounds for later ones."""
MAX_LEARNED = 200_000
"""Pairs from which the lexicon is learned."""
BLOCK = 10
"""Source sentences of a block; blocks are in the one or the other half of a text in turn."""
SURE = 0.7
"""Confidence of the pairs from which it is learned."""
ANCHOR = 0.9
"""Confidence of the pairs around which the next pass searches."""
INTERCEPT, OF_SCORE, OF_NEIGHBORS, OF_MERGED = 1.92, 0.45, 0.41, -3.24
DOUBT, SMALL = 3.0, 30
"""Subtracted where the words say nothing, and the pairs of a document that says it alone."""
MIN_GAIN, MIN_SHARE = 0.08, 0.25
"""How much more of the words has to be matched than in other pairs. Of unrelated texts it is up to 0.05, because the
best path is chosen; of translations 0.1 to 0.3."""
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
    """Translations of the source sentences by a model; empty without one."""


class Aligned(NamedTuple):
    """A bead with its confidence."""

    bead: Bead
    confidence: float
    """From 0 to 1; 0 for sentences without translation."""


class _Path(NamedTuple):
    """The beads of a document."""

    beads: list[Bead]
    gains: Numbers
    """The values of `path.gains`."""


class _Place(NamedTuple):
    """Where the sentences of a document are among those of all documents."""

    sources: slice
    targets: slice


def align(documents: Sequence[Document], say: Callable[[str], None] = lambda text: None) -> list[list[Aligned]]:
    """The beads of each document, in order. Words are weighed, and the lexicon is learned, over all of them."""
    translated = [[path.words_in(text, path.TRANSLATED) for text in each.translations] for each in documents]
    sources = [
        words + more
        for each, others in zip(documents, translated, strict=True)
        for words, more in zip(
            (path.words_in(sentence.text) for sentence in each.source),
            others or [[]] * len(each.source),
            strict=True,
        )
    ]
    source = path.side_of(sources)
    target = path.side_of(path.words_in(sentence.text) for each in documents for sentence in each.target)
    places, ends = [], (0, 0)
    for each in documents:
        begins, ends = ends, (ends[0] + len(each.source), ends[1] + len(each.target))
        places.append(_Place(slice(begins[0], ends[0]), slice(begins[1], ends[1])))
    equal = path.equal_words(source, target)
    weights, even = (equal, equal), FIRST_EVEN
    found: list[list[Aligned]] = []
    paths: list[_Path] = []
    for number in range(PASSES):
        if number:
            weights = _learned(equal, _sure_pairs(found, places), source, target)
            even = _even_share(found)
        last = number == PASSES - 1
        known = path.joined(*weights)
        sides = path.usable(source, known.sources), path.usable(target, known.targets)
        paths = [
            _aligned(each, place, sides, weights, even, say if last else _nothing, former)
            for each, place, former in zip(documents, places, found or [[]] * len(documents), strict=True)
        ]
        found = [_with_confidence(each.beads) for each in paths]
    return [
        found[number] if _belong_together(each, paths) else _with_confidence(each.beads, DOUBT)
        for number, each in enumerate(paths)
    ]


def _nothing(_text: str) -> None:
    """Only the last pass reports."""


def _aligned(
    document: Document,
    place: _Place,
    sides: tuple[Side, Side],
    weights: tuple[Weights, Weights],
    even: float,
    say: Callable[[str], None],
    former: Sequence[Aligned],
) -> _Path:
    """The beads of one document."""
    if not document.source or not document.target:
        beads = [Bead(number, 0, (1, 0), 0.0) for number in range(len(document.source))]
        beads += [Bead(0, number, (0, 1), 0.0) for number in range(len(document.target))]
        return _Path(beads, np.zeros(0))
    rows = sides[0].rows[place.sources], sides[1].rows[place.targets]
    count = len(rows[0]), len(rows[1])
    halves = _halves(former, *count)
    forward = _matched(rows[0], weights, sides[1], halves[0])
    backward = _matched(rows[1], (path.turned(weights[0]), path.turned(weights[1])), sides[0], halves[1])
    anchors = [(each.bead.source, each.bead.target) for each in former if each.confidence >= ANCHOR]
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
    return _Path(beads, path.gains(band, beads, evidence, *texts))


def _halves(former: Sequence[Aligned], sources: int, targets: int) -> tuple[Flags, Flags]:
    """For the sentences of both sides, which half of the text they are in: every other block of source sentences. A
    target sentence is in the half of the sentences that it was paired with."""
    ours, theirs = (np.arange(sources) // BLOCK) % 2 == 1, np.zeros(targets, dtype=bool)
    for bead, _ in former:
        theirs[bead.target : bead.target + bead.kind[1]] = _in_second_half(bead)
    return ours, theirs


def _in_second_half(bead: Bead) -> bool:
    return bead.source // BLOCK % 2 == 1


def _matched(rows: Sequence[Ids], weights: tuple[Weights, Weights], other: Side, half: Flags) -> path.Entries:
    """What sentences match. The words of each half are matched by what was learned from the other one: what a lexicon
    says of the pairs that it was learned from confirms any pair."""
    first, second = (path.matched(rows, each, other.worth) for each in weights)
    return path.both(path.of_rows(first, half), path.of_rows(second, ~half))


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


def _belong_together(own: _Path, paths: Sequence[_Path]) -> bool:
    """Whether the words of a document match better than those of other pairs. A small document counts as all documents
    together, and a few sentences alone by their matched share."""
    some = [own] if len(own.gains) >= SMALL else paths
    gains = np.concatenate([each.gains for each in some])
    if len(gains) < 2:
        shares = [bead.share for each in some for bead in each.beads if all(bead.kind)]
        return bool(shares) and float(np.mean(shares)) > MIN_SHARE
    return float(gains.mean()) > max(MIN_GAIN, 2 * float(gains.std()) / math.sqrt(len(gains)))


def _with_confidence(beads: Sequence[Bead], doubt: float = 0.0) -> list[Aligned]:
    """A bead between others is surer than one between sentences without translation."""
    pairs = [bool(bead.kind[0] and bead.kind[1]) for bead in beads]
    helped = [
        _bounded(bead.score if pair else -MAX_NEIGHBOR, MAX_NEIGHBOR) for bead, pair in zip(beads, pairs, strict=True)
    ]
    found = []
    for number, (bead, pair) in enumerate(zip(beads, pairs, strict=True)):
        near = [helped[spot] for spot in (number - 1, number + 1) if 0 <= spot < len(beads)]
        logit = INTERCEPT + OF_SCORE * _bounded(bead.score, MAX_SCORE) + OF_NEIGHBORS * sum(near)
        logit += OF_MERGED * (bead.kind != (1, 1)) - doubt
        found.append(Aligned(bead, 1 / (1 + math.exp(-logit)) if pair else 0.0))
    return found


def _bounded(value: float, most: float) -> float:
    return min(max(value, -most), most)


def _sure_pairs(found: Sequence[Sequence[Aligned]], places: Sequence[_Place]) -> list[tuple[int, int, Bead]]:
    """The sure pairs: their first sentences among those of all documents, and the bead."""
    pairs = [
        (place.sources.start + each.bead.source, place.targets.start + each.bead.target, each.bead)
        for some, place in zip(found, places, strict=True)
        for each in some
        if each.confidence >= SURE
    ]
    return [pairs[number] for number in evenly(len(pairs), MAX_LEARNED)]


def _learned(
    equal: Weights, pairs: Sequence[tuple[int, int, Bead]], source: Side, target: Side
) -> tuple[Weights, Weights]:
    """The words that match, learned from the first and from the second half of the pairs."""
    found = []
    for half in (False, True):
        rows = [
            (
                np.unique(np.concatenate(source.rows[one : one + bead.kind[0]])),
                np.unique(np.concatenate(target.rows[other : other + bead.kind[1]])),
            )
            for one, other, bead in pairs
            if _in_second_half(bead) == half
        ]
        found.append(path.joined(equal, path.learned_words(source, target, rows)))
    return found[0], found[1]


def _even_share(found: Sequence[Sequence[Aligned]]) -> float:
    """Less than half of the share that is matched in sure pairs."""
    shares = [each.bead.share for some in found for each in some if each.confidence >= SURE]
    return float(np.clip(0.4 * np.mean(shares), MIN_EVEN, MAX_EVEN)) if shares else FIRST_EVEN
