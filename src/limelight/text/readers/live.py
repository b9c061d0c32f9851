"""Lines from a pipe or a terminal; pauses of the input are marked, so that the lines so far can be processed."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, IOBase
from itertools import islice

from limelight.text.readers.lines import MAX_LINE_BYTES, read_stream

WAIT = 0.02
"""Seconds in all that received lines wait for further ones: the latency added to a single line. A program that writes
many lines needs less than a millisecond for each."""

_PIECE = 1 << 16
_MAX_READ = MAX_LINE_BYTES + 1  # what `scan_lines` reads at once


class LiveStream(BufferedIOBase):
    """An unread stream of bytes that can also report whether a whole line is available (`line_within`).

    If the system cannot wait for this kind of file, every line counts as available. Raises `OSError` for a stream
    without a file descriptor.
    """

    def __init__(self, stream: IOBase) -> None:
        self._stream, self._descriptor = stream, stream.fileno()
        self._held = bytearray()
        self._searched = 0  # no line ends before this place
        self._ended = False

    def readable(self) -> bool:
        return True

    def readline(self, limit: int | None = -1, /) -> bytes:
        """As for any stream: up to the end of the line, or `limit` bytes; empty at the end of the input."""
        most = _MAX_READ if limit is None or limit < 0 else limit
        while not self._has_line(most):
            self._fill()
        end = self._held.find(b"\n", 0, most)
        count = end + 1 if end >= 0 else most
        line = bytes(self._held[:count])
        del self._held[:count]
        self._searched = 0
        return line

    def line_within(self, seconds: float) -> bool:
        """Whether a line, or the end of the input, can be read without waiting longer than this."""
        until = time.monotonic() + seconds
        while not self._has_line(_MAX_READ):
            if not _ready(self._descriptor, max(0.0, until - time.monotonic())):
                return False
            self._fill()
        return True

    def _has_line(self, most: int) -> bool:
        if self._ended or len(self._held) >= most:
            return True
        found = self._held.find(b"\n", self._searched) >= 0
        self._searched = 0 if found else len(self._held)
        return found

    def _fill(self) -> None:
        piece = os.read(self._descriptor, _PIECE)
        self._held += piece
        self._ended = not piece


def _ready(descriptor: int, seconds: float) -> bool:
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    except (OSError, ValueError):  # the system cannot wait for this kind of file
        return True


def read_live(stream: LiveStream, name: str) -> Iterator[str | None]:
    """The lines of a pipe or a terminal as `read_stream` returns them, and `None` when the input pauses.

    A pause follows at least one line, after `WAIT` seconds of waiting for further ones. Raises `UserError` at the first
    bad line.
    """
    left = WAIT
    for line in read_stream(stream, name):
        yield line
        began = time.monotonic()
        more = stream.line_within(left)
        left -= time.monotonic() - began
        if not more:
            yield None
            left = WAIT


def chunks(lines: Iterable[str | None], size: int) -> Iterator[list[str]]:
    """At most `size` lines at a time, fewer where the input pauses (`None`) and at its end."""
    remaining = iter(lines)
    while True:
        chunk: list[str] = []
        for line in islice(remaining, size):
            if line is None:
                break
            chunk.append(line)
        else:
            if not chunk:
                return
        if chunk:
            yield chunk
