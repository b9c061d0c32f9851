"""Tables of parallel text, a pair a row: .csv, .tsv, .jsonl, a JSON array, and lines `source ||| target`.

Columns are named `source` and `target`, or by languages such as `en` and `de`."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from limelight.errors import UserError, shown
from limelight.formats.lines import damaged, read_stream, scan_lines
from limelight.formats.opening import open_segments, open_text
from limelight.formats.segments import Segment, Variant, listed
from limelight.text.languages import code_of
from limelight.text.pair import NO_TEXT, BadLine, Pair

DELIMITERS = (",", ";", "\t")
SIDES = (("source", "target"), ("text", "label"))
"""Names of columns for the two sides, whatever their languages are."""
MAX_ARRAY = 1 << 28
"""Bytes of a JSON array, which is read as a whole."""

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{1,8})*", re.IGNORECASE)
_NO_LANGUAGES = ("id", "key", "nr", "num", "src", "tgt", "trg", "ref", "url", "tag")
"""Names of columns that look like language codes but are not."""
_EXAMPLE = 'a .jsonl line is {"source": "...", "target": "..."}'


@lru_cache(100)
def _text_columns(names: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """The columns that contain texts, with their languages; the language is empty for columns such as `source`."""
    lowered = [name.lower() for name in names]
    for pair in SIDES:
        if all(lowered.count(name) == 1 for name in pair):
            return tuple((lowered.index(name), "") for name in pair)
    named = [(column, code_of(name) or name) for column, name in enumerate(names)]
    columns = [
        (column, name) for column, name in named if _LANGUAGE.fullmatch(name) and name.lower() not in _NO_LANGUAGES
    ]
    if len(columns) > 2:  # beside two languages, `no` is a number
        columns = [each for each in columns if names[each[0]].lower() != "no"]
    return tuple(columns) if len(columns) > 1 else ()


def _column_indexes(columns: Sequence[str], header: Sequence[str], file: str) -> list[int]:
    """The indexes of columns by name or number; a number is a name only where all are. Raises `UserError` for a column
    that is not there."""
    indexes, are_names = list[int](), set(columns) <= set(header)
    for column in columns:
        number = int(column[:4]) if column.isdecimal() else 0
        is_number = 1 <= number <= len(header) and not are_names
        if column not in header and not is_number:
            raise UserError(f"{file}: there is no column {shown(column, 30)}; the first line: {listed(header)}")
        indexes.append(number - 1 if is_number else header.index(column))
    return indexes


def scan_csv(path: str | Path, sides: Sequence[str] = ()) -> Iterator[Segment | BadLine]:
    """One item for each row after the first that is not blank: its texts, or its fault. Raises `UserError` at a line
    that is not text.

    Quoted cells may contain line ends and doubled quotes. All rows have as many cells as the first. The delimiter
    (comma, semicolon or tab) is the one that is most frequent in the first line.
    """
    file = str(path)
    with open_segments(path) as stream:
        lines = read_stream(stream, file)
        if (first := next(lines, None)) is None:
            return
        delimiter = max(DELIMITERS, key=first.count)
        reader = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=delimiter, strict=True)
        begin = 1
        try:
            header = [cell.strip() for cell in next(reader)]
            columns = (
                [(column, "") for column in _column_indexes(sides, header, file)]
                if sides
                else _text_columns(tuple(header))
            )
            if not columns:
                reason = "the first line of a CSV table has to name its columns: source and target, or languages such"
                remedy = f"as en and de, English and German; or name two after the file, such as {file}:1,2"
                raise UserError(f"{file}:1: {reason} {remedy}; here it is: {listed(header)}")
            begin = reader.line_num + 1
            for cells in reader:
                if cells and len(cells) != len(header):
                    reason = "the number of cells differs from that of the first line"
                    yield BadLine(file, begin, f"{reason} ({len(cells)}, not {len(header)})")
                elif cells:
                    yield Segment(begin, [Variant(language, [cells[column]]) for column, language in columns])
                begin = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{file}:{begin}: not a row of CSV ({error}); is a quote missing?") from None


def scan_tsv(path: str | Path, separator: str = "\t", sides: Sequence[str] = ()) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or its fault. There is no quoting: quotes are ordinary characters.

    A blank line is a pair of two empty sides. `sides` are the columns of source and target: numbers, or names in the
    first line, which is then not a pair.
    """
    name = str(path)
    wanted = list[int]() if sides else [0, 1]
    with open_text(path) as stream:
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            cells = line.split(separator)
            if not wanted:
                header = [cell.strip() for cell in cells]
                wanted = _column_indexes(sides, header, name)
                if any(header[index] == side for index, side in zip(wanted, sides, strict=True)):
                    continue
            if max(wanted) < len(cells):
                yield Pair(cells[wanted[0]], cells[wanted[1]], name, number)
            elif not line.strip():
                yield Pair("", "", name, number)
            elif len(cells) > 1:
                yield BadLine(name, number, f"there is no column {max(wanted) + 1} in this line; it has {len(cells)}")
            else:
                sign = separator.strip() or "TAB"
                yield BadLine(name, number, f"there is no {sign} in this line; a line is source {sign} target")


def scan_jsonl(path: str | Path, sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """One item for each line: an object with `source` and `target`, or with languages as keys, also inside of
    `translation`."""
    name = str(path)
    with open_text(path) as stream:
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            try:
                yield _read_record(json.loads(line), name, number, sides)
            except (ValueError, RecursionError) as error:
                yield BadLine(name, number, f"not valid JSON ({error}); {_EXAMPLE}")


def scan_json(path: str | Path, sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """The objects of a JSON array, like the objects of `scan_jsonl`; they are counted instead of lines."""
    name = str(path)
    with open_text(path) as stream:
        try:
            data = stream.read(MAX_ARRAY + 1)
            if len(data) > MAX_ARRAY:
                raise ValueError(f"an array of more than {MAX_ARRAY:,} bytes; write an object a line (.jsonl)")
            records = json.loads(data.decode("utf-8-sig"))
        except OSError as error:
            raise damaged(name, 1, error) from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{name}:{getattr(error, 'lineno', 1)}: not valid JSON ({error})") from None
    for number, record in enumerate(records, start=1):
        yield _read_record(record, name, number, sides)


def scan_rows(path: str | Path, sides: Sequence[str] = ()) -> Iterator[Pair | Segment | BadLine]:
    """The rows of a Parquet or Arrow file, as the objects of `scan_jsonl`."""
    if find_spec("pyarrow") is None:
        raise UserError(f"{path}: reading it needs pyarrow: pip install 'limelight[corpus]'")
    from limelight.formats.columns import read_rows

    for number, row in enumerate(read_rows(str(path)), start=1):
        yield _read_record(row, str(path), number, sides)


def _read_record(record: Any, name: str, number: int, sides: Sequence[str]) -> Pair | Segment | BadLine:
    """The texts of an object, or the reason why it lacks one."""
    if not isinstance(record, dict):
        return BadLine(name, number, f"not a JSON object; {_EXAMPLE}")
    inner: Mapping[str, Any] = record["translation"] if isinstance(record.get("translation"), dict) else record
    names = tuple(inner)
    found = _text_columns(names) or (tuple(enumerate(names)) if inner is not record else ())
    columns = [(names[column], language) for column, language in found]
    if sides or not columns or {"source", "target"} & inner.keys():
        columns = [(key, "") for key in sides or ("source", "target")]
    texts_only = [each for each in columns if isinstance(inner.get(each[0]), str)]
    columns = texts_only if len(texts_only) > 1 else columns
    variants = list[Variant]()
    for key, language in columns:
        text = inner.get(key)
        if not isinstance(text, str):
            return BadLine(name, number, f"the object has no text {key!r}; {_EXAMPLE}")
        if NO_TEXT.search(text):
            return BadLine(name, number, f"{key!r} holds a NUL character or half of a surrogate pair")
        variants.append(Variant(language, [text]))
    if len(columns) != 2 or any(language for _, language in columns):
        return Segment(number, variants)
    source, target = (inner[key] for key, _ in columns)
    return Pair(source, target, name, number)
