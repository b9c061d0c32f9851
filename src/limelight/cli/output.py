"""Where results go: standard output, or a file that appears when it is complete."""

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
    """Within it, a function that writes a line; otherwise `text_to`."""
    with text_to(path) as write:
        yield lambda line: write(line + "\n")


@contextmanager
def text_to(path: Path | None) -> Iterator[Write]:
    """Within it, a function that writes some text; to standard output where no path is given.

    Raises `UserError` at once where the file cannot be written, before any work is done. Text comes together beside its
    place; if the work does not come to its end it stays there, and the exception gets a note that says so.
    """
    if path is None:
        # In UTF-8 whatever the environment says: text of any language must come through.
        yield _standard_output(encoding="utf-8")
        return
    path = path.resolve()  # a link stays one, and what it points to is replaced
    if path.exists() and not path.is_file():  # a pipe or a device cannot appear when it is complete
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
    """Text for people on standard output: a character that a terminal cannot show becomes a question mark."""
    _standard_output(errors="replace")(text + "\n")


def can_show(characters: str) -> bool:
    """Whether standard output has these characters."""
    try:
        characters.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def can_color() -> bool:
    """Whether standard output is a terminal with 256 colors, and `NO_COLOR` does not ask for none."""
    from rich.console import Console

    console = Console()
    return not console.no_color and console.color_system in ("256", "truecolor")


def _open(place: Path, path: Path) -> TextIOBase:
    """Open for writing; `path` is what the user called it."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give -o the name of a file")
    try:
        return open(place, "w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _standard_output(**settings: str) -> Write:
    if sys.stdout is None:
        raise UserError("standard output is closed: leave it open, or name a file with -o")
    with suppress(AttributeError):  # something else may have been put in its place
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
    """Within it, a failure to write names the file; the system does not."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(file)
        raise RunError(f"{name}: cannot be written: {(error.strerror or str(error)).lower()}") from None
