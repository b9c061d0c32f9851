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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.formats.lines import chunks
from limelight.preparation.lexicon import Ids, Lexicon, Numbers, Pieces, learn_lexicon, meet, spread, word_ids
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
RANDOM, SHIFTED = 0.7, 0.7
"""A stretch is wrong if its pairs are better than random ones in fewer than `RANDOM` of the cases, or a neighboring
target is better in more than `SHIFTED`. In clean files, sorted ones too, these are at least 0.80 and at most 0.25; the
second is near 0.5 in shuffled text, and at least 0.8 in text that is shifted by a line."""
CHUNK_PAIRS = 100
"""Pairs whose language is recognized together."""
MIN_SENTENCE_WORDS = 2.5
"""Mean words of a text from which a run on text that is not in its declared languages is refused: in sentences function
words are certain; lists of words, and invented ones, give a warning."""
MIN_DECIDED = 0.5
"""Share of the chunks of a side that must be in a recognized language, and most of these in the same."""
MAX_WRONG = 0.5
"""Training on a file of which more than this share is wrong is refused."""

Flags = npt.NDArray[np.bool_]


class SideCheck(NamedTuple):
    """The result for a corpus."""

    findings: list[str]
    """What is wrong, for display."""
    misaligned: list[range]
    """Stretches of the sample whose sides do not belong together."""
    measured: str = ""
    """How well the sides belong together, for display; empty if that cannot be told."""
    wrong: float = 0.0
    """The share of its pairs that are wrong."""
    languages: tuple[str, str] = ("", "")
    """The languages of the sides, declared or recognized; empty if unknown."""


def draw_sample(pairs: Iterable[Pair], max_blocks: int = MAX_BLOCKS) -> list[Pair]:
    """Blocks of consecutive pairs, evenly from a text of unknown length, whose texts are cut."""
    cut = (Pair(pair.source[:MAX_CHARACTERS], pair.target[:MAX_CHARACTERS], pair.file, pair.line) for pair in pairs)
    return [pair for block in spread(chunks(cut, BLOCK_PAIRS), max_blocks) for pair in block]


def check_sides(sample: Sequence[Pair], name: str, source: str, target: str) -> SideCheck:
    """Check a sample of a corpus; `source` and `target` are the declared languages, empty if they are not known."""
    if not sample:
        return SideCheck([], [])
    sources, targets = [pair.source for pair in sample], [pair.target for pair in sample]
    if contradicted := _contradicted(sources, targets, source, target):
        words = sum(len(text.split()) for text in (*sources, *targets))
        wrong = float(words >= 2 * MIN_SENTENCE_WORDS * len(sample))
        return SideCheck([f"{name}: {contradicted}"], [], wrong=wrong, languages=(source, target))
    findings, misaligned, measured = list[str](), list[range](), ""
    scores = score_pairs(sources, targets)
    if scores.known.sum() >= max(MIN_PAIRS, MIN_KNOWN * len(sample)):
        measured = f"{name}: {_fit(scores, range(len(sample)))}"
        for rows in _doubtful_stretches(scores):
            if fault := _fault(scores, rows):
                lines = f"in lines {sample[rows[0]].line:,} to {sample[rows[-1]].line:,}"
                findings.append(f"{name}: {lines} the sides do not belong together: {fault}")
                misaligned.append(rows)
    wrong = sum(map(len, misaligned)) / len(sample)
    languages = source or _recognized(sources), target or _recognized(targets)
    return SideCheck(findings, misaligned, measured, wrong, languages)


def _contradicted(sources: Sequence[str], targets: Sequence[str], source: str, target: str) -> str:
    """What is wrong if a side cannot be in its declared language; empty otherwise."""
    faults = [
        f"the {side} side, said to be {code}, {fault}"
        for side, code, texts in (("source", source, sources), ("target", target, targets))
        if code and (fault := contradiction(texts, code))
    ]
    if not faults:
        return ""
    swapped = len(faults) == 2 and not contradiction(sources, target) and not contradiction(targets, source)
    advice = "are the sides swapped?" if swapped else "give --source and --target as they are, or other files"
    return f"{'; '.join(faults)}; {advice}"


def _recognized(texts: Sequence[str]) -> str:
    """The language of most of the texts; empty if uncertain."""
    languages = list(map(likely_language, chunks(texts, CHUNK_PAIRS)))
    counts = Counter(filter(None, languages))
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    return best if 2 * count > counts.total() >= MIN_DECIDED * len(languages) else ""


class Scores(NamedTuple):
    """Measurements of each pair of a sample."""

    good: Flags
    """Whether its own target fits at least as well as all others."""
    known: Flags
    """Whether that can be told: its words occur in other pairs, and not all targets fit equally."""
    elsewhere: Numbers
    """Whether its own target fits better than one from elsewhere: 1, or 0.5 if equally well."""
    neighbors: Flags
    """(2, pairs): whether the target of the line before, or after, fits better than its own."""


def score_pairs(sources: Sequence[str], targets: Sequence[str]) -> Scores:
    """Score each pair by what a lexicon of other pairs says of its words."""
    (source_rows, source_words), (target_rows, target_words) = _words_in(sources), _words_in(targets)
    count, sizes = len(target_rows), np.array([len(row) for row in target_rows])
    rows = np.arange(count)
    by_size = np.lexsort((np.random.default_rng(0).random(count), sizes))
    elsewhere = np.empty(count, dtype=np.int64)
    elsewhere[by_size] = np.roll(by_size, 1)
    candidates = rows, np.maximum(rows - 1, 0), np.minimum(rows + 1, count - 1), elsewhere
    gains, known = np.zeros((len(candidates), count)), np.zeros(count, bool)
    has_words = np.array([bool(len(row)) for row in source_rows]) & (sizes > 0)
    parts = PARTS_OF_FEW if count < FEW else PARTS
    part_of = (rows // BLOCK_PAIRS) % parts
    for part in range(parts):
        learned, tested = np.flatnonzero(has_words & (part_of != part)), np.flatnonzero(has_words & (part_of == part))
        if not len(learned) or not len(tested):
            continue
        pairs = [Pieces(source_rows[row], target_rows[row]) for row in learned]
        lexicon = learn_lexicon(pairs, nothing=source_words, classes=target_words, iterations=ITERATIONS)
        counts = np.bincount(np.concatenate([pair.target for pair in pairs]), minlength=target_words)
        shares = np.where(counts >= 2, counts / counts.sum(), 0.0)
        for number, targets_of in enumerate(candidates):
            tried = [Pieces(source_rows[row], target_rows[targets_of[row]]) for row in tested]
            gains[number, tested] = _mean_gains(tried, lexicon, shares)
        known[tested] = [shares[target_rows[row]].any() for row in tested]
    own, others = gains[0], gains[1:]
    return Scores(
        good=own >= others.max(axis=0),
        known=known & (np.ptp(gains, axis=0) > 0),
        elsewhere=np.sign(own - others[2]) / 2 + 0.5,
        neighbors=others[:2] > own,
    )


def _words_in(texts: Sequence[str]) -> tuple[list[Ids], int]:
    """The distinct words of each text as numbers, and how many words there are."""
    ids: dict[str, int] = {}
    rows = word_ids(([word.lower()[:MAX_LETTERS] for word in words_of(text)[:MAX_WORDS]] for text in texts), ids)
    return rows, len(ids)


def _mean_gains(pairs: Sequence[Pieces], lexicon: Lexicon, shares: Numbers) -> Numbers:
    """For each pair the mean of what the words of its target are worth, of words that have a share."""
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


def _doubtful_stretches(scores: Scores) -> Iterator[range]:
    """The disjoint stretches with the most evidence of wrong pairs, at least `MIN_EVIDENCE`, the largest first.

    The evidence of a pair is the logarithm of the odds that it is wrong: of wrong pairs 30 % seem good, of others 80 %.
    """
    evidence = np.where(scores.known, np.where(scores.good, np.log(0.3 / 0.8), np.log(0.7 / 0.2)), 0.0)
    for _ in range(MAX_STRETCHES):
        sums = np.concatenate([[0.0], np.cumsum(evidence)])
        lowest = np.minimum.accumulate(sums)
        end = int((sums - lowest).argmax())
        if sums[end] - lowest[end] < MIN_EVIDENCE:
            return
        first = int(np.flatnonzero(sums[:end] == lowest[end])[-1])
        yield range(first, end)
        evidence[first:end] = -1e6


def _fit(scores: Scores, rows: range) -> str:
    good = scores.good[rows][scores.known[rows]]
    return f"{100 * float(good.mean()) if len(good) else 0:.0f} % of the pairs fit better than other pairs of sides"


def _fault(scores: Scores, rows: range) -> str:
    """What is wrong with a stretch; empty if it is only unusual, such as many translations of the same sentence."""
    known = rows.start + np.flatnonzero(scores.known[rows])
    before, after = scores.neighbors[:, known].mean(axis=1)
    if max(before, after) > SHIFTED:
        where, side = ("before", "target") if before > after else ("after", "source")
        cause = (
            f"the translation of each source is in the line {where} it: is a line of the {side} side missing, or one "
            "too many on the other side?"
        )
    elif scores.elsewhere[known].mean() < RANDOM:
        cause = "was one side sorted, shuffled, or taken from another text?"
    else:
        return ""
    return f"{_fit(scores, rows)}; {cause}"
