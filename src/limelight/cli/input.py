"""Where texts come from, a line each: a file, or standard input."""

import sys
from collections.abc import Iterator
from io import BufferedIOBase, IOBase
from pathlib import Path
from typing import cast

import typer

from limelight.errors import UserError


def lines_of(file: Path | None) -> Iterator[str]:
    """The lines of a file, or of standard input. Raises `UserError` at once where there are none to be had."""
    from limelight.text.readers import read_lines, read_stream

    if file is not None:
        return read_lines(file)
    if sys.stdin is None:
        raise UserError("standard input is closed: name a file to read")
    return read_stream(cast(BufferedIOBase, sys.stdin.buffer), "standard input")


def live_lines_of(file: Path | None) -> Iterator[str | None]:
    """The same, with `None` where a pipe or a terminal pauses: whoever waits for answers gets them then."""
    from limelight.text.open_text import open_text
    from limelight.text.readers.live import LiveStream, read_live

    if file is not None:
        return read_live(LiveStream(open_text(file)), str(file)) if _is_pipe(file) else lines_of(file)
    try:
        stream = LiveStream(cast(IOBase, sys.stdin.buffer))
    except (AttributeError, OSError):  # closed, or something without a descriptor was put in its place
        return lines_of(None)
    return read_live(stream, "standard input")


def _is_pipe(file: Path) -> bool:
    """Whether bytes come from a process. What is compressed is read at full length."""
    from limelight.text.open_text import COMPRESSIONS

    return file.is_fifo() and file.suffix.lower() not in COMPRESSIONS


def greet(file: Path | None) -> None:
    """Tell a person who types the lines how to go about it."""
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        typer.echo("A sentence a line; Ctrl-D ends.", err=True)
