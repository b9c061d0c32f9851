"""Pairs from two files, line by line: line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase
from pathlib import Path

from limelight.text.open_text import open_text
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.lines import MAX_SKIPPED_BYTES, scan_lines

_PIECE = 1 << 16


def scan_moses(source: str | Path, target: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line number: the pair, or what is wrong with either side of it.

    A bad line takes its partner with it, so the sides stay in step. Files of unequal length end with a fatal `BadLine`
    that names both counts: somewhere a line is missing, nobody can tell where, and from there on every pair is wrong.
    It comes when the shorter one ends, because a corpus is read only once.
    """
    with open_text(source) as source_stream, open_text(target) as target_stream:
        sources = scan_lines(source_stream, str(source))
        targets = scan_lines(target_stream, str(target))
        number = 0
        while True:
            number += 1
            left, right = next(sources, None), next(targets, None)
            if left is None and right is None:
                return
            if isinstance(left, str) and isinstance(right, str):
                yield Pair(left, right, str(source), number)
                continue
            bad = [side for side in (left, right) if isinstance(side, BadLine)]
            if any(side.fatal for side in bad):
                yield _joined(bad)
                return
            if left is None:
                yield _unequal(str(target), number, target_stream, partner=str(source))
                return
            if right is None:
                yield _unequal(str(source), number, source_stream, partner=str(target))
                return
            yield _joined(bad)


def _joined(bad: list[BadLine]) -> BadLine:
    """One report for one line number, also where both sides are bad; what is fatal comes first."""
    if len(bad) == 1:
        return bad[0]
    first, second = sorted(bad, key=lambda side: not side.fatal)
    return BadLine(first.file, first.line, f"{first.reason}; and {second}", fatal=first.fatal)


def _unequal(longer: str, number: int, rest: BufferedIOBase, *, partner: str) -> BadLine:
    """`number` is the first line without a partner, `rest` what follows it."""
    more, all_of_them = _count_lines(rest)
    reason = (
        f"this line has no partner: {longer} has {'' if all_of_them else 'more than '}{number + more:,} lines, "
        f"{partner} has {number - 1:,}; they need equally many, and which one is missing cannot be told"
    )
    return BadLine(longer, number, reason, fatal=True)


def _count_lines(rest: BufferedIOBase) -> tuple[int, bool]:
    """How many lines there are, and whether these are all: neither damage nor too many bytes keep a message back."""
    lines, last = 0, b"\n"
    with suppress(OSError):
        for _ in range(MAX_SKIPPED_BYTES // _PIECE):
            piece = rest.read(_PIECE)
            if not piece:
                return lines + (last != b"\n"), True
            lines, last = lines + piece.count(b"\n"), piece[-1:]
    return lines, False
