"""Tables of parallel text, a pair a row: .csv, .tsv, .jsonl, a JSON array, and lines `source ||| target`.

Columns are named `source` and `target`, or by languages such as `en` and `de`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NoReturn

from limelight.errors import UserError, shown
from limelight.formats.lines import damaged, scan_lines
from limelight.formats.opening import head_of, open_segments, open_text, refuse_table
from limelight.formats.segments import Segment, Variant
from limelight.text.languages import code_of
from limelight.text.pair import BadLine, Pair

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
SIDES = (("source", "target"), ("text", "label"))
"""Names of columns for the two sides, whatever their languages are."""

MAX_NAMES = 20
"""Maximum number of columns that a message lists."""

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{1,8})*", re.IGNORECASE)
_NO_LANGUAGES = ("id", "key", "no", "nr", "num", "src", "tgt", "trg", "ref", "url", "tag")
"""Names of columns that look like language codes but are not."""


def scan_csv(path: str | Path, column: str = "", sides: Sequence[str] = ()) -> Iterator[Segment | BadLine]:
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
        columns = [(place, "") for place in _places(sides, header, file)] if sides else _columns(header)
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


def _places(sides: Sequence[str], header: Sequence[str], file: str) -> list[int]:
    """The indexes of the columns of both sides, by name or number. Raises `UserError` for one that is not there."""
    found = []
    for side in sides:
        number = int(side) if side.isascii() and side.isdigit() and len(side) < 4 else 0
        if side not in header and not 1 <= number <= len(header):
            raise UserError(f"{file}: there is no column {shown(side, 30)}; the first line: {_listed(list(header))}")
        found.append(list(header).index(side) if side in header else number - 1)
    return found


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


MAX_COLUMN = 1000
"""Maximum number of a column of a .tsv file."""


def scan_tsv(
    path: str | Path, column: str = "", separator: str = "\t", sides: Sequence[str] = ()
) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or its fault. There is no quoting: quotes are ordinary characters.

    A blank line is a pair of two empty sides. `sides` are the columns of source and target: numbers, or names in the
    first line, which is then no pair. Each pair has its cell of the further `column`, a number from 3. Raises
    `UserError` for a table with other delimiters, and for another column.
    """
    name, place, texts = str(path), _place(column, str(path)), [0, 1]
    with open_text(path) as stream:
        if separator == "\t":
            refuse_table(Path(path), head_of(stream, Path(path)))
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            if number == 1 and sides:
                header = [cell.strip() for cell in line.split(separator)]
                texts = _places(sides, header, name)
                if any(side in header for side in sides):
                    continue
            columns = line.split(separator, max(place, 2, *(text + 1 for text in texts)))
            if len(columns) < 2 and not line.strip():
                yield Pair("", "", name, number)
            elif len(columns) < 2:
                shown_as = separator.strip() or "TAB"
                reason = f"there is no {shown_as} in this line; a line is source {shown_as} target"
                yield BadLine(name, number, reason)
            elif len(columns) > 2 and "\r" in columns[1]:
                # The next pair would be read as further columns, and lost silently.
                yield BadLine(name, number, "a CR stands between columns; does a CR alone end the lines of this file?")
            elif (last := max(place, *texts)) >= len(columns):
                yield BadLine(name, number, f"there is no column {last + 1} in this line; it has {len(columns)}")
            else:
                cell = columns[place].strip() if place else ""
                yield Pair(columns[texts[0]], columns[texts[1]], name, number, cell=cell)


def _place(column: str, name: str) -> int:
    """The index of a further column; 0 if there is none. Raises `UserError` unless it is a number from 3."""
    if column and not (column.isascii() and column.isdigit() and 3 <= int(column[:4]) <= MAX_COLUMN):
        raise UserError(
            f"{name}: column {column!r}: a .tsv file has no names of columns: give the number of a column after source "
            f"and target, from 3 to {MAX_COLUMN}"
        )
    return int(column) - 1 if column else 0


def scan_pipes(path: str | Path) -> Iterator[Pair | BadLine]:
    """The pairs of lines `source ||| target`."""
    return scan_tsv(path, separator=" ||| ")


MAX_ARRAY = 1 << 30
"""Bytes of a JSON array, which is read as a whole."""
_EXAMPLE = 'a .jsonl line is {"source": "...", "target": "..."}'
_NAMES = {bool: "true or false", float: "a number", int: "a number", list: "a list", str: "text", type(None): "null"}
_BETWEEN = re.compile(r"[\s,]*")


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object in order, including repeated keys."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_constant=_refuse)


def scan_jsonl(path: str | Path, column: str = "", sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """One item for each line: an object with `source` and `target`, or with languages as keys, also inside of
    `translation`. Each item has its text of the further key `column`."""
    name = str(path)
    with open_text(path) as stream:
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            try:
                yield _of_record(_DECODER.decode(line), name, number, column, sides)
            except (ValueError, RecursionError) as error:
                yield BadLine(name, number, f"{_fault(error)}; {_EXAMPLE}")


def scan_json(path: str | Path, column: str = "", sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """The objects of a JSON array, as those of `scan_jsonl`."""
    name, line, place = str(path), 1, 0
    with open_text(path) as stream:
        try:
            data = stream.read(MAX_ARRAY + 1)
            if len(data) > MAX_ARRAY:
                raise ValueError(f"an array of more than {MAX_ARRAY:,} bytes; write an object a line (.jsonl)")
            text = data.decode("utf-8-sig").strip()
            if text[-1:] != "]":
                raise ValueError("the array has no end; is the file cut off?")
            while text[end := _BETWEEN.match(text, place + (not place)).end()] != "]":  # type: ignore[union-attr]
                line += text.count("\n", place, end)
                record, place = _DECODER.raw_decode(text, end)
                yield _of_record(record, name, line, column, sides)
                line += text.count("\n", end, place)
        except OSError as error:
            yield damaged(name, line, error)
        except (ValueError, RecursionError, IndexError) as error:
            yield BadLine(name, line, f"{_fault(error)}", fatal=True)


def scan_rows(path: str | Path, column: str = "", sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """The rows of a Parquet or Arrow file, as the objects of `scan_jsonl`."""
    if find_spec("pyarrow") is None:
        raise UserError(f"{path}: reading it needs pyarrow: pip install 'limelight[corpus]'")
    from limelight.formats.columns import read_rows

    for number, row in enumerate(read_rows(str(path)), start=1):
        yield _of_record(_as_object(row), str(path), number, column, sides)


def _as_object(row: dict[str, Any]) -> _Object:
    return _Object((key, _as_object(value) if isinstance(value, dict) else value) for key, value in row.items())


def _fault(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON ({error.msg} at character {error.colno})"
    return "JSON nested too deeply" if isinstance(error, RecursionError) else f"not valid JSON ({error})"


def _of_record(record: Any, name: str, number: int, column: str, sides: Sequence[str]) -> Pair | Segment | BadLine:
    """The texts of an object, or the reason why it lacks one."""
    if not isinstance(record, _Object):
        return BadLine(name, number, f"not a JSON object but {_NAMES[type(record)]}; {_EXAMPLE}")
    inner = next((value for key, value in record if key == "translation" and isinstance(value, _Object)), record)
    names = [key for key, _ in inner]
    named = [] if sides or {"source", "target"} & set(names) else _columns(names)
    keys = list(sides) or [inner[place][0] for place, _ in named] or ["source", "target"]
    found = [*(_text(inner, key) for key in keys), *(_text(record, column) for _ in [column] * bool(column))]
    faults = [fault for _, fault in found if fault]
    if faults:
        return BadLine(name, number, faults[0])
    texts = [text for text, _ in found]
    cell = texts.pop().strip() if column else ""
    if not named:
        return Pair(texts[0], texts[1], name, number, cell=cell)
    variants = [Variant(language, [text]) for (_, language), text in zip(named, texts, strict=True)]
    return Segment(number, variants, cell=cell)


def _text(record: _Object, key: str) -> tuple[str, str]:
    """The text of a key, or its fault: one of the two is empty."""
    values = [value for name, value in record if name == key]
    if not values:
        return "", f"the object has no {key!r}; {_EXAMPLE}"
    if len(values) > 1:
        return "", f"the object has {key!r} more than once; {_EXAMPLE}"
    text = values[0]
    if not isinstance(text, str):
        return "", f"{key!r} is not text but {_NAMES.get(type(text), 'an object')}; {_EXAMPLE}"
    # JSON escapes can represent characters that UTF-8 cannot.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return "", f"{key!r} holds a NUL character or half of a surrogate pair"
    return text, ""
