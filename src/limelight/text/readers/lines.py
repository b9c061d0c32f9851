"""Lines of text, and the pairs in them: source TAB target, a JSON object a line, or two files line by line.

A line ends at the byte `\\n` and nowhere else, so that line numbers agree with every other tool and the two sides of a
parallel text cannot slip against each other at some exotic separator; a `\\r` before it is removed. So is a byte order
mark at the start of a line, for files that have one may have been joined.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NoReturn

from limelight.errors import UserError
from limelight.text.open_text import head_of, open_text, refuse_table, require_file
from limelight.text.pair import BadLine, Pair

MAX_LINE_BYTES = 1_000_000
"""Longer lines are reported and skipped without being held in memory; of a text without sentences they come in chunks.
"""

MAX_SKIPPED_BYTES = 100_000_000
"""How far we read on where there is nothing to be had: for the end of a line that is too long, to count lines without a
partner. A few MB of archive can hold gigabytes of it; this much takes about a second."""

_LOOKS_LIKE = {
    codecs.BOM_UTF32_LE: "UTF-32; convert it to UTF-8",
    codecs.BOM_UTF32_BE: "UTF-32; convert it to UTF-8",
    codecs.BOM_UTF16_LE: "UTF-16; convert it to UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; convert it to UTF-8",
    b"PK\x03\x04": "a ZIP archive or an Office document; save it as plain text in UTF-8",
    b"\xd0\xcf\x11\xe0": "an old Office document; save it as plain text in UTF-8",
    b"\x1f\x8b": "a gzip archive; end its name in .gz",
    b"\xfd7zXZ\0": "an xz archive; end its name in .xz",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive; end its name in .zst",
}
"""What a file can begin with that is not text as we read it, and what to do about it. UTF-32 before UTF-16: its mark
begins with the other's."""


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file (plain, .gz, .xz or .zst), without their line ends.

    Raises:
        UserError: at once where the file is missing; when it is reached, a bad line, with file and line.
    """
    require_file(Path(path))  # now, not when the first line is asked for
    return _read_file(path)


def _read_file(path: str | Path) -> Iterator[str]:
    with open_text(path) as stream:
        yield from read_stream(stream, str(path))


def read_stream(stream: BufferedIOBase, name: str) -> Iterator[str]:
    """The lines of an open stream of bytes, standard input for example; `name` stands in messages for the file.

    Raises:
        UserError: at the first bad line, with its number.
    """
    for line in scan_lines(stream, name):
        if isinstance(line, BadLine):
            raise UserError(str(line))
        yield line


def scan_lines(stream: BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    """Exactly one item for each line of `stream`: its text, or what is wrong with it.

    The last one is fatal where the file cannot be read to its end: an archive is damaged, or a line has no end within
    100 MB. What came before it out of an archive was never checked either: checksums stand at the end.
    """
    number = 0
    while True:
        number += 1
        try:
            raw = stream.readline(MAX_LINE_BYTES + 1)
            if not raw:
                return
            too_long = len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n")
            endless = too_long and not _skip_line(stream)
        except OSError as error:
            yield damaged(name, number, error)
            return
        if endless:
            reason = f"no line end within {MAX_SKIPPED_BYTES:,} bytes; is this file text, with line ends of \\n?"
            yield BadLine(name, number, reason, fatal=True)
            return
        if too_long:
            reason = f"the line is longer than {MAX_LINE_BYTES:,} bytes; is this file text, one sentence a line?"
            yield BadLine(name, number, reason)
        else:
            yield _decode(raw, name, number)


def scan_text(stream: BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    """All of a text whose lines may be of any length, in order: each line with its end, the last one too, and one of
    more than `MAX_LINE_BYTES` in chunks.

    A chunk but the first begins with a space or a tab, unless there is none in as many bytes. What is wrong with a
    chunk leaves the rest of its line as it is.
    """
    number, place, rest = 1, 0, b""
    while True:
        try:
            raw = rest + stream.readline(MAX_LINE_BYTES + 1 - len(rest))
        except OSError as error:
            yield damaged(name, number, error)
            return
        if not raw:
            return
        ends = len(raw) <= MAX_LINE_BYTES or raw.endswith(b"\n")
        cut = len(raw) if ends else _cut(raw)
        found = _decode(raw[:cut], name, number, place=place, ends=ends)
        yield found if isinstance(found, BadLine) else found + "\n" * ends
        if ends and place and isinstance(found, BadLine):
            yield "\n"  # what came before it in the line still ends
        number, place, rest = number + ends, 0 if ends else place + cut, raw[cut:]


def _cut(raw: bytes) -> int:
    """Where to divide some of a line: before its last space or tab; where there is none, before its last character."""
    cut = max(raw.rfind(b" ", 1), raw.rfind(b"\t", 1))
    if cut < 0:
        cut = len(raw) - 1
        while cut > len(raw) - 4 and raw[cut] & 0xC0 == 0x80:  # in the middle of a character
            cut -= 1
    return cut


def damaged(name: str, number: int, error: OSError) -> BadLine:
    """What to report where a file cannot be read on."""
    reason = f"the file is damaged or cut off here ({error}), so no line of it is sure; fetch it again"
    return BadLine(name, number, reason, fatal=True)


def _skip_line(stream: BufferedIOBase) -> bool:
    """Read to the end of a line that is too long, a bounded chunk at a time; False where no end comes in sight."""
    for _ in range(MAX_SKIPPED_BYTES // MAX_LINE_BYTES):
        piece = stream.readline(MAX_LINE_BYTES)
        if not piece or piece.endswith(b"\n"):
            return True
    return False


def _decode(raw: bytes, name: str, number: int, *, place: int = 0, ends: bool = True) -> str | BadLine:
    """The text of a line, or of some of it: what begins at byte `place` of it, and whether the line ends with it."""
    first = number == 1 and not place
    try:
        text = (raw.removesuffix(b"\n").removesuffix(b"\r") if ends else raw).decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at byte {place + error.start + 1} of the line)"
        return BadLine(name, number, f"{reason}; {encoding_advice(raw, first=first) or 'convert the file to UTF-8'}")
    if "\0" in text:
        advice = encoding_advice(raw, first=first) or "is this file text?"
        return BadLine(name, number, f"the line holds a NUL character; {advice}")
    return text if place else text.removeprefix("\ufeff")


def encoding_advice(raw: bytes, *, first: bool) -> str:
    """What the file seems to be instead of text, and what to do about it; empty where nothing tells. `first`: whether
    the file begins with these bytes."""
    for beginning, words in _LOOKS_LIKE.items():
        if first and raw.startswith(beginning):
            return f"the file looks like {words}"
    # Western text in UTF-16 has a NUL in every second byte and none between them.
    fewer, more = sorted((raw[::2].count(0), raw[1::2].count(0)))
    every_second = not fewer and more > 3 and 4 * more > len(raw)
    return "the file looks like UTF-16; convert it to UTF-8" if every_second else ""


def scan_tsv(path: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or what is wrong with it. There is no quoting: a quote is a character.

    A blank line is a pair of two empty sides. Raises `UserError` for a table with other marks between its columns.
    """
    name = str(path)
    with open_text(path) as stream:
        refuse_table(Path(path), head_of(stream, Path(path)))
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            columns = line.split("\t", 2)
            if len(columns) < 2 and not line.strip():
                yield Pair("", "", name, number)
            elif len(columns) < 2:
                yield BadLine(name, number, "there is no TAB in this line; a .tsv line is source TAB target")
            elif len(columns) > 2 and "\r" in columns[1]:
                # The next pair would be taken for further columns, and lost without a word.
                yield BadLine(name, number, "a CR stands between columns; does a CR alone end the lines of this file?")
            else:
                yield Pair(columns[0], columns[1], name, number)


_EXAMPLE = 'a .jsonl line is {"source": "...", "target": "..."}'
_NAMES = {bool: "true or false", float: "a number", int: "a number", list: "a list", str: "text", type(None): "null"}


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object as they stand there, also where a key stands there twice."""


def scan_jsonl(path: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or what is wrong with it."""
    name = str(path)
    with open_text(path) as stream:
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            sides = _sides(line)
            yield BadLine(name, number, sides) if isinstance(sides, str) else Pair(*sides, name, number)


def _sides(line: str) -> tuple[str, str] | str:
    """Source and target, or the reason why there are none."""
    try:
        record = json.loads(line, object_pairs_hook=_Object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return f"not valid JSON ({error.msg} at character {error.colno}); {_EXAMPLE}"
    except RecursionError:
        return f"JSON nested too deeply; {_EXAMPLE}"
    except ValueError as error:  # NaN, or a number of thousands of digits
        return f"not valid JSON ({error}); {_EXAMPLE}"
    if not isinstance(record, _Object):
        return f"not a JSON object but {_NAMES[type(record)]}; {_EXAMPLE}"
    sides = [_side(record, key) for key in ("source", "target")]
    faults = [fault for _, fault in sides if fault]
    return faults[0] if faults else (sides[0][0], sides[1][0])


def _side(record: _Object, key: str) -> tuple[str, str]:
    """The text of one side, and what is wrong with it: one of them is empty."""
    values = [value for name, value in record if name == key]
    if not values:
        return "", f"the object has no {key!r}; {_EXAMPLE}"
    if len(values) > 1:
        return "", f"the object has {key!r} more than once; {_EXAMPLE}"
    text = values[0]
    if not isinstance(text, str):
        return "", f"{key!r} is not text but {_NAMES.get(type(text), 'an object')}; {_EXAMPLE}"
    # JSON can spell, in escapes, what UTF-8 cannot hold.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return "", f"{key!r} holds a NUL character or half of a surrogate pair"
    return text, ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_PIECE = 1 << 16


def scan_moses(source: str | Path, target: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line number: the pair, or what is wrong with either side of it.

    A bad line takes its partner with it, so the sides stay in step. Files of unequal length end with a fatal `BadLine`
    that names both counts: a line is missing at an unknown place, and from there on every pair is wrong.
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
