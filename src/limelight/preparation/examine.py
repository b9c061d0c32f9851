"""Faults of parallel text, for people who will train on it: `limelight doctor FILES` reports them, `limelight clean`
removes them.

Training only warns of them: a few do little harm, and most of a file being wrong stops it (`sides.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from limelight.config import Corpus, DataConfig, known_languages, sides_of
from limelight.errors import counted, shown
from limelight.formats import read_pairs
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import find_overlap
from limelight.preparation.sides import check_sides, draw_sample, is_foreign, is_swapped
from limelight.text.clean import REASONS, CleanReport, clean, encoding_damage
from limelight.text.marking import without_marks
from limelight.text.pair import BadLine, Pair

MIN_COPIED = 3
"""Words of a text that is its own translation: fewer may be names."""
WINDOW = 100_000
"""Pairs whose stretches are checked together: they bound the memory."""
EXAMPLES = 2
FEW, ENOUGH = 2_000, 20_000
"""Pairs below which a model of its own is poor, and from which it is not."""


class Stretches(NamedTuple):
    """Faults of stretches of a text."""

    misaligned: set[int]
    """Numbers, from 0, of the pairs whose sides do not belong together."""
    lines: list[str]
    """The findings and how well the sides belong together, for display."""
    languages: tuple[str, str]
    """Declared or detected; empty if unknown."""
    total: int
    """Pairs that were read."""


def stretches_of(corpus: Corpus, on_bad_line: Callable[[BadLine], None]) -> Stretches:
    """What is wrong with stretches of a corpus, `WINDOW` pairs at a time; lines that cannot be read, and segments that
    are not used, go to `on_bad_line`."""
    pairs = read_pairs(corpus.files, *sides_of(corpus), on_bad_line=on_bad_line, on_unused=on_bad_line)
    misaligned, lines, measured, total = set[int](), list[str](), list[str](), 0
    languages = known_languages(corpus)
    while some := list(islice(pairs, WINDOW)):
        check = check_sides(draw_sample(some, most=WINDOW), " + ".join(corpus.files), *languages)
        for rows in check.misaligned:
            misaligned.update(range(total + rows.first, total + rows.end))
        lines += check.findings
        measured += filter(None, [check.measured])
        languages = (languages[0] or check.languages[0], languages[1] or check.languages[1])
        total += len(some)
    return Stretches(misaligned, lines + measured[:1], languages, total)


def usable_pairs(checked: Sequence[tuple[Corpus, Stretches]], report: CleanReport) -> Iterator[Pair]:
    """The pairs of all corpora that are worth training on, by the settings of training; inline codes are marks."""
    settings, seen = DataConfig(), set[int]()
    for corpus, stretches in checked:
        pairs = read_pairs(corpus.files, *sides_of(corpus), marks=True, on_bad_line=lambda line: None)
        faults = Faults(pairs, stretches, seen)
        yield from clean(
            faults,
            report,
            max_characters=settings.max_characters,
            max_length_ratio=settings.max_length_ratio,
            drop_duplicates=True,
            drop_identical=True,
            fault=faults.of,
        )


class Faults:
    """The pairs of a text, and the fault of the pair that was read last."""

    def __init__(self, pairs: Iterable[Pair], stretches: Stretches, seen: set[int]) -> None:
        """`seen` are hashes of the pairs of all texts."""
        self._pairs, self._stretches, self._seen = pairs, stretches, seen
        self._number = -1

    def __iter__(self) -> Iterator[Pair]:
        for pair in self._pairs:
            self._number += 1
            yield pair

    def of(self, pair: Pair) -> str:
        """One of `REASONS` of `text/clean.py`; empty for a good pair."""
        return next(self._reasons(pair), "")

    def _reasons(self, pair: Pair) -> Iterator[str]:
        sides, languages = (pair.source, pair.target), self._stretches.languages
        is_copy = _is_copy(*sides)  # its text is in the language of one side at most
        if is_copy:
            yield "identical"
        if any(map(encoding_damage, sides)):
            yield "encoding"
        if is_swapped(pair, languages):
            yield "swapped"
        if not is_copy and is_foreign(pair, languages):
            yield "language"
        if self._number in self._stretches.misaligned:
            yield "misaligned"
        signs = "\0".join("".join(filter(str.isalnum, text.casefold())) for text in sides)
        key = int.from_bytes(blake2b(signs.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        if key in self._seen:
            yield "near_duplicate"
        self._seen.add(key)


def _is_copy(source: str, target: str) -> bool:
    """Whether a text of some words is its own translation, apart from case and spaces."""
    words = source.casefold().split()
    return len(words) >= MIN_COPIED and words == target.casefold().split() and any(map(str.isalpha, source))


@dataclass
class Report:
    """The result of an examination."""

    lines: list[str] = field(default_factory=list)
    """For display."""
    total: int = 0
    usable: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    """Pairs to be removed, by the `REASONS` of `text/clean.py`."""
    leaked: int = 0
    """Test pairs whose source is in the training text."""


def examine(corpora: Sequence[Corpus], tests: Sequence[Corpus] = ()) -> Report:
    """Examine training text, and whether it has pairs of the test text. Raises `UserError` for text that cannot be read
    at all."""
    report, bad = Report(), dict[str, list[BadLine]]()
    checked: list[tuple[Corpus, Stretches]] = []
    for corpus in corpora:
        report.lines += doubts(corpus.files, *sides_of(corpus))
        stretches = stretches_of(corpus, lambda line: bad.setdefault(line.kind, []).append(line))
        checked.append((corpus, stretches))
        spoken = " to ".join(each or "an unknown language" for each in stretches.languages)
        report.lines.append(f"{' + '.join(corpus.files)}: {stretches.total:,} pairs, {spoken}")
        report.lines += stretches.lines
    for kind, lines in bad.items():
        first = lines[0]
        report.lines.append(f"skipped {counted(len(lines), 'line')}: {kind} (first: {first.file}:{first.line})")
    examples: dict[str, list[Pair]] = {words: [] for words in REASONS.values()}
    cleaned = CleanReport(on_left_out=lambda pair, words: examples[words].append(pair))
    held = [pair for each in tests for pair in read_pairs(each.files, *sides_of(each), on_bad_line=lambda line: None)]
    leaked = find_overlap((pair.source for pair in usable_pairs(checked, cleaned)), held)
    report.total, report.usable = cleaned.total, cleaned.kept
    report.faults = {reason: count for reason, count in cleaned.dropped.items() if count}
    for reason, count in report.faults.items():
        report.lines.append(f"{counted(count, 'pair')}: {REASONS[reason]}")
        report.lines += map(_example, examples[REASONS[reason]][:EXAMPLES])
    if cleaned.dropped["identical"] == cleaned.total > 0:
        report.lines.append(IDENTICAL)
    if tests:
        report.leaked = len(leaked)
        advice = ": scores on them say nothing about new text; remove them from one of the two" * bool(leaked)
        report.lines.append(f"{len(leaked):,} of {len(held):,} test pairs have a source of the training text{advice}")
        report.lines += map(_example, leaked[:EXAMPLES])
    report.lines.append(_usable(report))
    return report


def _example(pair: Pair) -> str:
    sides = (without_marks(side) if pair.marked else side for side in (pair.source, pair.target))
    return "    " + f"{pair.place}: " + " | ".join(shown(side, 60) for side in sides)


def _usable(report: Report) -> str:
    share = 100 * report.usable / max(report.total, 1)
    line = f"usable: {report.usable:,} of {report.total:,} pairs ({share:.0f} %)"
    if report.usable < FEW:
        return line + (
            "; too few for a model of its own: begin with an existing model (`limelight train --from MODEL`), or make "
            "more pairs from documents (`limelight pair`)"
        )
    if report.usable < ENOUGH:
        line += "; enough to adapt an existing model (`--from MODEL`), few for a model of its own"
    return line
