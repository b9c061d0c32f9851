"""Texts that come in, one per line (a file, the command line, or standard input), and what goes out: results on
standard output or in a file that is created when it is complete.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import typer

from limelight.cli.outcome import silence
from limelight.errors import RunError, UserError, shown
from limelight.files import PARTIAL, cause, sync

if TYPE_CHECKING:
    from limelight.evaluation.summary import Figures


def file_or_text(argument: str | None, text: str | None) -> tuple[Path | None, str | None]:
    """Interpret an argument: an existing path is a file, any other argument with white space is text; `--text` is
    always text. Both results are None for standard input.

    Raises `UserError` for any other argument, and for an argument together with `--text`.
    """
    if text is not None and argument is not None:
        raise UserError(f"--text and {argument!r}: give one of them")
    if text is not None or argument is None:
        return None, text and valid_text(text)
    if not argument:
        raise UserError("an argument is empty: name a file, or leave it out for standard input")
    if is_path(os.path.lexists, argument):
        return Path(argument), None
    if argument.split() != [argument]:
        return None, valid_text(argument)
    raise UserError(
        f"{argument}: there is no such file (looked in {Path(argument).absolute().parent}); if it is a word to "
        f"translate, write --text {argument!r}"
    )


def valid_text(text: str) -> str:
    """A text of the command line. Raises `UserError` if it is not valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{shown(text)!r} is not valid UTF-8; write it in the encoding of the terminal") from None
    return text


def is_path(test: Callable[[Path], bool], name: str) -> bool:
    """Whether `name` passes `test` as a path. A text may be too long for a path, or have invalid characters."""
    try:
        return bool(name) and test(Path(name))  # an empty path would be the working directory
    except (OSError, ValueError):
        return False


def stdin_lines() -> Iterator[str]:
    """The lines of standard input. Raises `UserError` immediately if it is closed."""
    from limelight.formats import read_stream

    if sys.stdin is None:
        raise UserError("standard input is closed: give what is to be read as an argument")
    return read_stream(cast(BufferedIOBase, sys.stdin.buffer), "standard input")


def live_lines_of(file: Path | None, text: str | None = None) -> Iterator[str | None]:
    """The lines of a file, of `text`, or of standard input with `None` where a pipe or a terminal pauses, so that the
    lines so far are answered."""
    from limelight.formats.lines import read_lines, read_live

    if text is not None:
        return iter(text.splitlines())
    if file is not None:
        return read_lines(file)
    try:  # a stream of its own: the interpreter closes standard input at its end, and cannot while a thread reads it
        stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
    except (AttributeError, OSError):  # closed, or replaced by an object without a file descriptor
        return stdin_lines()
    return read_live(stream, "standard input")


def greet(what: str) -> None:
    """Tell a user at a terminal to type on standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        typer.echo(f"{what}; Ctrl-D ends the input.", err=True)


SENTENCES = "One sentence per line"
Write = Callable[[str], None]


@contextmanager
def lines_to(path: Path | None, inputs: Iterable[str | Path] = ()) -> Iterator[Write]:
    """A context that yields a function that writes a line; otherwise like `text_to`."""
    with text_to(path, inputs) as write:
        yield lambda line: write(line + "\n")


@contextmanager
def text_to(path: Path | None, inputs: Iterable[str | Path] = ()) -> Iterator[Write]:
    """A context that yields a function that writes text, to standard output if no path is given.

    Raises `UserError` immediately if the file cannot be written or is one of the `inputs`, before any work is done.
    Text is first written to a partial file; if the work fails, that file remains, and the exception gets a note with
    its name.
    """
    if path is None:
        # In UTF-8 whatever the environment says: text of any language must come through.
        yield _standard_output(encoding="utf-8")
        return
    is_device = path.exists() and not path.is_file()  # such as a pipe: written directly, by the name it has
    if not is_device:
        path = path.resolve()  # a link is kept, and its target replaced
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give -o the name of a file")
    from limelight.formats.opening import COMPRESSIONS

    if path.suffix.lower() in COMPRESSIONS:
        raise UserError(f"{path}: would be plain text; give -o a name without {path.suffix}")
    if path.is_file() and any(is_path(path.samefile, str(name)) for name in inputs):
        raise UserError(f"{path}: is the input; give -o another name")
    partial = path if is_device else path.with_name(path.name + PARTIAL)
    try:
        file = open(partial, "w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {cause(error).lower()}") from None
    try:
        yield _writer(file, str(path), flush=is_device)
        with _named(file, str(path)):
            file.flush()
            if not is_device:
                os.fsync(file.fileno())
            file.close()
    except BaseException as error:
        with suppress(OSError):
            file.close()
        if not is_device and partial.stat().st_size:
            error.add_note(f"what was done until then is in {partial}")
        elif not is_device:
            partial.unlink()
        raise
    if not is_device:
        partial.replace(path)
        sync(path.parent)


def show(text: str) -> None:
    """Print text for display; characters that the terminal cannot show become question marks."""
    _standard_output(errors="replace")(text + "\n")


def report(figures: Figures, *, as_json: bool) -> None:
    """Print figures as a table for display, or as JSON, which is in UTF-8 as all results are."""
    if as_json:
        _standard_output(encoding="utf-8", errors="replace")(figures.to_json() + "\n")
    else:
        show(figures.table())


def can_show(characters: str) -> bool:
    """Whether the encoding of standard output has these characters."""
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _standard_output(**settings: str) -> Write:
    if sys.stdout is None:
        raise UserError("standard output is closed: leave it open, or name a file with -o")
    with suppress(AttributeError):  # it may have been replaced by another object
        sys.stdout.reconfigure(**settings)  # type: ignore[union-attr]
    return _writer(sys.stdout, "standard output", flush=True)


def _writer(file: TextIO, name: str, *, flush: bool) -> Write:
    def write(text: str) -> None:
        with _named(file, name):
            file.write(text)
            if flush:
                file.flush()

    return write


@contextmanager
def _named(file: TextIO, name: str) -> Iterator[None]:
    """A context that adds the name of the file to write errors."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(file)
        raise RunError(f"{name}: cannot be written: {cause(error).lower()}") from None
