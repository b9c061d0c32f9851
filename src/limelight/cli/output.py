"""Output of results: standard output, or a file that is created when it is complete."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from pathlib import Path
from typing import cast

from limelight.cli.outcome import silence
from limelight.errors import RunError, UserError
from limelight.files import PARTIAL

Write = Callable[[str], None]


@contextmanager
def lines_to(path: Path | None) -> Iterator[Write]:
    """A context that yields a function that writes a line; otherwise like `text_to`."""
    with text_to(path) as write:
        yield lambda line: write(line + "\n")


@contextmanager
def text_to(path: Path | None) -> Iterator[Write]:
    """A context that yields a function that writes text, to standard output if no path is given.

    Raises `UserError` immediately if the file cannot be written, before any work is done. Text is first written to a
    partial file; if the work fails, that file remains, and the exception gets a note with its name.
    """
    if path is None:
        # In UTF-8 whatever the environment says: text of any language must come through.
        yield _standard_output(encoding="utf-8")
        return
    path = path.resolve()  # a link is kept, and its target replaced
    if path.exists() and not path.is_file():  # pipes and devices are written directly
        with _open(path, path) as file:
            yield _writer(file, str(path), flush=True)
        return
    partial = path.with_name(path.name + PARTIAL)
    with _open(partial, path) as file:
        try:
            yield _writer(file, str(path))
            with _named(file, str(path)):
                file.close()
            partial.replace(path)
        except BaseException as error:
            with suppress(OSError):
                file.close()
            if partial.stat().st_size:
                error.add_note(f"what was done until then is in {partial}")
            else:
                partial.unlink()
            raise


def show(text: str) -> None:
    """Print text for display; characters that the terminal cannot show become question marks."""
    _standard_output(errors="replace")(text + "\n")


def can_show(characters: str) -> bool:
    """Whether the encoding of standard output has these characters."""
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def can_color() -> bool:
    """Whether standard output is a terminal with 256 colors, and `NO_COLOR` is not set."""
    from rich.console import Console

    console = Console()
    return not console.no_color and console.color_system in ("256", "truecolor")


def _open(place: Path, path: Path) -> TextIOBase:
    """Open `place` for writing; `path` is its name in messages."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give -o the name of a file")
    try:
        return open(place, "w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _standard_output(**settings: str) -> Write:
    if sys.stdout is None:
        raise UserError("standard output is closed: leave it open, or name a file with -o")
    with suppress(AttributeError):  # it may have been replaced by another object
        sys.stdout.reconfigure(**settings)  # type: ignore[union-attr]
    return _writer(cast(TextIOBase, sys.stdout), "standard output", flush=True)


def _writer(file: TextIOBase, name: str, *, flush: bool = False) -> Write:
    def write(text: str) -> None:
        with _named(file, name):
            file.write(text)
            if flush:
                file.flush()

    return write


@contextmanager
def _named(file: TextIOBase, name: str) -> Iterator[None]:
    """A context that adds the name of the file to write errors."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(file)
        raise RunError(f"{name}: cannot be written: {(error.strerror or str(error)).lower()}") from None
