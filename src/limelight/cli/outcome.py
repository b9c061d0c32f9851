"""The outcome of a command: an exit code, and a message instead of a traceback.

0 done; 1 the work failed; 2 the caller's mistake; 130 and 143 stopped by Ctrl-C or SIGTERM. Any other exception is a
bug and keeps its traceback.
"""

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TextIO

import typer

from limelight.errors import RunError, UserError
from limelight.signals import Stopped, StopRequest

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory", "bad_alloc",
                 "alloc_failed", "resource temporarily unavailable", "can't start new thread",
                 "failed to map segment")  # fmt: skip
"""Parts of the messages of torch's allocators and other libraries, raised as `RuntimeError` or while loading them, in
lower case."""

WITH_LESS_MEMORY = (
    "What is finished is kept. Give smaller batches (--batch-tokens, --beam; in training half the batching.tokens and "
    "twice the training.accumulate), or split very long lines"
)


class About(NamedTuple):
    """A command, and the examples in its help."""

    run: Callable[..., None]
    examples: str


LOADED: dict[str, About] = {}
"""The commands of imported modules, by name."""


def command(name: str, examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that registers a command."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        LOADED[name] = About(function, f"\n[bold]Examples[/bold]\n{examples.strip(chr(10))}\n")
        return function

    return register


def exit_code(work: Callable[[], None]) -> int:
    """Do the work and return its exit code; print a message on standard error if it failed.

    Signals stop it immediately, unless the work handles them itself, as training does.
    """
    try:
        with warnings.catch_warnings(), StopRequest() as stop, stop.interruptible():
            warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")  # in a line
            work()
    except Stopped as stopped:
        return say(stopped, stopped.exit_code)
    except KeyboardInterrupt:
        return 130
    except UserError as error:
        return say(error, 2)
    except RunError as error:
        return say(error, 1)
    except BrokenPipeError:  # the reader of the output has closed it (`| head`)
        silence(sys.stdout)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else "reading or writing failed: "
        return say(f"{file}{error.strerror or error}", 1)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        return say(f"out of memory ({why}). {WITH_LESS_MEMORY}", 1)
    return 0


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that the machine is out of memory, on the CPU or on a GPU."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | ImportError) and any(sign in str(error).lower() for sign in OUT_OF_MEMORY)
    )


def say(message: object, code: int) -> int:
    """Print a line on standard error, with the notes of an exception; returns the code."""
    notes = getattr(message, "__notes__", [])
    with suppress(OSError):  # standard error may be closed; the exit code is enough
        typer.echo("; ".join([f"limelight: {message}", *notes]), err=True)
    return code


def note(line: object) -> None:
    """Print a line on standard error."""
    say(line, 0)


def wrote(path: object) -> None:
    """Print the name of a file that was written, on standard error."""
    typer.echo(f"wrote {path}", err=True)


def silence(stream: TextIO) -> None:
    """Discard the buffered output; otherwise Python reports another error when it closes the stream."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
