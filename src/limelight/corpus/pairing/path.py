"""The best sequence of beads through two documents, by dynamic programming within a band.

A bead pairs 0 to 2 consecutive sentences of each side. Its score is the logarithm of the prior probability of its kind,
that of its lengths (Gale and Church 1993, "A Program for Aligning Sentences in Bilingual Corpora", equations 3 to 5),
and evidence from matched words: of all that the words of its sentences are worth, `Evidence.even` is as probable in a
translation as elsewhere; more speaks for the bead, less against it.

Cells lie on the antidiagonals d = i + j, where i and j are the sentences that came before. On each, `Band.width` cells
from i = `Band.lows[d]` on are computed, all at once. Time and memory are `width` times the sum of both lengths.

The evidence is that of words in common: equal ones, or through a lexicon or translations. A source word x matches a
target word w with a weight from 0 to 1. A word is worth log(N / n), if n of N sentences have it. What a pair of
sentences has in common is the worth of the matched words of either side, times their weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.preparation.lexicon import Ids, Pieces, in_blocks, learn_lexicon, meet, word_ids
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
        """The worth of all words of each sentence."""
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
    rows, numbers = word_ids(texts)
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
    """The matches of these sentences on the other side, whose words have this `worth`."""
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


MAX_CELLS = 24_000_000
"""Nine bytes each."""
MARGIN = 60
"""Cells on each side of the path through the anchors."""
_PAD = 4
KINDS = ((1, 1), (1, 0), (0, 1), (1, 2), (2, 1), (2, 2))
"""Source and target sentences of a bead."""
PRIORS = tuple(math.log(share) for share in (0.89, 0.03, 0.03, 0.03, 0.03, 0.0005))
"""The priors of Gale and Church, with more for sentences without translation."""
SPREAD = 6.8
"""Variance of the length of a translation, per character."""
_STEP, _MAX_DELTA = 20, 8
TAILS = np.array([math.log(max(math.erfc(x / _STEP / math.sqrt(2)), 1e-12)) for x in range(_MAX_DELTA * _STEP + 1)])
"""log(2 (1 - Phi(delta))) for each delta, in steps of 1/20."""
OTHER_PARAGRAPH = -1.5
"""For two sentences of different paragraphs in one bead."""
TEMPER, LEAST_EVIDENCE = 0.4, -12.0
"""Words of a sentence are not independent, so their sum is tempered; one pair alone must not decide the whole path."""
CROSSED = 0.8
"""Factor for the matched words of a 2-2 bead: otherwise sentences would be paired wherever they share a word."""
UNREACHED = -1e30


class Band(NamedTuple):
    """The cells that are computed."""

    lows: Ids
    """The first i of each antidiagonal. From one to the next it grows by 0 or 1."""
    width: int
    sizes: tuple[int, int]
    """Sentences of both sides."""
    whole: bool
    """Whether every path between the anchors is within the band."""


class Text(NamedTuple):
    """The sentences of one side."""

    lengths: Numbers
    """Characters."""
    totals: Numbers
    """The worth of the words of each sentence."""
    begins: npt.NDArray[np.bool_]
    """Whether a sentence is the first of its paragraph."""


class Evidence(NamedTuple):
    """The worth that source and target have in common, cell by cell."""

    of_targets: Floats
    """(antidiagonals, width + 2 pads): what the matched words of target j in source i are worth."""
    of_sources: Floats
    even: float
    """The matched share that speaks neither for nor against a pair."""


class Bead(NamedTuple):
    """Some sentences of each side."""

    source: int
    """The first one."""
    target: int
    kind: tuple[int, int]
    score: float
    """The gain by lengths and words, without the prior; 0 for a sentence without translation."""
    share: float = 0.0
    """The share of its words that are matched."""


def make_band(sources: int, targets: int, anchors: list[tuple[int, int]]) -> Band:
    """A band around the path through the anchors, wide enough for every path between them, if memory allows."""
    corners = [(0, 0), *anchors, (sources, targets)]
    steps = [(there[0] - here[0], there[1] - here[1]) for here, there in pairwise(corners)]
    half = max((right * down / (right + down) for right, down in steps if right + down), default=0) + MARGIN
    needed = 2 * int(half) + 2
    width = min(needed, max(2 * MARGIN, MAX_CELLS // (sources + targets + 1)))
    places = np.arange(sources + targets + 1)
    known = sorted({sum(each): each[0] for each in corners}.items())
    center = np.interp(places, [each[0] for each in known], [each[1] for each in known])
    return Band((np.floor(center) - width // 2).astype(np.int64), width, (sources, targets), width == needed)


def common(band: Band, entries: Entries, postings: Ids, *, by_target: bool = False) -> Floats:
    """What each pair of sentences within the band has in common.

    Args:
        entries: what each source sentence matches; with `by_target` what each target sentence does.
        postings: `word * count + sentence` of the other side, ascending.
    """
    sources, targets = band.sizes
    places = np.arange(len(band.lows))
    numbers = np.arange(targets if by_target else sources)
    keys = places - band.lows if by_target else band.lows  # nondecreasing in both cases
    if by_target:
        first = np.searchsorted(keys, numbers, "left") - numbers
        last = np.searchsorted(keys, numbers + band.width, "left") - 1 - numbers
    else:
        first = np.searchsorted(keys + band.width, numbers, "right") - numbers
        last = np.searchsorted(keys, numbers, "right") - 1 - numbers
    others = sources if by_target else targets
    first, last = np.maximum(first, 0), np.minimum(last, others - 1)
    row = band.width + 2 * _PAD
    table = np.zeros(len(band.lows) * row, dtype=np.float32)
    for some in range(0, len(entries.rows), 100_000):
        rows, words, counts = (part[some : some + 100_000] for part in entries)
        begins = np.searchsorted(postings, words * others + first[rows], "left")
        ends = np.searchsorted(postings, words * others + last[rows], "right")
        lengths = np.maximum(ends - begins, 0)
        there = postings[ranges(begins, ends)] % max(others, 1)
        here = np.repeat(rows, lengths)
        i, j = (there, here) if by_target else (here, there)
        np.add.at(table, (i + j) * row + _PAD + i - band.lows[i + j], np.repeat(counts, lengths))
    return table.reshape(len(band.lows), row)


class _Sums(NamedTuple):
    """Sums over the first sentences of a side."""

    lengths: Numbers
    totals: Numbers
    begins: Numbers
    """-> the penalty for a bead that ends with both sentences before a place, if they are of two paragraphs."""

    @classmethod
    def of(cls, text: Text) -> _Sums:
        lengths, totals = (np.concatenate([[0.0], np.cumsum(each)]) for each in (text.lengths, text.totals))
        return cls(lengths, totals, np.concatenate([[0.0], np.where(text.begins, OTHER_PARAGRAPH, 0.0)]))


def best_path(band: Band, source: Text, target: Text, evidence: Evidence) -> list[Bead]:
    """The beads with the highest score, in order."""
    sums = _Sums.of(source), _Sums.of(target)
    ratio = max(float(target.lengths.sum()), 1.0) / max(float(source.lengths.sum()), 1.0)
    count, width = len(band.lows), band.width
    recent = [np.full(width + 2 * _PAD, UNREACHED) for _ in range(5)]
    chosen = np.zeros((count, width), dtype=np.uint8)
    sources, targets = band.sizes
    for d in range(count):
        low = int(band.lows[d])
        i = np.arange(low, low + width)
        j = d - i
        here = recent[d % 5]
        here[:] = UNREACHED
        inside = (i >= 0) & (i <= sources) & (j >= 0) & (j <= targets)
        if d == 0:
            here[_PAD - low] = 0.0
            continue
        best = np.full(width, UNREACHED)
        for number, kind in enumerate(KINDS):
            step = sum(kind)
            if step > d:
                continue
            shift = _PAD + low - int(band.lows[d - step]) - kind[0]
            before = recent[(d - step) % 5][shift : shift + width] + PRIORS[number]
            if kind[0] and kind[1]:
                before = before + _score(band, d, kind, sums, evidence, ratio)[0]
            better = before > best
            best = np.where(better, before, best)
            chosen[d][better] = number
        here[_PAD : _PAD + width] = np.where(inside, best, UNREACHED)
    return _traced(band, chosen, sums, evidence, ratio)


def _score(
    band: Band, d: int, kind: tuple[int, int], sums: tuple[_Sums, _Sums], evidence: Evidence, ratio: float
) -> tuple[Numbers, Numbers]:
    """The scores of beads of this kind that end on an antidiagonal, without the prior, and their matched shares."""
    low, width = int(band.lows[d]), band.width
    i = np.clip(np.arange(low, low + width), 0, band.sizes[0])
    j = np.clip(d - np.arange(low, low + width), 0, band.sizes[1])
    i_before, j_before = np.maximum(i - kind[0], 0), np.maximum(j - kind[1], 0)
    length = sums[0].lengths[i] - sums[0].lengths[i_before]
    other = sums[1].lengths[j] - sums[1].lengths[j_before]
    delta = np.abs(other - ratio * length) / np.sqrt(SPREAD * (ratio * length + other) / 2 + 1)
    found = TAILS[np.minimum(delta * _STEP, _MAX_DELTA * _STEP).astype(np.int64)]
    source, target = np.zeros(width), np.zeros(width)
    for right in range(1, kind[0] + 1):
        for down in range(1, kind[1] + 1):
            place = d - right - down
            shift = _PAD + low - int(band.lows[place]) - right
            target += evidence.of_targets[place, shift : shift + width]
            source += evidence.of_sources[place, shift : shift + width]
    totals = sums[0].totals[i] - sums[0].totals[i_before], sums[1].totals[j] - sums[1].totals[j_before]
    matched = np.minimum(source, totals[0]) + np.minimum(target, totals[1])
    if kind == (2, 2):  # words that both sentences have are counted twice
        matched = CROSSED * matched
    worth = totals[0] + totals[1]
    odds = evidence.even / (1 - evidence.even)
    words = TEMPER * ((1 + odds) * matched - odds * worth)
    found = found + np.maximum(words, LEAST_EVIDENCE)
    if kind[0] == 2:
        found = found + sums[0].begins[i]
    if kind[1] == 2:
        found = found + sums[1].begins[j]
    return found, matched / np.maximum(worth, 1e-9)


def _traced(
    band: Band, chosen: npt.NDArray[np.uint8], sums: tuple[_Sums, _Sums], evidence: Evidence, ratio: float
) -> list[Bead]:
    """The beads from the end to the beginning, turned round."""
    i, j = band.sizes
    beads = []
    while i or j:
        spot = i - int(band.lows[i + j])
        kind = KINDS[chosen[i + j, spot]]
        score, share = 0.0, 0.0
        if kind[0] and kind[1]:
            found = _score(band, i + j, kind, sums, evidence, ratio)
            score, share = float(found[0][spot]), float(found[1][spot])
        i, j = i - kind[0], j - kind[1]
        beads.append(Bead(i, j, kind, score, share))
    return beads[::-1]


def gains(band: Band, beads: list[Bead], evidence: Evidence, source: Text, target: Text, step: int = 5) -> Numbers:
    """How much more of the words of each pair of two sentences is matched than with the target of another pair, `step`
    pairs later or earlier. Around 0 for texts that do not belong together."""
    pairs = [(bead.source, bead.target) for bead in beads if bead.kind == (1, 1)]
    if len(pairs) <= step:
        return np.zeros(0)
    i, j = (np.array(each) for each in zip(*pairs, strict=True))
    others = np.concatenate([j[step:], j[-2 * step : -step]])[: len(j)]
    others = np.concatenate([others, np.zeros(len(j) - len(others), dtype=others.dtype)])
    shares = []
    for targets in (j, others):
        spots = np.clip(i - band.lows[i + targets], -_PAD, band.width + _PAD - 1) + _PAD
        matched = evidence.of_targets[i + targets, spots] + evidence.of_sources[i + targets, spots]
        shares.append(matched / np.maximum(source.totals[i] + target.totals[targets], 1e-9))
    found: Numbers = (shares[0] - shares[1]).astype(np.float64)
    return found


def at_the_edge(band: Band, beads: list[Bead]) -> bool:
    """Whether the path runs along the edge of a band that is narrower than the text: it may be wrong there."""
    if band.whole:
        return False
    spots = [bead.source - int(band.lows[bead.source + bead.target]) for bead in beads]
    return any(spot < 3 or spot >= band.width - 3 for spot in spots)


MAX_RARE = 4
"""Sentences of a side that a rare word is in, at most."""
REACH, DRIFT = 40, 12
"""Sentences along and across the diagonal within which hits confirm each other."""


def anchors_of(entries: Entries, target_rows: Sequence[Ids], worth: Numbers) -> list[tuple[int, int]]:
    """Pairs of sentences that rare words have in common, and that many of their neighbors confirm, ascending in both.

    Spurious ones are alone, or out of order: of the rest the longest ascending sequence is kept.
    """
    words = np.concatenate([*target_rows, np.zeros(0, dtype=np.int64)])
    owners = np.repeat(np.arange(len(target_rows)), [len(row) for row in target_rows])
    order = np.lexsort((owners, words))
    words, owners = words[order], owners[order]
    often = np.bincount(words, minlength=len(worth))
    spread = np.bincount(entries.words, minlength=len(worth))
    kept = (often[entries.words] <= MAX_RARE) & (spread[entries.words] <= MAX_RARE) & (often[entries.words] > 0)
    rows, rare = entries.rows[kept], entries.words[kept]
    begins, ends = np.searchsorted(words, rare, "left"), np.searchsorted(words, rare, "right")
    i, j = np.repeat(rows, ends - begins), owners[ranges(begins, ends)]
    near = _confirmed(i, j)
    return _ascending(sorted(set(zip(i[near].tolist(), (-j[near]).tolist(), strict=True))))


def _confirmed(i: Ids, j: Ids) -> npt.NDArray[np.bool_]:
    """Whether a hit has at least three others near it on about the same diagonal."""
    if not len(i):
        return np.zeros(0, dtype=bool)
    cells = np.stack([i // REACH, (i - j + (1 << 40)) // DRIFT])
    keys = cells[0] * (1 << 40) + cells[1]
    unique, counts = np.unique(keys, return_counts=True)
    total = np.zeros(len(i), dtype=np.int64)
    for right in (-1, 0, 1):
        for down in (-1, 0, 1):
            wanted = keys + right * (1 << 40) + down
            spots = np.minimum(np.searchsorted(unique, wanted), len(unique) - 1)
            total += np.where(unique[spots] == wanted, counts[spots], 0)
    return total >= 4


def _ascending(hits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest sequence that ascends in both; hits are (i, -j) in order."""
    from bisect import bisect_left

    ends: list[int] = []
    places: list[int] = []
    links: list[int] = []
    for number, (_, minus) in enumerate(hits):
        spot = bisect_left(ends, -minus)
        if spot == len(ends):
            ends.append(-minus)
            places.append(number)
        else:
            ends[spot], places[spot] = -minus, number
        links.append(places[spot - 1] if spot else -1)
    found, number = [], places[-1] if places else -1
    while number >= 0:
        found.append((hits[number][0], -hits[number][1]))
        number = links[number]
    return found[::-1]
