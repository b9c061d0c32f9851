"""What is wrong with parallel text, in words for people who will train on it: `limelight doctor FILES`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from limelight.batching.overlap import fold
from limelight.config import Corpus, known_languages
from limelight.errors import shown
from limelight.preparation.faults import Stretches, stretches_of, usable_pairs
from limelight.text.clean import CleanReport
from limelight.text.doubts import doubts
from limelight.text.marks import without_marks
from limelight.text.pair import BadLine, Pair
from limelight.text.readers import read_pairs

EXAMPLES = 2
_DIGITS = re.compile(r"\d+")
_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,20}(?:\s[^<>]{0,200})?/?>")
MANY, SHARE = 20, 0.01
"""A source is boilerplate if it occurs so often, and is so large a share of the text; numbers make no difference."""
MAX_KEYS = 1_000_000
"""Different sources that are counted."""
FEW, ENOUGH = 2_000, 20_000
"""Pairs below which a model of its own is poor, and from which it is not."""


@dataclass
class Report:
    """What was found."""

    lines: list[str] = field(default_factory=list)
    """For display."""
    total: int = 0
    usable: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    """Pairs to be removed, by the `REASONS` of `text/clean.py`."""
    leaked: int = 0
    """Test pairs that are in the training text."""


def examine(corpora: Sequence[Corpus], tests: Sequence[Corpus] = ()) -> Report:
    """Examine training text, and whether it has pairs of the test text. Raises `UserError` for text that cannot be read
    at all."""
    report, bad = Report(), list[BadLine]()
    checked: list[tuple[Corpus, Stretches]] = []
    for corpus in corpora:
        name, languages = " + ".join(corpus.files), known_languages(corpus)
        report.lines += doubts(corpus.files, *languages, languages=False)
        stretches = stretches_of(corpus, bad.append)
        checked.append((corpus, stretches))
        spoken = " to ".join(each or "an unknown language" for each in stretches.languages)
        report.lines.append(f"{name}: {stretches.total:,} pairs, {spoken}")
        report.lines += [f"{finding.text}" for finding in stretches.findings]
        report.lines += stretches.measured[:1]
    report.lines += _unreadable(bad)
    examples: dict[str, list[Pair]] = {}
    clean = CleanReport(on_left_out=lambda pair, reason: _keep(examples, reason, pair))
    looked_for = _Tests(tests)
    repeated, unbalanced = Counter[int](), list[Pair]()
    for pair in usable_pairs(checked, clean):
        looked_for.look(pair)
        key = hash(_DIGITS.sub("0", fold(pair.source)))
        if key in repeated or len(repeated) < MAX_KEYS:
            repeated[key] += 1
        if not pair.marked and sorted(_TAG.findall(pair.source)) != sorted(_TAG.findall(pair.target)):
            unbalanced.append(pair)
    report.total, report.usable = clean.total, clean.kept
    report.faults = {reason: count for reason, count in clean.dropped.items() if count}
    report.lines += _of_faults(clean, examples)
    report.lines += _boilerplate(repeated, clean.kept)
    if unbalanced:
        report.lines.append(f"{len(unbalanced):,} pairs have other tags in the target than in the source:")
        report.lines += map(_example, unbalanced[:EXAMPLES])
    report.leaked = looked_for.count()
    report.lines += looked_for.lines()
    report.lines.append(_usable(report))
    return report


def _keep(examples: dict[str, list[Pair]], reason: str, pair: Pair) -> None:
    some = examples.setdefault(reason, [])
    if len(some) < EXAMPLES:
        some.append(pair)


def _example(pair: Pair) -> str:
    sides = (without_marks(side) if pair.marked else side for side in (pair.source, pair.target))
    return "    " + f"{pair.place}: " + " | ".join(shown(side, 60) for side in sides)


def _unreadable(bad: Sequence[BadLine]) -> Iterator[str]:
    for kind, count in Counter(line.kind for line in bad).most_common():
        first = next(line for line in bad if line.kind == kind)
        yield f"{count:,} lines are not used: {kind} (first: {first.file}:{first.line})"


def _of_faults(clean: CleanReport, examples: dict[str, list[Pair]]) -> Iterator[str]:
    from limelight.text.clean import REASONS

    for reason, words in REASONS.items():
        if clean.dropped[reason]:
            yield f"{clean.dropped[reason]:,} pairs: {words}"
            yield from map(_example, examples[words])


def _boilerplate(repeated: Counter[int], total: int) -> Iterator[str]:
    count = repeated.most_common(1)[0][1] if repeated else 0
    if count >= max(MANY, SHARE * total):
        yield (
            f"one source is {count:,} of {total:,} pairs, apart from its numbers: text that repeats itself teaches "
            "little, and makes test scores look better than they are"
        )


class _Tests:
    """Which test pairs are in the training text."""

    def __init__(self, tests: Sequence[Corpus]) -> None:
        self.pairs = [
            pair for corpus in tests for pair in read_pairs(corpus.files, *known_languages(corpus), on_bad_line=_pass)
        ]
        self._keys = [hash((fold(pair.source), fold(pair.target))) for pair in self.pairs]
        self._wanted, self._found = set(self._keys), set[int]()

    def look(self, pair: Pair) -> None:
        """Look at a training pair."""
        key = hash((fold(pair.source), fold(pair.target))) if self._wanted else 0
        if key in self._wanted:
            self._found.add(key)

    def count(self) -> int:
        """The test pairs that were found."""
        return sum(key in self._found for key in self._keys)

    def lines(self) -> Iterator[str]:
        """For display."""
        if self.pairs:
            yield (
                f"{self.count():,} of {len(self.pairs):,} test pairs are in the training text"
                + ": scores on them say nothing about new text; remove them from one of the two" * bool(self._found)
            )
            found = (pair for pair, key in zip(self.pairs, self._keys, strict=True) if key in self._found)
            yield from (_example(pair) for pair, _ in zip(found, range(EXAMPLES), strict=False))


def _pass(_line: BadLine) -> None:
    """A bad line of a test file is reported where that is used."""


def _usable(report: Report) -> str:
    share = 100 * report.usable / max(report.total, 1)
    line = f"usable: {report.usable:,} of {report.total:,} pairs ({share:.0f} %)"
    if report.usable < FEW:
        line += (
            "; too few for a model of its own: begin with an existing model (`limelight train --from MODEL`), or make "
            "more pairs from documents (`limelight pair`)"
        )
    elif report.usable < ENOUGH:
        line += "; enough to adapt an existing model (`--from MODEL`), few for a model of its own"
    return line
