"""The best sequence of beads through two texts, by dynamic programming.

A bead is a pair of sentences, a sentence without translation, or two sentences of one side with one of the other. Its
score is the logarithm of the probabilities of its kind and of its lengths (Gale and Church 1993, "A Program for
Aligning Sentences in Bilingual Corpora", equations 3 to 5), and evidence from matched words: if their share of the idf
(`words.py`) of all words of its sentences is above `Section.neutral` it speaks for the bead, otherwise against it.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.corpus.pairing.words import Floats, Numbers

KINDS = ((1, 1), (1, 0), (0, 1), (1, 2), (2, 1))
"""Source and target sentences of a bead."""
SKIPS = KINDS.index((0, 1))
PRIORS = tuple(math.log(share) for share in (0.89, 0.03, 0.03, 0.03, 0.03))
"""The priors of Gale and Church, with more for sentences without translation."""
SPREAD = 6.8
"""Variance of the length of a translation, per character."""
TEMPER, MIN_EVIDENCE = 0.4, -12.0
"""Factor of the evidence, as the words of a sentence are not independent; and its bound, as one pair alone must not
decide the whole path."""
UNREACHED = -1e30
_STEP, _MAX_DELTA = 20, 8
_TAILS = np.array([math.log(max(math.erfc(x / _STEP / math.sqrt(2)), 1e-12)) for x in range(_MAX_DELTA * _STEP + 1)])
"""log(2 (1 - Phi(delta))), in steps of 1/20."""


class Text(NamedTuple):
    """The sentences of one side."""

    lengths: Numbers
    """Characters."""
    totals: Numbers
    """The sum of the idf of the words of each sentence."""


class Section(NamedTuple):
    """Sentences of both sides, and the idf of the words that they have in common."""

    source: Text
    target: Text
    of_targets: Floats
    """(sources, targets): of the matched words of a target."""
    of_sources: Floats
    neutral: float
    """The matched share that speaks neither for nor against a pair."""
    ratio: float
    """Characters of a target for one of a source."""


class Bead(NamedTuple):
    """Sentences of each side that belong together."""

    source: int
    """The first one."""
    target: int
    kind: tuple[int, int]
    score: float = 0.0
    """The gain by lengths and words, without the prior; 0 for a sentence without translation."""
    share: float = 0.0
    """The share of its words that are matched."""
    confidence: float = 0.0
    """From 0 to 1; 0 for sentences without translation."""

    @property
    def pairs(self) -> bool:
        """Whether there are sentences of both sides."""
        return all(self.kind)


def _gains(section: Section, end: int, kind: tuple[int, int]) -> tuple[Numbers, Numbers]:
    """The gains of beads of a kind that end with the source sentences before `end`, and their matched shares, for each
    end in the target from `kind[1]` on."""
    source, target, of_targets, of_sources, neutral, ratio = section
    ours = slice(end - kind[0], end)
    expected = ratio * source.lengths[ours].sum()
    length = _windows(target.lengths, kind[1])
    deltas = np.abs(length - expected) / np.sqrt(SPREAD * (expected + length) / 2 + 1)
    gains = _TAILS[np.minimum(deltas * _STEP, len(_TAILS) - 1).astype(np.int64)]
    totals = source.totals[ours].sum(), _windows(target.totals, kind[1])
    matched = np.minimum(_windows(of_sources[ours].sum(axis=0), kind[1]), totals[0])
    matched = matched + np.minimum(_windows(of_targets[ours].sum(axis=0), kind[1]), totals[1])
    total, odds = totals[0] + totals[1], neutral / (1 - neutral)
    gains = gains + np.maximum(TEMPER * ((1 + odds) * matched - odds * total), MIN_EVIDENCE)
    return gains, matched / np.maximum(total, 1e-9)


def _windows(values: npt.NDArray[np.floating], size: int) -> Numbers:
    """The sums of `size` consecutive values."""
    return np.asarray(values if size == 1 else values[:-1] + values[1:], dtype=np.float64)


def best_path(section: Section) -> list[Bead]:
    """The beads with the highest score, in order."""
    sources, targets = section.of_targets.shape
    best = np.full((sources + 1, targets + 1), UNREACHED)
    chosen = np.full(best.shape, SKIPS, dtype=np.uint8)
    skipped = PRIORS[SKIPS] * np.arange(targets + 1)
    best[0, 0] = 0.0
    for end in range(sources + 1):
        row = best[end]
        for number, (ours, theirs) in enumerate(KINDS):
            if not 0 < ours <= end:
                continue
            value = best[end - ours, : max(targets + 1 - theirs, 0)] + PRIORS[number]
            if theirs:
                value = value + _gains(section, end, (ours, theirs))[0]
            better = value > row[theirs:]
            row[theirs:][better] = value[better]
            chosen[end, theirs:][better] = number
        reached = np.maximum.accumulate(row - skipped) + skipped  # any number of targets without translation before
        chosen[end, reached > row + 1e-9] = SKIPS
        best[end] = np.maximum(row, reached)
    beads = []
    source_end, target_end = sources, targets
    while source_end or target_end:
        kind = KINDS[chosen[source_end, target_end]]
        score, share = 0.0, 0.0
        if all(kind):
            score, share = (float(values[target_end - kind[1]]) for values in _gains(section, source_end, kind))
        source_end, target_end = source_end - kind[0], target_end - kind[1]
        beads.append(Bead(source_end, target_end, kind, score, share))
    return beads[::-1]


def excess(beads: list[Bead], section: Section, step: int = 5) -> Numbers:
    """How much more of the words of each pair of two sentences is matched than with the target of the pair `step` pairs
    later. Around 0 for texts that do not belong together."""
    pairs = np.array([(bead.source, bead.target) for bead in beads if bead.kind == (1, 1)]).reshape(-1, 2)
    if len(pairs) <= step:
        return np.zeros(0)
    sources, targets = pairs.T
    shares = []
    for others in (targets, np.roll(targets, -step)):
        matched = section.of_targets[sources, others] + section.of_sources[sources, others]
        totals = section.source.totals[sources] + section.target.totals[others]
        shares.append(matched / np.maximum(totals, 1e-9))
    return np.asarray(shares[0] - shares[1], dtype=np.float64)
