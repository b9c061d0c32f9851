"""Align the sentences of documents with those of their translations.

Three passes over all documents together. The first compares lengths and words that are written alike, such as numbers
and names; with a translation of the source (the idea of Bleualign: Sennrich and Volk 2010) its words, too. The pairs
that it finds teach a lexicon (IBM Model 1), with which the second pass finds more, and the third again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from limelight.corpus.pairing import words as lexical
from limelight.corpus.pairing.path import Bead, Evidence, Text, best_path, excess
from limelight.corpus.pairing.words import Matches, Numbers, Side, Weights
from limelight.preparation.lexicon import Ids, evenly

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
"""Confidence of the pairs at which a long text may be divided."""
MAX_CELLS = 4_000_000
"""Source times target sentences of a section, which has about fifty bytes for each."""
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
    """The values of `excess`."""


class _Place(NamedTuple):
    """Where the sentences of a document are among those of all documents."""

    sources: slice
    targets: slice


def align(documents: Sequence[Document], say: Callable[[str], None] = lambda text: None) -> list[list[Aligned]]:
    """The beads of each document, in order. Words are weighed, and the lexicon is learned, over all of them."""
    translated = [[lexical.words_in(text, lexical.TRANSLATED) for text in each.translations] for each in documents]
    sources = [
        words + more
        for each, others in zip(documents, translated, strict=True)
        for words, more in zip(
            (lexical.words_in(sentence.text) for sentence in each.source),
            others or [[]] * len(each.source),
            strict=True,
        )
    ]
    source = lexical.side_of(sources)
    target = lexical.side_of(lexical.words_in(sentence.text) for each in documents for sentence in each.target)
    places, ends = [], (0, 0)
    for each in documents:
        begins, ends = ends, (ends[0] + len(each.source), ends[1] + len(each.target))
        places.append(_Place(slice(begins[0], ends[0]), slice(begins[1], ends[1])))
    equal = lexical.equal_words(source, target)
    weights: tuple[Weights, Weights] = (equal, equal)
    even = FIRST_EVEN
    found: list[list[Aligned]] = [[] for _ in documents]
    paths: list[_Path] = []
    for number in range(PASSES):
        if number:
            weights = _learned(equal, _sure_pairs(found, places), source, target)
            even = _even_share(found)
        known = lexical.joined(*weights)
        sides = lexical.usable(source, {one for one, _ in known}), lexical.usable(target, {other for _, other in known})
        matches = [[lexical.matches_of(each, turned=turned) for each in weights] for turned in (False, True)]
        paths = []
        for each, place, former in zip(documents, places, found, strict=True):
            rows = sides[0].rows[place.sources], sides[1].rows[place.targets]
            anchors = [(one.bead.source, one.bead.target) for one in former if one.confidence >= ANCHOR]
            if len(rows[0]) * len(rows[1]) > MAX_CELLS and not anchors:
                anchors = lexical.unique_hits(*rows, known)
            cuts = _cuts((0, 0), (len(rows[0]), len(rows[1])), anchors)
            if number == PASSES - 1 and set(cuts) - set(anchors):
                say(
                    f"{len(rows[0]):,} and {len(rows[1]):,} sentences: large parts have no translation, and pairs "
                    "beside them may be missing; divide the documents into chapters"
                )
            paths.append(_aligned(each, rows, sides, matches, even, cuts, _halves(former, *map(len, rows))))
        found = [_with_confidence(each.beads) for each in paths]
    return [
        found[number] if _belong_together(each, paths) else _with_confidence(each.beads, DOUBT)
        for number, each in enumerate(paths)
    ]


Point = tuple[int, int]


def _cuts(begin: Point, end: Point, anchors: Sequence[Point]) -> list[Point]:
    """Where a text is divided into sections of at most `MAX_CELLS`: at anchors, or in the middle without any."""
    if (end[0] - begin[0]) * (end[1] - begin[1]) <= MAX_CELLS:
        return []
    middle = (begin[0] + end[0]) // 2, (begin[1] + end[1]) // 2
    inside = [each for each in anchors if begin[0] < each[0] < end[0] and begin[1] < each[1] < end[1]]
    cut = min(inside, key=lambda each: abs(each[0] - middle[0]) + abs(each[1] - middle[1]), default=middle)
    return [*_cuts(begin, cut, inside), cut, *_cuts(cut, end, inside)]


def _aligned(
    document: Document,
    rows: tuple[Sequence[Ids], Sequence[Ids]],
    sides: tuple[Side, Side],
    matches: Sequence[Sequence[Matches]],
    even: float,
    cuts: Sequence[Point],
    halves: tuple[Sequence[bool], Sequence[bool]],
) -> _Path:
    """The beads of one document. The words of each half are matched by what was learned from the other one: what a
    lexicon says of the pairs that it was learned from confirms any pair."""
    forward, backward = ([each[not half] for half in some] for each, some in zip(matches, halves, strict=True))
    source, target = _text(document.source, rows[0], sides[0]), _text(document.target, rows[1], sides[1])
    ratio = max(float(target.lengths.sum()), 1.0) / max(float(source.lengths.sum()), 1.0)
    beads: list[Bead] = []
    gains = []
    for begin, end in pairwise([(0, 0), *cuts, (len(rows[0]), len(rows[1]))]):
        ours, theirs = slice(begin[0], end[0]), slice(begin[1], end[1])
        parts = source.part(ours), target.part(theirs)
        evidence = Evidence(
            lexical.in_common(rows[0][ours], forward[ours], rows[1][theirs], sides[1].worth),
            lexical.in_common(rows[1][theirs], backward[theirs], rows[0][ours], sides[0].worth).T,
            even,
            ratio,
        )
        found = best_path(*parts, evidence)
        gains.append(excess(found, evidence, *parts))
        beads += [each._replace(source=each.source + begin[0], target=each.target + begin[1]) for each in found]
    return _Path(beads, np.concatenate(gains))


def _halves(former: Sequence[Aligned], sources: int, targets: int) -> tuple[list[bool], list[bool]]:
    """For the sentences of both sides, whether they are in the second half of the text: every other block of source
    sentences. A target sentence is in the half of the sentences that it was paired with."""
    theirs = [False] * targets
    for bead, _ in former:
        theirs[bead.target : bead.target + bead.kind[1]] = [_in_second_half(bead.source)] * bead.kind[1]
    return [_in_second_half(source) for source in range(sources)], theirs


def _in_second_half(source: int) -> bool:
    return source // BLOCK % 2 == 1


def _text(sentences: Sequence[Sentence], rows: Sequence[Ids], side: Side) -> Text:
    lengths = np.array([len(each.text) for each in sentences], dtype=np.float64)
    paragraphs = np.array([each.paragraph for each in sentences])
    return Text(lengths, side.totals(rows), np.diff(paragraphs, prepend=-1) != 0)


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
            if _in_second_half(bead.source) == half
        ]
        found.append(lexical.joined(equal, lexical.learned_words(source, target, rows)))
    return found[0], found[1]


def _even_share(found: Sequence[Sequence[Aligned]]) -> float:
    """Less than half of the share that is matched in sure pairs."""
    shares = [each.bead.share for some in found for each in some if each.confidence >= SURE]
    return float(np.clip(0.4 * np.mean(shares), MIN_EVEN, MAX_EVEN)) if shares else FIRST_EVEN
