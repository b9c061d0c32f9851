"""Lines of text, in the one sense Limelight has of a line.

A line ends at the byte `\\n` and nowhere else, so that line numbers agree with every other tool and the two sides of a
parallel text cannot slip against each other at some exotic separator; a `\\r` before it is removed. So is a byte order
mark at the start of a line, for files that have one may have been joined.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from limelight.errors import UserError
from limelight.text.open_text import open_text, require_file
from limelight.text.pair import BadLine

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
