"""Text on which training cannot succeed, found before training: sides that do not belong together, or are in another
language than the rest of the file, with the lines where that begins and ends.

Models of a shifted or swapped file train without any error and translate nothing. The whole file is sampled in evenly
spaced blocks. IBM Model 1 (`lexicon.py`) is learned from one part of the sample, and the other part is scored with it.
A word of the target is worth `log((0.9 t + 0.1 p) / p)`: t is its probability given the best word of the source, p its
share of all words. A pair is good if its mean is at least that of its source with the targets of the two neighboring
lines, and with a target of similar length from elsewhere. Of random pairs a quarter is good, of clean text 80 to 99 %:
no threshold depends on the languages or on the text. `text/languages.py` compares the languages.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.preparation.doubts import of_languages
from limelight.preparation.lexicon import Ids, Lexicon, Pieces, learn_lexicon, word_ids
from limelight.text.judge import contradiction, language_margin, likely_language
from limelight.text.languages import normal_code
from limelight.text.pair import Pair
from limelight.text.words import words_of

BLOCK_PAIRS = 20
"""Consecutive pairs that are drawn together, so that most have their neighbors in the sample."""
MAX_BLOCKS = 200
"""Blocks of a sample; between half of them and all are used."""
MAX_CHARACTERS, MAX_WORDS = 400, 20
"""Maximum characters of each text in a sample: they bound memory and time."""
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
    """Measurements of each pair of a sample."""

    good: Flags
    """Whether its own target fits at least as well as all others."""
    known: Flags
    """Whether that can be told: its words occur in other pairs, and not all targets fit equally."""
    partners: Numbers
    """Number of its target words that have a partner."""
    counted: Numbers
    """Number of its target words that are known."""
    shuffled: Numbers
    """Number of the known words of another target that have a partner."""
    elsewhere: Numbers
    """Whether its own target fits better than one from elsewhere: 1, or 0.5 if equally well."""
    before: Flags
    """Whether the target of the line before fits better than its own."""
    after: Flags
    """The same for the next line."""


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
        texts = (words_of(getattr(pair, name))[:MAX_WORDS] for pair in sample.pairs)
        rows, numbers = word_ids([word.lower()[:MAX_LETTERS] for word in words] for words in texts)
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


MIN_PAIRS = 150
"""Pairs of a sample that can be judged; with fewer nothing is said about whether the sides belong together."""
MIN_KNOWN = 0.3
"""Their share of the sample: a text whose words hardly recur cannot be judged."""
MIN_EVIDENCE = 20.0
"""Natural logarithm of the odds against a stretch: about 35 wrong pairs of a sample."""
RANDOM, SHIFTED, PARTNERS = 0.7, 0.55, 0.5
"""A stretch is wrong if its pairs are better than random ones in fewer than `RANDOM` of the cases, or a neighboring
target is better in more than `SHIFTED`, or fewer words than `PARTNERS` have a partner. In clean files, sorted ones too,
these are at least 0.80, at most 0.25, and at least 0.62."""
IS_SHIFT = 0.6
"""Share of good pairs with the target of a neighboring line for which the sides are said to be shifted."""
CHUNK_PAIRS, CHUNK_WORDS = 50, 500
"""At least so much text of a sample is judged by its language at a time."""
MIN_SENTENCE_WORDS = 2.5
"""Mean words of a text from which a run on text that is not in its declared languages is refused: in sentences function
words are certain; lists of words, and invented ones, give a warning."""
MIN_DECIDED = 0.5
"""Share of the chunks of a side that must be in a recognized language, and most of these in the same."""
MIN_MARGIN = 40.0
"""Words of another language, more than of the side's own, in a stretch of it."""
NEAR_THE_END = 10
"""So many rows from an end of the sample a stretch is said to reach it."""
MAX_WRONG = 0.5
"""Training on a file of which more than this share is wrong is refused."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a stretch of a file."""

    text: str
    rows: Stretch
    kind: str = "misaligned"
    """One of the `REASONS` of `text/clean.py`: `misaligned`, `language` or `swapped`."""


@dataclass(frozen=True, slots=True)
class SideCheck:
    """The result for a corpus."""

    findings: list[Finding] = field(default_factory=list)
    measured: str = ""
    """How well the sides belong together, for display; empty if that cannot be told."""
    wrong: float = 0.0
    """The share of its pairs that are wrong."""
    languages: tuple[str, str] = ("", "")
    """The languages of the sides, declared or recognized; empty if unknown."""


def check_sides(sample: Sample, name: str, source: str = "", target: str = "") -> SideCheck:
    """Check a sample of a corpus; `source` and `target` are the declared languages, empty where there are none."""
    if not sample.pairs:
        return SideCheck()
    declared = list(of_languages(sample.pairs, name, source, target))
    if declared:
        everything = Stretch(0, len(sample.pairs))
        count = sum(len(text.split()) for pair in sample.pairs for text in (pair.source, pair.target))
        wrong = float(count >= 2 * MIN_SENTENCE_WORDS * len(sample.pairs))
        return SideCheck(
            [Finding(each, everything, "language") for each in declared], wrong=wrong, languages=(source, target)
        )
    chunks = _chunks(sample)
    languages = _language_of(sample, "source", source, chunks), _language_of(sample, "target", target, chunks)
    findings = list(_of_languages(sample, name, languages, chunks))
    measured = ""
    if len(sample.pairs) >= MIN_PAIRS:
        words = words_in(sample)
        scores = score_pairs(words)
        if scores.known.sum() >= max(MIN_PAIRS, MIN_KNOWN * len(sample.pairs)):
            shuffled = 100 * share(scores.shuffled, scores.counted)
            measured = f"{name}: {_percent(scores, slice(None))} of the words find a partner on the other side"
            measured += f", {shuffled:.0f} % in shuffled pairs"
            strange = _mask(sample, findings)
            unrelated = _of_sides(sample, name, words, scores)
            findings += [each for each in unrelated if strange[slice(*each.rows)].mean() < MAX_WRONG]
    wrong = float(_mask(sample, findings).mean())
    return SideCheck(sorted(findings, key=lambda each: each.rows), measured, wrong, languages)


def _mask(sample: Sample, findings: Sequence[Finding]) -> Flags:
    """The rows of a sample that a finding is about."""
    mask = np.zeros(len(sample.pairs), dtype=bool)
    for each in findings:
        mask[slice(*each.rows)] = True
    return mask


def _percent(scores: Scores, rows: slice | Flags) -> str:
    return f"{100 * share(scores.partners, scores.counted, rows):.0f} %"


def _of_sides(sample: Sample, name: str, words: Words, scores: Scores) -> Iterator[Finding]:
    """Stretches whose sides do not belong together."""
    found = [
        each for each in stretches(evidence_of(scores.good, scores.known), MIN_EVIDENCE) if _is_wrong(scores, each)
    ]
    shifted = {step: score_pairs(words, offset=step) for step in (-1, 1)} if found else {}
    bad = np.zeros(len(sample.pairs), dtype=bool)
    for each in found:
        bad[slice(*each)] = True
    for each in found:
        step = _shift(shifted, each)
        rows = _refined(shifted[step], each) if step else each
        if step < 0:
            rows = rows._replace(first=max(0, rows.first - 1))  # the row whose target is missing has no other one
        text = f"{name}: {_lines(sample, rows)} the sides do not belong together: "
        text += f"{_percent(scores, slice(*rows))} of the words find a partner, "
        text += f"{100 * share(scores.shuffled, scores.counted, slice(*rows)):.0f} % in shuffled pairs"
        if bad.mean() < MAX_WRONG:
            text += f", {_percent(scores, ~bad)} in the other lines"
        first = sample.pairs[rows.first].line
        if step:
            where, what = ("before", "target") if step < 0 else ("after", "source")
            text += (
                f"; the translation of each source is in the line {where} it: is a line of the {what} side missing at "
                f"line {first:,}, or one too many on the other side?"
            )
        else:
            text += "; was one side sorted, shuffled, or taken from another text?"
        yield Finding(text, rows)


def _is_wrong(scores: Scores, rows: Stretch) -> bool:
    """Whether a stretch is wrong rather than unusual, such as many translations of the same sentence."""
    these = np.zeros(len(scores.known), dtype=bool)
    these[slice(*rows)] = True
    these &= scores.known
    neighbors = max(scores.before[these].mean(), scores.after[these].mean())
    partners = share(scores.partners, scores.counted, these)
    return bool(scores.elsewhere[these].mean() < RANDOM or neighbors > SHIFTED or partners < PARTNERS)


def _shift(shifted: dict[int, Scores], rows: Stretch) -> int:
    """The offset at which the targets of a stretch are; 0 if it is none of those that were tried."""
    rates = {step: each.good[slice(*rows)][each.known[slice(*rows)]] for step, each in shifted.items()}
    shares = {step: float(each.mean()) if len(each) else 0.0 for step, each in rates.items()}
    best = max(shares, key=lambda step: shares[step])
    return best if shares[best] >= IS_SHIFT else 0


def _refined(shifted: Scores, rows: Stretch) -> Stretch:
    """The part of a stretch that is shifted: if most of a file is, its beginning seemed wrong too."""
    inside = -evidence_of(shifted.good, shifted.known)[slice(*rows)]
    best = next(stretches(inside, 0.0, most=1), Stretch(0, len(inside)))
    return Stretch(rows.first + best.first, rows.first + best.end)


def _lines(sample: Sample, rows: Stretch) -> str:
    """`from line 101 on`, or the lines from and to; of segments these are the lines they begin at."""
    first, last = sample.pairs[rows.first], sample.pairs[rows.end - 1]
    if rows.end >= len(sample.pairs) - NEAR_THE_END:
        return "in all lines" if rows.first < NEAR_THE_END else f"from line {first.line:,} on"
    return f"in lines {first.line:,} to {last.line:,}"


def _chunks(sample: Sample) -> list[Stretch]:
    """Consecutive rows with enough text to recognize a language."""
    found, first, words = [], 0, 0
    for row, pair in enumerate(sample.pairs):
        words += min(len(pair.source), len(pair.target)) // 6
        if row - first + 1 >= CHUNK_PAIRS and words >= CHUNK_WORDS:
            found.append(Stretch(first, row + 1))
            first, words = row + 1, 0
    return found or [Stretch(0, len(sample.pairs))]


def _texts(sample: Sample, side: str, rows: Stretch) -> list[str]:
    return [getattr(pair, side) for pair in sample.pairs[slice(*rows)]]


def _language_of(sample: Sample, side: str, declared: str, chunks: Sequence[Stretch]) -> str:
    """The declared language of a side, or the recognized one of most of its chunks; empty if uncertain."""
    if declared:
        return declared
    counts = Counter(filter(None, _chunk_languages(sample, side, chunks)))
    best, count = counts.most_common(1)[0] if counts else ("", 0)
    return best if 2 * count > counts.total() >= MIN_DECIDED * len(chunks) else ""


def _chunk_languages(sample: Sample, side: str, chunks: Sequence[Stretch]) -> list[str]:
    """The language of each chunk of a side; empty if uncertain. A chunk that could be in many languages is in one that
    some chunk of the file is certainly in, if it is much more like that one than like the others of these."""
    certain = {
        each: [likely_language(_texts(sample, each, chunk)) for chunk in chunks] for each in ("source", "target")
    }
    known = set(filter(None, certain["source"] + certain["target"]))

    def nearest(chunk: Stretch) -> str:
        text = " ".join(_texts(sample, side, chunk))
        for one in known if len(known) > 1 else ():
            if all(language_margin(text, one, other) >= MIN_MARGIN for other in known - {one}):
                return one
        return ""

    return [found or nearest(chunk) for found, chunk in zip(certain[side], chunks, strict=True)]


def _of_languages(
    sample: Sample, name: str, languages: tuple[str, str], chunks: Sequence[Stretch]
) -> Iterator[Finding]:
    """Stretches in which a side is in another language than in the rest of the file."""
    others = (
        _other_language(sample, "source", languages[0], chunks),
        _other_language(sample, "target", languages[1], chunks),
    )
    source, target = languages
    swapped = (target, source)
    candidates = [swapped] if all(languages) and any(map(_equal, others, swapped)) else []
    candidates += [(others[0], ""), ("", others[1])]
    seen = np.zeros(len(sample.pairs), dtype=bool)
    for theirs in filter(any, candidates):
        margins = np.where(seen, 0, _margins(sample, languages, theirs))
        for rows in stretches(np.clip(margins, -5, 5).astype(np.float64), MIN_MARGIN):
            sides = [
                (side, code, there)
                for side, code, there in zip(("source", "target"), languages, theirs, strict=True)
                if there and contradiction(_texts(sample, side, rows), code)
            ]
            if not sides or seen[slice(*rows)].mean() > MAX_WRONG:
                continue
            seen[slice(*rows)] = True
            told = "; ".join(
                f"the {side} side looks like {there}, elsewhere like {code}" for side, code, there in sides
            )
            advice = "are the sides swapped there?" if theirs == swapped else "are these lines of another text?"
            kind = "swapped" if theirs == swapped else "language"
            yield Finding(f"{name}: {_lines(sample, rows)} {told}; {advice}", rows, kind)


def _equal(one: str, other: str) -> bool:
    return normal_code(one) == normal_code(other)


def _other_language(sample: Sample, side: str, language: str, chunks: Sequence[Stretch]) -> str:
    """The most frequent language of the chunks of a side that are certainly not in its own; empty if there are none."""
    if not language:
        return ""
    texts = (_texts(sample, side, chunk) for chunk in chunks)
    found = Counter(filter(None, (likely_language(some) for some in texts if contradiction(some, language))))
    return found.most_common(1)[0][0] if found else ""


def _margins(sample: Sample, ours: tuple[str, str], theirs: tuple[str, str]) -> npt.NDArray[np.int64]:
    """For each row, how much its texts speak for the other languages rather than for those of their sides."""
    rows = [
        sum(
            language_margin(text, there, here)
            for text, here, there in zip((pair.source, pair.target), ours, theirs, strict=True)
            if there
        )
        for pair in sample.pairs
    ]
    return np.array(rows, dtype=np.int64)
