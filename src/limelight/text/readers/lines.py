"""Lines of text, in the one sense Limelight has of a line.

A line ends at the byte `\\n` and nowhere else, so that line numbers agree with every other tool and the two sides of a
parallel text cannot slip against each other at some exotic separator; a `\\r` before it is removed, and so is a byte
order mark at the start of the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from limelight.errors import UserError
from limelight.text.open_text import DAMAGE, open_text, require_file
from limelight.text.pair import BadLine

MAX_LINE_BYTES = 1_000_000
"""Longer lines are reported and skipped without being held in memory."""


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

    Where an archive is damaged nothing after the damage can be read: the last item is a `BadLine` that says so.
    """
    number = 0
    while True:
        number += 1
        try:
            raw = stream.readline(MAX_LINE_BYTES + 1)
            if not raw:
                return
            complete = len(raw) <= MAX_LINE_BYTES or raw.endswith(b"\n")
            if not complete:
                _skip_line(stream)
        except DAMAGE as error:
            reason = f"the file is damaged or cut off here ({error}); fetch or compress it again"
            yield BadLine(name, number, reason, ends_file=True)
            return
        if complete:
            yield _decode(raw, name, number)
        else:
            reason = f"the line is longer than {MAX_LINE_BYTES:,} bytes; is this file text, one sentence a line?"
            yield BadLine(name, number, reason)


def _skip_line(stream: BufferedIOBase) -> None:
    """Read to the end of a line that is too long, a bounded piece at a time."""
    while True:
        piece = stream.readline(MAX_LINE_BYTES)
        if not piece or piece.endswith(b"\n"):
            return


def _decode(raw: bytes, name: str, number: int) -> str | BadLine:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line)"
        if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            reason += "; the file looks like UTF-16"
        return BadLine(name, number, reason + "; convert the file to UTF-8")
    if "\0" in text:
        return BadLine(name, number, "the line holds a NUL character; is this file text?")
    return text
