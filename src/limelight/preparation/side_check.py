"""Text on which training cannot succeed, found before training: sides that do not belong together, or in another
language than the rest of the file, with the lines where that begins and ends.

Models of a shifted or swapped file train without any error and translate nothing. The whole file is looked at, in
blocks evenly from all of it; `side_scores.py` compares the sides, `text/languages.py` the languages.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from limelight.preparation.side_scores import (
    Flags,
    Sample,
    Scores,
    Stretch,
    Words,
    evidence_of,
    score_pairs,
    share,
    stretches,
    words_in,
)
from limelight.text.doubts import of_languages
from limelight.text.languages import contradiction, language_margin, likely_language, normal_code

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
MAX_FINDINGS = 5
MAX_WRONG = 0.5
"""Training on a file of which more than this share is wrong is refused."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a stretch of a file."""

    text: str
    rows: Stretch


@dataclass(frozen=True, slots=True)
class SideCheck:
    """What was found about a corpus."""

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
        return SideCheck([Finding(each, everything) for each in declared], wrong=wrong, languages=(source, target))
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
            yield Finding(f"{name}: {_lines(sample, rows)} {told}; {advice}", rows)


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
