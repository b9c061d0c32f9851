"""Whether the two sides of parallel text belong together: each pair is compared with pairs that are certainly wrong.

IBM Model 1 (`lexicon.py`) is learned from one part of a sample, and the other part is scored with it. A word of the
target is worth `log((0.9 t + 0.1 p) / p)`: t is its probability given the best word of the source, p its share of all
words. A pair is good if its mean is at least that of its source with the targets of the two neighboring lines, and with
a target of like length from elsewhere. Of pairs drawn at random a quarter is good, of clean text 80 to 99 %: no
threshold depends on the languages or on the text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.preparation.lexicon import Ids, Lexicon, Pieces, learn_lexicon
from limelight.text.pair import Pair
from limelight.text.words import words_of

BLOCK_PAIRS = 20
"""Consecutive pairs that are drawn together, so that most have their neighbors in the sample."""
MAX_BLOCKS = 200
"""Blocks of a sample; between half of them and all are used."""
MAX_CHARACTERS, MAX_WORDS = 400, 20
"""Of each text in a sample: they bound memory and time."""
MAX_LETTERS = 6
"""Words are compared by their first letters, so that forms of a word count as one."""
PARTS_OF_FEW, PARTS, FEW = 10, 2, 2000
"""Parts for cross-validation: more for samples of fewer pairs, which have little to learn from."""
ITERATIONS = 4
PARTNER = np.log(5)
"""A word has a partner if it is five times as probable given the source as without."""

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """Blocks of consecutive pairs, evenly from the whole text."""

    pairs: list[Pair]
    """Their texts are cut to `MAX_CHARACTERS`."""
    places: Ids
    """The number of each pair in the text, from 0."""
    total: int
    """Pairs of the text."""


class Words(NamedTuple):
    """The distinct words of each pair of a sample, as numbers."""

    sources: Sequence[Ids]
    targets: Sequence[Ids]
    source_words: int
    target_words: int


class Scores(NamedTuple):
    """What was found of each pair of a sample."""

    good: Flags
    """Whether its own target fits at least as well as all others."""
    known: Flags
    """Whether that can be told: its words occur in other pairs, and not all targets fit equally."""
    partners: Numbers
    """How many of its target words have a partner."""
    counted: Numbers
    """How many of its target words are known."""
    shuffled: Numbers
    """How many of the known words of another target have a partner."""
    elsewhere: Numbers
    """Whether its own target fits better than one from elsewhere: 1, or 0.5 if equally well."""
    before: Flags
    """Whether the target of the line before fits better than its own."""
    after: Flags
    """The same of the line after."""


def draw_sample(pairs: Iterable[Pair], most: int = MAX_BLOCKS) -> Sample:
    """A sample of a text of unknown length, read once, in bounded memory: whenever there are too many blocks, every
    other one is dropped."""
    blocks: list[list[Pair]] = []
    stream, number, step, total = iter(pairs), 0, 1, 0
    while block := list(islice(stream, BLOCK_PAIRS)):
        if number % step == 0:
            blocks.append([_cut(pair) for pair in block])
            if len(blocks) > most:
                blocks, step = blocks[::2], 2 * step
        total += len(block)
        number += 1
    places = [step * BLOCK_PAIRS * place + row for place, block in enumerate(blocks) for row in range(len(block))]
    return Sample([pair for block in blocks for pair in block], np.array(places, dtype=np.int64), total)


def _cut(pair: Pair) -> Pair:
    return Pair(pair.source[:MAX_CHARACTERS], pair.target[:MAX_CHARACTERS], pair.file, pair.line)


def words_in(sample: Sample) -> Words:
    """The words of both sides of each pair."""
    sides = []
    for name in ("source", "target"):
        numbers: dict[str, int] = {}
        rows = []
        for pair in sample.pairs:
            words = [word.lower()[:MAX_LETTERS] for word in words_of(getattr(pair, name))[:MAX_WORDS]]
            rows.append(np.array(sorted({numbers.setdefault(word, len(numbers)) for word in words}), dtype=np.int64))
        sides.append((rows, len(numbers)))
    (sources, source_words), (targets, target_words) = sides
    return Words(sources, targets, source_words, target_words)


def score_pairs(words: Words, *, offset: int = 0) -> Scores:
    """Score each pair. With an `offset` the target of a pair is the one so many pairs after it (or before, if it is
    negative), and the pair's own target is one of those it is compared with."""
    count = len(words.sources)
    own = np.clip(np.arange(count) + offset, 0, max(0, count - 1))
    lengths = np.array([len(row) for row in words.targets])
    draw = np.random.default_rng(0)
    order = np.lexsort((draw.random(count), lengths))
    elsewhere = np.empty(count, dtype=np.int64)
    elsewhere[order] = np.roll(order, 1)
    others = [np.clip(own + step, 0, max(0, count - 1)) for step in (-1, 1)] + [elsewhere]
    kinds = (bool, bool, float, float, float, float, bool, bool)
    found = Scores(*(np.zeros(count, dtype=kind) for kind in kinds))
    both = np.array([bool(len(source)) for source in words.sources]) & (lengths[own] > 0)
    parts = PARTS_OF_FEW if count < FEW else PARTS
    part = (np.arange(count) // BLOCK_PAIRS) % parts
    for each in range(parts):
        learned, tested = np.flatnonzero(both & (part != each)), np.flatnonzero(both & (part == each))
        if not len(learned) or not len(tested):
            continue
        lexicon, shares = _learn(words, learned, own)
        mine, partners, counted = _gains(words, tested, own[tested], lexicon, shares)
        rivals = [_gains(words, tested, other[tested], lexicon, shares) for other in others]
        best = np.max([gains for gains, _, _ in rivals], axis=0)
        least = np.min([gains for gains, _, _ in rivals], axis=0)
        found.good[tested] = mine >= best
        found.known[tested] = (counted > 0) & ((mine != best) | (mine != least))
        found.partners[tested], found.counted[tested] = partners, counted
        found.shuffled[tested] = rivals[-1][1] / np.maximum(rivals[-1][2], 1) * counted
        found.elsewhere[tested] = np.sign(mine - rivals[-1][0]) / 2 + 0.5
        found.before[tested], found.after[tested] = rivals[0][0] > mine, rivals[1][0] > mine
    return found


def _learn(words: Words, rows: Ids, own: Ids) -> tuple[Lexicon, Numbers]:
    """t(target | source) of these pairs, and the share of each target word that occurs at least twice."""
    pieces = [Pieces(words.sources[row], words.targets[own[row]]) for row in rows]
    lexicon = learn_lexicon(pieces, nothing=words.source_words, classes=words.target_words, iterations=ITERATIONS)
    counts = np.bincount(np.concatenate([each.target for each in pieces]), minlength=words.target_words)
    return lexicon, np.where(counts >= 2, counts / counts.sum(), 0.0)


def _gains(
    words: Words, rows: Ids, targets: Ids, lexicon: Lexicon, shares: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """For each source with a target: the mean of its words, how many have a partner, and how many are known."""
    sides = [words.sources[row] for row in rows], [words.targets[row] for row in targets]
    sources, target_lengths = np.array([len(row) for row in sides[0]]), np.array([len(row) for row in sides[1]])
    owner = np.repeat(np.arange(len(rows)), target_lengths)
    if not len(owner):
        return np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    target = np.concatenate(sides[1])
    widths = sources[owner]
    starts = np.cumsum(widths) - widths
    place = np.arange(widths.sum()) - np.repeat(starts, widths)
    source = np.concatenate(sides[0])[np.repeat((np.cumsum(sources) - sources)[owner], widths) + place]
    keys = source * words.target_words + np.repeat(target, widths)
    table = lexicon.sources.astype(np.int64) * words.target_words + lexicon.targets
    spots = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    best = np.maximum.reduceat(np.where(table[spots] == keys, lexicon.probabilities[spots], 0.0), starts)
    share = shares[target]
    known = share > 0
    gain = np.where(known, np.log((0.9 * best + 0.1 * share + 1e-9) / (share + 1e-9)), 0.0)
    counts = [np.bincount(owner, weights, minlength=len(rows)) for weights in (known, known & (gain > PARTNER))]
    counted, partners = (each.astype(np.float64) for each in counts)
    return np.bincount(owner, gain, minlength=len(rows)) / np.maximum(counted, 1), partners, counted


class Stretch(NamedTuple):
    """Consecutive rows of a sample, the last one not included."""

    first: int
    end: int


def stretches(evidence: Numbers, least: float, most: int = 5) -> Iterator[Stretch]:
    """The disjoint stretches with the largest sums of evidence, each of at least `least`, the largest first."""
    evidence = evidence.copy()
    for _ in range(most):
        sums = np.concatenate([[0.0], np.cumsum(evidence)])
        lowest = np.minimum.accumulate(sums)
        gains = sums - lowest
        end = int(gains.argmax())
        if gains[end] < least or gains[end] <= 0:
            return
        first = int(np.flatnonzero(sums[:end] == lowest[end])[-1])
        yield Stretch(first, end)
        evidence[first:end] = -1e6


def evidence_of(good: Flags, known: Flags) -> Numbers:
    """The logarithm of the odds that a pair is wrong: of wrong pairs 30 % seem good, of others 80 %."""
    odds = np.where(good, np.log(0.3 / 0.8), np.log(0.7 / 0.2))
    return np.where(known, odds, 0.0)


def share(values: Numbers, counts: Numbers, rows: Sequence[int] | slice | Flags = slice(None)) -> float:
    """The sum of values over the sum of counts; 0 where nothing is counted."""
    return float(values[rows].sum() / max(counts[rows].sum(), 1))
