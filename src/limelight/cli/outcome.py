"""How a command ends: an exit code, and a message instead of a traceback.

0 done; 1 the work failed; 2 the caller's mistake; 130 and 143 stopped by Ctrl-C or SIGTERM. What is raised beyond that
is a fault of ours and keeps its traceback.
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from typing import Any, cast

import typer

from limelight.errors import RunError, UserError
from limelight.signals import Stopped, StopRequest

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory", "bad_alloc",
                 "ALLOC_FAILED", "resource temporarily unavailable", "can't start new thread",
                 "failed to map segment")  # fmt: skip
"""How torch's allocators and the libraries below them say it, as a plain `RuntimeError` or while they are loaded."""


def guarded(command: Callable[..., None], *, with_less_memory: str) -> Callable[..., int]:
    """The command with the same options, which returns its exit code.

    `with_less_memory` says how the command needs less memory, for the message where it runs out.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> int:
        return exit_code(lambda: command(*args, **options), with_less_memory=with_less_memory)

    return run


def exit_code(work: Callable[[], None], *, with_less_memory: str) -> int:
    """Do the work and tell how it ended, in a number and, unless all is well, in a line on standard error.

    Signals stop it on the spot, unless the work listens to them itself, as training does.
    """
    try:
        with warnings_in_lines(), StopRequest() as stop, stop.interruptible():
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
        silence(cast(TextIOBase, sys.stdout))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else "reading or writing failed: "
        return say(f"{place}{error.strerror or error}", 1)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not is_out_of_memory(error):
            raise
        return say(f"out of memory ({_first_line(error)}). {with_less_memory}", 1)
    return 0


@contextmanager
def warnings_in_lines() -> Iterator[None]:
    """Within it, a warning is a line on standard error, without the place in our code where it was given."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: cast(None, say(f"warning: {message}", 0))
        yield


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine had no more memory to give, on the CPU or on a GPU."""
    return isinstance(error, MemoryError) or any(sign.lower() in str(error).lower() for sign in OUT_OF_MEMORY)


def say(message: object, code: int) -> int:
    """A line on standard error, with the notes that an exception has gathered on its way; returns the code."""
    notes = getattr(message, "__notes__", [])
    with suppress(OSError):  # nobody may be listening there, and the code still tells
        typer.echo("; ".join([f"limelight: {message}", *notes]), err=True)
    return code


def silence(stream: TextIOBase) -> None:
    """Let what is still to be written vanish; otherwise Python complains once more while it closes the stream."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
