"""Segments of a CSV table with a line of column names: `source` and `target`, or languages such as `en` and `de`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from limelight.errors import shown
from limelight.formats.lines import scan_lines
from limelight.formats.opening import open_segments
from limelight.formats.segments import Segment, Variant
from limelight.text.languages import code_of
from limelight.text.pair import BadLine

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
SIDES = (("source", "target"), ("text", "label"))
"""Names of columns for the two sides, whatever their languages are."""

MAX_NAMES = 20
"""Maximum number of columns that a message lists."""

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{1,8})*", re.IGNORECASE)
_NO_LANGUAGES = ("id", "key", "no", "nr", "num", "src", "tgt", "trg", "ref", "url", "tag")
"""Names of columns that look like language codes but are not."""


def scan_csv(path: str | Path, column: str = "") -> Iterator[Segment | BadLine]:
    """One item for each row after the first that is not blank: its texts, with its cell of the further `column`, or its
    fault.

    Quoted cells may contain line ends and doubled quotes. All rows have as many cells as the first. The delimiter
    (comma, semicolon or tab) is the one that is most frequent in the first line.
    """
    file = str(path)
    with open_segments(path, xml=False) as stream:
        lines = _Lines(stream, file)
        first = next(lines, "")
        yield from lines.taken()
        delimiter = max(DELIMITERS, key=lambda each: len(_cells(first, each)))
        header = [cell.strip() for cell in _cells(first, delimiter)]
        columns = _columns(header)
        if not columns and first:
            yield BadLine(file, lines.number, _unnamed(header), fatal=True)
        elif columns and column and header.count(column) != 1:
            fault = f"{'several columns' if column in header else 'no column'} {shown(column, 30)}"
            yield BadLine(file, lines.number, f"this table has {fault}; its columns: {_listed(header)}", fatal=True)
        elif columns:
            further = header.index(column) if column else None
            yield from _segments(lines, file, delimiter, columns, len(header), further)


def _segments(
    lines: _Lines, file: str, delimiter: str, columns: list[tuple[int, str]], width: int, further: int | None
) -> Iterator[Segment | BadLine]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        cells, fault = list[str](), ""
        lines.row = 0
        try:
            cells = next(reader)
        except StopIteration:
            yield from lines.taken()
            return
        except csv.Error as error:
            fault = f"not a row of CSV ({error}); is a quote missing?"
        lost = lines.taken()
        yield from lost
        if fault and lines.number > lines.row:  # the row includes lines of other rows
            yield BadLine(file, lines.row, fault, fatal=True)
            return
        if not fault and any(bad.line > lines.row for bad in lost):
            fault = "a line of this row cannot be read"
        elif not fault and len(cells) not in (0, width):
            fault = f"the number of cells differs from that of the first line ({len(cells)}, not {width})"
        if fault:
            yield BadLine(file, lines.row, fault)
        elif cells:
            variants = [Variant(language, [cells[place]]) for place, language in columns]
            yield Segment(lines.row, variants, cell="" if further is None else cells[further].strip())


class _Lines:
    """Lines for `csv.reader`; unreadable lines are collected separately."""

    def __init__(self, stream: BufferedIOBase, file: str) -> None:
        self._scanned, self._bad = scan_lines(stream, file), list[BadLine]()
        self.number = 0
        self.row = 0
        """The line where the row begins; set it to 0 before each row."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        for line in self._scanned:
            self.number += 1
            if isinstance(line, str):
                self.row = self.row or self.number
                return line + "\n"
            self._bad.append(line)
        raise StopIteration

    def taken(self) -> list[BadLine]:
        """The unreadable lines since the last call."""
        bad, self._bad = self._bad, []
        return bad


def _unnamed(header: list[str]) -> str:
    return (
        "the first line of a CSV table has to name its columns: source and target, or languages such as en and de, "
        "English and German; "
        f"here it is: {_listed(header)}"
    )


def _listed(header: list[str]) -> str:
    return ", ".join(shown(name, 30) for name in header[:MAX_NAMES])


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _columns(header: list[str]) -> list[tuple[int, str]]:
    """The columns that contain texts, each with its language; the language is empty for columns such as `source`."""
    lowered = [name.lower() for name in header]
    for names in SIDES:
        if all(lowered.count(name) == 1 for name in names):
            return [(lowered.index(name), "") for name in names]
    named = [(place, code_of(name) or name) for place, name in enumerate(header)]
    found = [(place, name) for place, name in named if _LANGUAGE.fullmatch(name) and name.lower() not in _NO_LANGUAGES]
    return found if len(found) > 1 else []
