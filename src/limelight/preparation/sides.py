"""Text on which training cannot succeed, found before training: sides in other languages than declared, or that do not
belong together, with the lines where that begins and ends.

Models of a shifted or swapped file train without any error and translate nothing. The whole file is sampled in evenly
spaced blocks. IBM Model 1 (`lexicon.py`) is learned from one part of the sample, and the other part is scored with it.
A word of the target is worth `log((0.9 t + 0.1 p) / p)`: t is its probability given the best word of the source, p its
share of all words. A pair is good if its mean is at least that of its source with the targets of the two neighboring
lines, and with a target of similar length from elsewhere. Of random pairs a quarter is good, of clean text 80 to 99 %:
no threshold depends on the languages or on the text. `text/judge.py` compares the languages.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.formats.lines import chunks
from limelight.preparation.lexicon import Ids, Lexicon, Pieces, learn_lexicon, meet, spread, word_ids
from limelight.text.judge import contradiction, likely_language
from limelight.text.pair import Pair
from limelight.text.words import words_of

BLOCK_PAIRS = 20
"""Consecutive pairs that are drawn together, so that most have their neighbors in the sample."""
MAX_BLOCKS = 200
"""Blocks of a sample; between half of them and all are used."""
MAX_CHARACTERS, MAX_WORDS, MAX_LETTERS = 400, 20, 6
"""Maximum characters of each text in a sample, words of a text, and letters of a word, so that its forms count as
one."""
PARTS_OF_FEW, PARTS, FEW = 10, 2, 2000
"""Parts for cross-validation: more for samples of fewer pairs, which have little to learn from."""
ITERATIONS = 4
MIN_PAIRS, MIN_KNOWN = 150, 0.3
"""Pairs of a sample that can be judged, and their share of it; with fewer nothing is said about whether the sides
belong together: words that hardly recur cannot be judged."""
MAX_STRETCHES = 5
MIN_EVIDENCE = 20.0
"""Natural logarithm of the odds against a stretch: about 35 wrong pairs of a sample."""
RANDOM, SHIFTED = 0.7, 0.55
"""A stretch is wrong if its pairs are better than random ones in fewer than `RANDOM` of the cases, or a neighboring
target is better in more than `SHIFTED`. In clean files, sorted ones too, these are at least 0.80 and at most 0.25."""
CHUNK_PAIRS = 100
"""Pairs whose language is recognized together."""
MIN_SENTENCE_WORDS = 2.5
"""Mean words of a text from which a run on text that is not in its declared languages is refused: in sentences function
words are certain; lists of words, and invented ones, give a warning."""
MIN_DECIDED = 0.5
"""Share of the chunks of a side that must be in a recognized language, and most of these in the same."""
NEAR_THE_END = 10
"""So many rows from an end of the sample a stretch is said to reach it."""
MAX_WRONG = 0.5
"""Training on a file of which more than this share is wrong is refused."""

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Stretch(NamedTuple):
    """Consecutive rows of a sample, the last one not included."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class SideCheck:
    """The result for a corpus."""

    findings: list[str] = field(default_factory=list)
    """What is wrong, for display."""
    misaligned: list[Stretch] = field(default_factory=list)
    """Stretches whose sides do not belong together."""
    measured: str = ""
    """How well the sides belong together, for display; empty if that cannot be told."""
    wrong: float = 0.0
    """The share of its pairs that are wrong."""
    languages: tuple[str, str] = ("", "")
    """The languages of the sides, declared or recognized; empty if unknown."""


def draw_sample(pairs: Iterable[Pair], most: int = MAX_BLOCKS) -> list[Pair]:
    """Blocks of consecutive pairs, evenly from a text of unknown length, whose texts are cut."""
    blocks = (list(map(_cut, block)) for block in chunks(iter(pairs), BLOCK_PAIRS))
    return [pair for block in spread(blocks, most) for pair in block]


def _cut(pair: Pair) -> Pair:
    return Pair(pair.source[:MAX_CHARACTERS], pair.target[:MAX_CHARACTERS], pair.file, pair.line)


def check_sides(sample: Sequence[Pair], name: str, source: str = "", target: str = "") -> SideCheck:
    """Check a sample of a corpus; `source` and `target` are the declared languages, empty if they are not known."""
    if not sample:
        return SideCheck()
    texts = [pair.source for pair in sample], [pair.target for pair in sample]
    if declared := _of_declared(texts, source, target):
        words = sum(len(text.split()) for side in texts for text in side)
        wrong = float(words >= 2 * MIN_SENTENCE_WORDS * len(sample))
        return SideCheck([f"{name}: {declared}"], wrong=wrong, languages=(source, target))
    languages = source or _recognized(texts[0]), target or _recognized(texts[1])
    findings, misaligned, measured = list[str](), list[Stretch](), ""
    scores = score_pairs(*words_in(sample))
    if scores.known.sum() >= max(MIN_PAIRS, MIN_KNOWN * len(sample)):
        measured = f"{name}: {_fit(scores, slice(None))}"
        for rows in stretches(evidence_of(scores), MIN_EVIDENCE):
            if fault := _fault(scores, rows):
                findings.append(f"{name}: {_lines(sample, rows)} the sides do not belong together: {fault}")
                misaligned.append(rows)
    wrong = len({row for rows in misaligned for row in range(*rows)}) / len(sample)
    return SideCheck(findings, misaligned, measured, wrong, languages)


def _of_declared(texts: tuple[list[str], list[str]], source: str, target: str) -> str:
    """What is wrong if a side cannot be in its declared language."""
    faults = [
        f"the {side} side, said to be {code}, {fault}"
        for side, code, texts_of_side in (("source", source, texts[0]), ("target", target, texts[1]))
        if code and (fault := contradiction(texts_of_side, code))
    ]
    if not faults:
        return ""
    swapped = len(faults) == 2 and not contradiction(texts[0], target) and not contradiction(texts[1], source)
    advice = "are the sides swapped?" if swapped else "give --source and --target as they are, or other files"
    return f"{'; '.join(faults)}; {advice}"


def _recognized(texts: Sequence[str]) -> str:
    """The language of most of the texts; empty if uncertain."""
    chunks = [texts[first : first + CHUNK_PAIRS] for first in range(0, len(texts), CHUNK_PAIRS)]
    counts = Counter(filter(None, map(likely_language, chunks)))
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    return best if 2 * count > counts.total() >= MIN_DECIDED * len(chunks) else ""


class Words(NamedTuple):
    """The distinct words of each text of a side, as numbers."""

    rows: list[Ids]
    total: int


def words_in(sample: Sequence[Pair]) -> tuple[Words, Words]:
    """The words of both sides."""
    sides = []
    for texts in ([pair.source for pair in sample], [pair.target for pair in sample]):
        rows, numbers = word_ids([word.lower()[:MAX_LETTERS] for word in words_of(text)[:MAX_WORDS]] for text in texts)
        sides.append(Words(rows, len(numbers)))
    return sides[0], sides[1]


class Scores(NamedTuple):
    """Measurements of each pair of a sample."""

    good: Flags
    """Whether its own target fits at least as well as all others."""
    known: Flags
    """Whether that can be told: its words occur in other pairs, and not all targets fit equally."""
    elsewhere: Numbers
    """Whether its own target fits better than one from elsewhere: 1, or 0.5 if equally well."""
    neighbors: Flags
    """(pairs, 2): whether the target of the line before, or after, fits better than its own."""


def score_pairs(sources: Words, targets: Words) -> Scores:
    """Score each pair."""
    count = len(sources.rows)
    own = np.arange(count)
    lengths = np.array([len(row) for row in targets.rows])
    order = np.lexsort((np.random.default_rng(0).random(count), lengths))
    elsewhere = np.empty(count, dtype=np.int64)
    elsewhere[order] = np.roll(order, 1)
    others = [np.maximum(own - 1, 0), np.minimum(own + 1, count - 1), elsewhere]
    scores = Scores(np.zeros(count, bool), np.zeros(count, bool), np.zeros(count), np.zeros((count, 2), bool))
    both = np.array([bool(len(row)) for row in sources.rows]) & (lengths > 0)
    parts = PARTS_OF_FEW if count < FEW else PARTS
    part = (own // BLOCK_PAIRS) % parts
    for number in range(parts):
        learned, tested = np.flatnonzero(both & (part != number)), np.flatnonzero(both & (part == number))
        if not len(learned) or not len(tested):
            continue
        pairs = [Pieces(sources.rows[row], targets.rows[row]) for row in learned]
        lexicon = learn_lexicon(pairs, nothing=sources.total, classes=targets.total, iterations=ITERATIONS)
        counts = np.bincount(np.concatenate([pair.target for pair in pairs]), minlength=targets.total)
        shares = np.where(counts >= 2, counts / counts.sum(), 0.0)
        mine, *rivals = (
            _gains([Pieces(sources.rows[row], targets.rows[other[row]]) for row in tested], lexicon, shares)
            for other in (own, *others)
        )
        best, worst = np.max(rivals, axis=0), np.min(rivals, axis=0)
        words = np.array([shares[targets.rows[row]].any() for row in tested])
        scores.good[tested] = mine >= best
        scores.known[tested] = words & ((mine != best) | (mine != worst))
        scores.elsewhere[tested] = np.sign(mine - rivals[2]) / 2 + 0.5
        scores.neighbors[tested] = mine[:, None] < np.transpose(rivals[:2])
    return scores


def _gains(pairs: Sequence[Pieces], lexicon: Lexicon, shares: Numbers) -> Numbers:
    """What the words of each target are worth with its source: the mean of those that have a share."""
    owner = np.repeat(np.arange(len(pairs)), [len(pair.target) for pair in pairs])
    if not len(owner):
        return np.zeros(len(pairs))
    keys, widths, _ = meet(pairs, lexicon.nothing, lexicon.classes)
    ends = np.cumsum(widths)
    probabilities = lexicon.of(keys)
    probabilities[ends - 1] = 0  # no source word
    best = np.maximum.reduceat(probabilities, ends - widths)
    share = shares[np.concatenate([pair.target for pair in pairs])]
    gain = np.where(share > 0, np.log((0.9 * best + 0.1 * share + 1e-9) / (share + 1e-9)), 0.0)
    known = np.bincount(owner, share > 0, minlength=len(pairs))
    return np.bincount(owner, gain, minlength=len(pairs)) / np.maximum(known, 1)


def stretches(evidence: Numbers, least: float) -> Iterator[Stretch]:
    """The disjoint stretches with the largest sums of evidence, each of at least `least`, the largest first."""
    evidence = evidence.copy()
    for _ in range(MAX_STRETCHES):
        sums = np.concatenate([[0.0], np.cumsum(evidence)])
        lowest = np.minimum.accumulate(sums)
        gains = sums - lowest
        end = int(gains.argmax())
        if gains[end] < least or gains[end] <= 0:
            return
        first = int(np.flatnonzero(sums[:end] == lowest[end])[-1])
        yield Stretch(first, end)
        evidence[first:end] = -1e6


def evidence_of(scores: Scores) -> Numbers:
    """The logarithm of the odds that a pair is wrong: of wrong pairs 30 % seem good, of others 80 %."""
    odds = np.where(scores.good, np.log(0.3 / 0.8), np.log(0.7 / 0.2))
    return np.where(scores.known, odds, 0.0)


def _fit(scores: Scores, rows: slice) -> str:
    good = scores.good[rows][scores.known[rows]]
    return f"{100 * float(good.mean()) if len(good) else 0:.0f} % of the pairs fit better than other pairs of sides"


def _fault(scores: Scores, rows: Stretch) -> str:
    """What is wrong with a stretch; empty if it is only unusual, such as many translations of the same sentence."""
    known = scores.known[slice(*rows)]
    elsewhere, neighbors = scores.elsewhere[slice(*rows)][known], scores.neighbors[slice(*rows)][known].mean(axis=0)
    if elsewhere.mean() >= RANDOM and neighbors.max() <= SHIFTED:
        return ""
    cause = "was one side sorted, shuffled, or taken from another text?"
    if neighbors.max() > SHIFTED:
        where, side = ("before", "target") if neighbors[0] > neighbors[1] else ("after", "source")
        cause = (
            f"the translation of each source is in the line {where} it: is a line of the {side} side missing, or one "
            "too many on the other side?"
        )
    return f"{_fit(scores, slice(*rows))}; {cause}"


def _lines(sample: Sequence[Pair], rows: Stretch) -> str:
    """`from line 101 on`, or the lines from and to; of segments these are the lines they begin at."""
    first, last = sample[rows.first], sample[rows.end - 1]
    if rows.end >= len(sample) - NEAR_THE_END:
        return "in nearly all lines" if rows.first < NEAR_THE_END else f"from line {first.line:,} on"
    return f"in lines {first.line:,} to {last.line:,}"
