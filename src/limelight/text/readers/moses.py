"""Pairs from two files, line by line: line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.text.open_text import open_text
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.lines import scan_lines


def scan_moses(source: str | Path, target: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line number: the pair, or what is wrong with either side of it.

    A bad line takes its partner with it, so the sides stay in step. Files of unequal length end with one `BadLine`
    that names both counts; it comes when the shorter one ends, because a corpus is read only once.
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
            if any(side.ends_file for side in bad):
                yield _joined(bad)
                return
            if left is None:
                yield _unequal(str(target), number, number + _count(targets), partner=str(source))
                return
            if right is None:
                yield _unequal(str(source), number, number + _count(sources), partner=str(target))
                return
            yield _joined(bad)


def _joined(bad: list[BadLine]) -> BadLine:
    """One report for one line number, also where both sides are bad."""
    if len(bad) == 1:
        return bad[0]
    first, second = bad
    return BadLine(first.file, first.line, f"{first.reason}; and {second}", first.ends_file or second.ends_file)


def _count(lines: Iterator[str | BadLine]) -> int:
    return sum(1 for _ in lines)


def _unequal(longer: str, number: int, lines: int, *, partner: str) -> BadLine:
    reason = (
        f"this line has no partner: {longer} has {lines:,} lines, {partner} has {number - 1:,}; "
        "files read line by line need equally many"
    )
    return BadLine(longer, number, reason, ends_file=True)
