"""Command lines in processes of their own, which tell when they have come to a chosen moment.

Like all processes of `tests.forked`, they start in milliseconds.
"""

import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch

from limelight.cli.app import run
from tests.forked import PROCESSES

IN_COMPILED_CODE = math.inf


class Moment(NamedTuple):
    """The beginning of a call of a function, given by its full name."""

    function: str
    count: int = 1
    """Which of its calls, counted from one."""
    lasts: float = 0.0
    """So many seconds are spent there; `IN_COMPILED_CODE`: minutes, between two steps of Python."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    seconds: float
    """Since it was last sent a signal."""
    errors: str


class Command:
    """`limelight WORDS`, running."""

    def __init__(
        self, words: list[str], errors: Path, moment: Moment | None = None, changed: Mapping[str, Any] | None = None
    ) -> None:
        """Standard error goes to the file `errors`; `changed` are values, by full name, that this process has others
        of."""
        self._errors = errors
        self._told, telling = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=_run, args=(words, errors, moment, changed or {}, telling))
        self.process.start()
        telling.close()
        self._since = time.monotonic()

    def reach(self) -> None:
        """Wait until it has come to its moment."""
        try:
            assert self._told.poll(120), "it does not get there"
            self._told.recv()
        except EOFError:
            raise AssertionError(f"it has ended before: {self.end()}") from None

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._since = time.monotonic()
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self, patience: float = 120) -> Ended:
        """Wait for its end. Raises `AssertionError` where that takes longer; then it is killed."""
        self.process.join(patience)
        seconds = time.monotonic() - self._since
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
            raise AssertionError(f"still there after {seconds:.1f} s")
        return Ended(self.process.exitcode, seconds, self._errors.read_text(encoding="utf-8"))


def _run(
    words: list[str], errors: Path, moment: Moment | None, changed: Mapping[str, Any], telling: Connection
) -> None:
    torch.set_num_threads(1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for name, value in changed.items():
        _change(name, lambda _, value=value: value)
    if moment is not None:
        _change(moment.function, lambda function: _telling(function, moment, lambda: telling.send(None)))
    sys.exit(run(words))


def _change(name: str, change: Callable[[Any], Any]) -> None:
    """Replace what has this full name: an attribute of a module, or of a class in one."""
    owner_name, _, attribute = name.rpartition(".")
    try:
        owner: Any = importlib.import_module(owner_name)
    except ModuleNotFoundError:
        module, _, kind = owner_name.rpartition(".")
        owner = getattr(importlib.import_module(module), kind)
    setattr(owner, attribute, change(getattr(owner, attribute)))


def _telling(function: Callable[..., Any], moment: Moment, tell: Callable[[], None]) -> Callable[..., Any]:
    calls = 0

    def told(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == moment.count:
            matrix = torch.ones(3000, 3000)
            tell()
            if moment.lasts == IN_COMPILED_CODE:
                torch.linalg.matrix_power(matrix, 2**60)  # sixty products, each of a second or more
            else:
                time.sleep(moment.lasts)
        return function(*arguments, **options)

    return told
