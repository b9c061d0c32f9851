"""Where texts come from, a line each: a file, or standard input."""

import sys
from collections.abc import Iterator
from io import BufferedIOBase
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


def typed(file: Path | None) -> bool:
    """Whether a person types the lines, who waits for the answer to each; they are told how to go about it."""
    if file is not None or sys.stdin is None or not sys.stdin.isatty():
        return False
    typer.echo("A sentence a line; Ctrl-D ends.", err=True)
    return True
