"""Lines of text, and pairs of two files line by line.

A line ends only at the byte `\n`, so that line numbers agree with other tools and both sides of a parallel text stay
aligned whatever other separators they contain. A `\r` before it is removed, as is a byte order mark at the start of any
line, because files with one may have been concatenated.

Lines come from files, pipes and terminals; pauses of a pipe or a terminal are marked, so that the lines so far can be
processed.
"""

import codecs
import time
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path
from queue import Empty, Queue
from shlex import quote
from threading import Thread
from typing import TypeVar

from limelight.errors import UserError
from limelight.formats.opening import open_text, require_file
from limelight.text.pair import BadLine, Pair

Item = TypeVar("Item")
OnBadLine = Callable[[BadLine], None]

MAX_LINE_BYTES = 1_000_000
"""Longer lines are reported and skipped without being held in memory; `scan_text` returns them in chunks."""

MAX_SKIPPED_BYTES = 100_000_000
"""Maximum number of bytes that are read only to find the end of a line that is too long. A few MB of archive can expand
to gigabytes; this much takes about a second."""


def read_lines(path: str | Path, on_bad_line: OnBadLine | None = None) -> Iterator[str]:
    """The lines of a file (plain, .gz, .xz or .zst), without their line ends; bad lines as in `read_stream`.

    Raises `UserError` immediately if the file is missing.
    """

    def read() -> Iterator[str]:
        with open_text(path) as stream:
            yield from read_stream(stream, str(path), on_bad_line)

    require_file(Path(path))  # now, not when the first line is read
    return read()


def read_stream(stream: BufferedIOBase, name: str, on_bad_line: OnBadLine | None = None) -> Iterator[str]:
    """The lines of an open stream of bytes, such as standard input; `name` is the name of the file in messages.

    `on_bad_line` is called for each line that cannot be read, which is left out; without it the first one raises
    `UserError` with its number.
    """
    return without_bad(scan_lines(stream, name), on_bad_line)


def without_bad(
    items: Iterable[Item | BadLine], on_bad_line: OnBadLine | None, on_unused: OnBadLine | None = None
) -> Iterator[Item]:
    """The items that can be read. Raises `UserError` for the first bad line unless there is an `on_bad_line`."""
    for item in items:
        if not isinstance(item, BadLine):
            yield item
        elif item.unused:
            if on_unused is not None:
                on_unused(item)
        elif on_bad_line is None:
            raise UserError(str(item))
        else:
            on_bad_line(item)


def scan_lines(stream: BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    """Exactly one item for each line of `stream`: its text, or its fault.

    Raises `UserError` if the file cannot be read to its end: an archive is damaged, or a line has no end within 100 MB.
    In an archive the preceding lines are not verified either: the checksum is at its end.
    """
    number = 0
    while True:
        number += 1
        try:
            raw = stream.readline(MAX_LINE_BYTES + 1)
            too_long = len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n")
            endless = too_long and not _skip_line(stream)
        except OSError as error:
            raise damaged(name, number, error) from None
        if not raw:
            return
        if endless:
            reason = f"no line end within {MAX_SKIPPED_BYTES:,} bytes; is this file text, with line ends of \\n?"
            raise UserError(f"{name}:{number}: {reason}")
        if too_long:
            reason = f"the line is longer than {MAX_LINE_BYTES:,} bytes; is this file text, one sentence a line?"
            yield BadLine(name, number, reason)
        else:
            yield _decode(raw, name, number)


def scan_text(stream: BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    """All of a text whose lines may have any length, in order: each line with its end, also the last one; a line of
    more than `MAX_LINE_BYTES` in chunks.

    A chunk other than the first begins with a space or a tab, unless there is none within the limit. A fault of a chunk
    does not affect the rest of its line.
    """
    number, offset, rest = 1, 0, b""
    while True:
        try:
            raw = rest + stream.readline(MAX_LINE_BYTES + 1 - len(rest))
        except OSError as error:
            raise damaged(name, number, error) from None
        if not raw:
            return
        ends = len(raw) <= MAX_LINE_BYTES or raw.endswith(b"\n")
        cut = len(raw) if ends else _cut(raw)
        decoded = _decode(raw[:cut], name, number, offset=offset, ends=ends)
        yield decoded if isinstance(decoded, BadLine) else decoded + "\n" * ends
        if ends and offset and isinstance(decoded, BadLine):
            yield "\n"  # ends the preceding chunks of the line
        number, offset, rest = number + ends, 0 if ends else offset + cut, raw[cut:]


def _cut(raw: bytes) -> int:
    """Where to divide a part of a line: before its last space or tab; if there is none, before its last character."""
    cut = max(raw.rfind(b" ", 1), raw.rfind(b"\t", 1))
    if cut < 0:
        cut = len(raw) - 1
        while cut > len(raw) - 4 and raw[cut] & 0xC0 == 0x80:  # in the middle of a character
            cut -= 1
    return cut


def damaged(name: str, number: int, error: OSError) -> UserError:
    """The error if reading a file fails."""
    reason = f"the file is damaged or cut off here ({error}), so no line of it is sure; fetch it again"
    return UserError(f"{name}:{number}: {reason}")


def _skip_line(stream: BufferedIOBase) -> bool:
    """Read to the end of a line that is too long, in bounded chunks; False if no end is found."""
    for _ in range(MAX_SKIPPED_BYTES // MAX_LINE_BYTES):
        piece = stream.readline(MAX_LINE_BYTES)
        if not piece or piece.endswith(b"\n"):
            return True
    return False


def _decode(raw: bytes, name: str, number: int, *, offset: int = 0, ends: bool = True) -> str | BadLine:
    """The text of a line, or of a part of it that begins at byte `offset`; `ends`: whether the line ends there."""
    try:
        text = (raw.removesuffix(b"\n").removesuffix(b"\r") if ends else raw).decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at byte {offset + error.start + 1} of the line)"
    else:
        if "\0" not in text:
            return text if offset else text.removeprefix("\ufeff")
        reason = "the line holds a NUL character; is this file text?"
    is_utf16 = b"\0" in raw or raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    command = f"iconv -f {'UTF-16' if is_utf16 else 'WINDOWS-1252'} -t UTF-8 {quote(name)} > NEW"
    return BadLine(name, number, f"{reason}; convert the file to UTF-8 from the encoding that it has, as by: {command}")


def scan_moses(source: str | Path, target: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line number: the pair, or the fault of either side.

    A bad line is dropped together with its counterpart, so the sides stay aligned. Raises `UserError` for files of
    unequal length: a line is missing at an unknown place, and all later pairs are wrong. It is reported at the end of
    the shorter file, because a corpus is read only once.
    """
    with open_text(source) as source_stream, open_text(target) as target_stream:
        lines = zip_longest(scan_lines(source_stream, str(source)), scan_lines(target_stream, str(target)))
        for number, (left, right) in enumerate(lines, start=1):
            if left is None or right is None:
                longer, shorter = (source, target) if right is None else (target, source)
                raise UserError(
                    f"{longer}:{number}: this line has no partner: {shorter} has only {number - 1:,} lines; both files "
                    "need equally many lines; which one is missing is not known"
                )
            if isinstance(left, BadLine):
                yield left
            elif isinstance(right, BadLine):
                yield right
            else:
                yield Pair(left, right, str(source), number)


WAIT = 0.02
"""Seconds in all that received lines wait for further ones: the latency added to a single line. A program that writes
many lines needs less than a millisecond for each."""
_MAX_WAITING = 100
"""Maximum number of lines that are read before they are asked for."""


def read_live(stream: BufferedIOBase, name: str) -> Iterator[str | None]:
    """The lines of a pipe or a terminal as `read_stream` returns them, and `None` when the input pauses.

    A pause follows at least one line, after `WAIT` seconds of waiting for further ones. A thread reads the stream.
    Raises `UserError` at the first bad line.
    """
    read = Queue[str | UserError | None](_MAX_WAITING)

    def fill() -> None:
        end = None
        try:
            for line in read_stream(stream, name):
                read.put(line)
        except UserError as error:
            end = error
        read.put(end)

    Thread(target=fill, daemon=True).start()
    item = read.get()
    left = WAIT
    while isinstance(item, str):
        yield item
        began = time.monotonic()
        try:
            item = read.get(timeout=max(0.0, left))
            left -= time.monotonic() - began
        except Empty:
            yield None
            item, left = read.get(), WAIT
    if item is not None:
        raise item


def chunks(
    items: Iterable[Item | None], size: int, weigh: Callable[[Item], int] = lambda item: 1
) -> Iterator[list[Item]]:
    """Items, such as lines, of a total weight of `size` at a time, fewer where the input pauses (`None`) and at its
    end."""
    chunk, total = list[Item](), 0
    for item in items:
        if item is not None:
            chunk.append(item)
            total += weigh(item)
        if chunk and (item is None or total >= size):
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk
