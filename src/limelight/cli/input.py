"""Input texts, one per line: a file, the command line, or standard input."""

import sys
from collections.abc import Iterator
from io import BufferedIOBase, IOBase
from pathlib import Path
from typing import cast

import typer

from limelight.errors import UserError


def file_or_text(argument: str | None, text: str | None) -> tuple[Path | None, str | None]:
    """Interpret an argument: an existing path is a file, any other argument with white space is text; `--text` is
    always text. Both results are None for standard input.

    Raises `UserError` for any other argument, and for an argument together with `--text`.
    """
    if text is not None:
        if argument is not None:
            raise UserError(f"--text and {argument!r}: give one of them")
        return None, text
    if argument is None:
        return None, None
    if _exists(Path(argument)):
        return Path(argument), None
    if len(argument.split()) > 1:
        return None, argument
    raise UserError(
        f"{argument}: there is no such file (looked in {Path(argument).absolute().parent}); if it is a word to "
        f"translate, write --text {argument!r}"
    )


def _exists(path: Path) -> bool:
    """Whether a path exists. A text may be too long for a path, or have invalid characters."""
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):
        return False


def lines_of(file: Path | None) -> Iterator[str]:
    """The lines of a file, or of standard input. Raises `UserError` immediately if it cannot be read."""
    from limelight.text.readers import read_lines, read_stream

    if file is not None:
        return read_lines(file)
    if sys.stdin is None:
        raise UserError("standard input is closed: name a file to read")
    return read_stream(cast(BufferedIOBase, sys.stdin.buffer), "standard input")


def live_lines_of(file: Path | None, text: str | None = None) -> Iterator[str | None]:
    """The lines of a file, of standard input, or of `text`, with `None` where a pipe or a terminal pauses, so that the
    lines so far are answered."""
    if text is not None:
        return iter(text.splitlines())
    from limelight.text.open_text import open_text
    from limelight.text.readers.lines import LiveStream, read_live

    if file is not None:
        return read_live(LiveStream(open_text(file)), str(file)) if _is_pipe(file) else lines_of(file)
    try:
        stream = LiveStream(cast(IOBase, sys.stdin.buffer))
    except (AttributeError, OSError):  # closed, or replaced by an object without a file descriptor
        return lines_of(None)
    return read_live(stream, "standard input")


def _is_pipe(file: Path) -> bool:
    """Whether a file is a pipe. Compressed input is not read line by line."""
    from limelight.text.open_text import COMPRESSIONS

    return file.is_fifo() and file.suffix.lower() not in COMPRESSIONS


def greet(file: Path | None, text: str | None = None) -> None:
    """Tell a user at a terminal how to enter lines."""
    if file is None and text is None and sys.stdin is not None and sys.stdin.isatty():
        typer.echo("One sentence per line; Ctrl-D ends the input.", err=True)
