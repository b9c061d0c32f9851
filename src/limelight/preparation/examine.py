"""Faults of parallel text, for people who will train on it: `limelight doctor FILES` reports them, `limelight clean`
removes them.

Training only warns of them: a few do little harm, and most of a file being wrong stops it (`sides.py`).
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from limelight.config import Corpus, DataConfig, known_languages, sides_of
from limelight.errors import counted, shown
from limelight.formats import read_pairs
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import Overlap, OverlapSearch, fold
from limelight.preparation.sides import Finding, check_sides, draw_sample
from limelight.text.clean import CleanReport, clean, encoding_damage
from limelight.text.judge import foreign_language, language_margin
from limelight.text.marking import without_marks
from limelight.text.pair import BadLine, Pair

MIN_SWAPPED = 3
MIN_COPIED = 3
WINDOW = 100_000
"""Pairs whose stretches are checked together: they bound the memory."""


class Stretches(NamedTuple):
    """Faults of stretches of a text."""

    reasons: dict[int, str]
    """For each pair of a wrong stretch, by its number from 0: one of the `REASONS` of `text/clean.py`."""
    findings: list[Finding]
    measured: list[str]
    """How well the sides belong together, for display."""
    languages: tuple[str, str]
    """Declared or detected; empty if unknown."""
    total: int
    """Pairs that were read."""


def find_stretches(pairs: Iterable[Pair], name: str, source: str, target: str) -> Stretches:
    """Check all of a text, `WINDOW` pairs at a time."""
    found = Stretches({}, [], [], (source, target), 0)
    stream = iter(pairs)
    while some := list(islice(stream, WINDOW)):
        check = check_sides(draw_sample(some, most=WINDOW), name, *found.languages)
        for each in check.findings:
            rows = range(found.total + each.rows.first, found.total + each.rows.end)
            found.reasons.update(dict.fromkeys(rows, each.kind))
        found.findings.extend(check.findings)
        found.measured.extend(filter(None, [check.measured]))
        languages = tuple(old or new for old, new in zip(found.languages, check.languages, strict=True))
        found = found._replace(languages=(languages[0], languages[1]), total=found.total + len(some))
    return found


def stretches_of(corpus: Corpus, on_bad_line: Callable[[BadLine], None]) -> Stretches:
    """What is wrong with stretches of a corpus; lines that cannot be read, and segments that are not used, go to
    `on_bad_line`."""
    languages = known_languages(corpus)
    pairs = read_pairs(corpus.files, *sides_of(corpus), on_bad_line=on_bad_line, on_unused=on_bad_line)
    return find_stretches(pairs, " + ".join(corpus.files), *languages)


def usable_pairs(
    checked: Sequence[tuple[Corpus, Stretches]], report: CleanReport, keep: Collection[str] = ()
) -> Iterator[Pair]:
    """The pairs of all corpora that are worth training on, by the settings of training; inline codes are marks.

    `keep` are reasons for which nothing is removed.
    """
    settings, faults = DataConfig(), Faults(keep)
    for corpus, stretches in checked:
        pairs = read_pairs(corpus.files, *sides_of(corpus), marks=True, on_bad_line=lambda line: None)
        yield from clean(
            faults.numbered(pairs, stretches),
            report,
            max_characters=sys.maxsize if "too_long" in keep else settings.max_characters,
            max_length_ratio=math.inf if "length_ratio" in keep else settings.max_length_ratio,
            drop_duplicates="duplicate" not in keep,
            drop_identical="identical" not in keep,
            fault=faults.fault,
        )


class Faults:
    """Finds the fault of each pair of texts, in their order; `fault` is that of `clean`.

    A pair is known by its number, so what `clean` reads must come from `numbered`.
    """

    def __init__(self, keep: Iterable[str] = ()) -> None:
        """`keep` are the reasons for which nothing is removed."""
        self._keep = frozenset(keep)
        self._stretches = Stretches({}, [], [], ("", ""), 0)
        self._number = -1
        self._seen: set[int] = set()

    def numbered(self, pairs: Iterable[Pair], stretches: Stretches) -> Iterator[Pair]:
        """The pairs of a text, counted as they pass."""
        self._stretches = stretches
        for self._number, pair in enumerate(pairs):
            yield pair

    def fault(self, pair: Pair) -> str:
        """One of `REASONS` of `text/clean.py`; empty for a good pair."""
        return next((reason for reason, holds in self._tests(pair) if reason not in self._keep and holds()), "")

    def _tests(self, pair: Pair) -> list[tuple[str, Callable[[], bool]]]:
        stretch = self._stretches.reasons.get(self._number, "")
        languages = self._stretches.languages
        sides = pair.source, pair.target
        is_copy = _is_copy(pair.source, pair.target)  # its text is in the language of one side at most
        tests: list[tuple[str, Callable[[], bool]]] = [
            ("identical", lambda: is_copy),
            ("encoding", lambda: bool(encoding_damage(pair.source) or encoding_damage(pair.target))),
            ("swapped", lambda: _is_swapped(sides, languages)),
            ("language", lambda: not is_copy and _is_foreign(sides, languages)),
        ]
        if stretch:
            tests.append((stretch, lambda: True))
        return [*tests, ("near_duplicate", lambda: self._seen_before(pair))]

    def _seen_before(self, pair: Pair) -> bool:
        sides = ("".join(filter(str.isalnum, text.casefold())) for text in (pair.source, pair.target))
        digest = blake2b("\0".join(sides).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        key = int.from_bytes(digest, "little")
        before = key in self._seen
        self._seen.add(key)
        return before


def _is_foreign(sides: tuple[str, str], languages: tuple[str, str]) -> bool:
    """Whether a side is in another language than its own."""
    return any(code and foreign_language(text, [code]) for text, code in zip(sides, languages, strict=True))


def _is_copy(source: str, target: str) -> bool:
    """Whether a text of some words is its own translation, apart from case and spaces."""
    words = source.casefold().split()
    return len(words) >= MIN_COPIED and words == target.casefold().split() and any(map(str.isalpha, source))


def _is_swapped(sides: tuple[str, str], languages: tuple[str, str]) -> bool:
    """Whether both sides are more like the language of the other one, by at least `MIN_SWAPPED` words or letters."""
    if not all(languages):
        return False
    source, target = languages
    margins = language_margin(sides[0], target, source), language_margin(sides[1], source, target)
    return min(margins) > 0 and sum(margins) >= MIN_SWAPPED


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
    """The result of an examination."""

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
        name = " + ".join(corpus.files)
        report.lines += doubts(corpus.files, *sides_of(corpus), languages=False)
        stretches = stretches_of(corpus, bad.append)
        checked.append((corpus, stretches))
        spoken = " to ".join(each or "an unknown language" for each in stretches.languages)
        report.lines.append(f"{name}: {stretches.total:,} pairs, {spoken}")
        report.lines += [f"{finding.text}" for finding in stretches.findings]
        report.lines += stretches.measured[:1]
    report.lines += _unreadable(bad)
    examples: dict[str, list[Pair]] = {}
    clean = CleanReport(on_left_out=lambda pair, reason: _keep(examples, reason, pair))
    search = OverlapSearch(
        [pair for corpus in tests for pair in read_pairs(corpus.files, *sides_of(corpus), on_bad_line=_pass)]
    )
    repeated, unbalanced = Counter[int](), list[Pair]()
    for pair in usable_pairs(checked, clean):
        search.look(pair.source, pair.target)
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
        have = f"{counted(len(unbalanced), 'pair')} {'has' if len(unbalanced) == 1 else 'have'}"
        report.lines.append(f"{have} other tags in the target than in the source:")
        report.lines += map(_example, unbalanced[:EXAMPLES])
    overlap = search.result()
    report.leaked = overlap.pairs
    report.lines += _leaked(overlap)
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
        yield f"skipped {counted(count, 'line')}: {kind} (first: {first.file}:{first.line})"


def _of_faults(clean: CleanReport, examples: dict[str, list[Pair]]) -> Iterator[str]:
    from limelight.text.clean import REASONS

    for reason, words in REASONS.items():
        if clean.dropped[reason]:
            yield f"{counted(clean.dropped[reason], 'pair')}: {words}"
            yield from map(_example, examples[words])
    if clean.dropped["identical"] == clean.total > 0:
        yield IDENTICAL


def _boilerplate(repeated: Counter[int], total: int) -> Iterator[str]:
    count = repeated.most_common(1)[0][1] if repeated else 0
    if count >= max(MANY, SHARE * total):
        yield (
            f"one source is {count:,} of {total:,} pairs, apart from its numbers: text that repeats itself teaches "
            "little, and makes test scores look better than they are"
        )


def _leaked(overlap: Overlap) -> Iterator[str]:
    """For display: which test pairs are in the training text."""
    if overlap.total:
        yield (
            f"{overlap.pairs:,} of {overlap.total:,} test pairs are in the training text"
            + ": scores on them say nothing about new text; remove them from one of the two" * bool(overlap.pairs)
        )
        yield from map(_example, overlap.examples[: min(overlap.pairs, EXAMPLES)])


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
