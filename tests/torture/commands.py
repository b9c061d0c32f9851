"""Command lines in processes of their own, which tell when they have come to a chosen moment."""

import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from limelight.cli.app import run
from tests.torture.processes import Called

IN_COMPILED_CODE = math.inf


class Moment(NamedTuple):
    """The beginning of a call of a function, given by its full name."""

    function: str
    count: int = 1
    """Which of its calls, counted from one."""
    lasts: float = 0.0
    """So many seconds are spent there; `IN_COMPILED_CODE`: minutes, between two steps of Python."""


class Command(Called):
    """`limelight WORDS`, running. Standard error goes to a file; `changed` are values by full name."""

    def __init__(
        self, words: list[str], errors: Path, moment: Moment | None = None, changed: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(_run, words, errors, moment, changed or {})
        self._file = errors

    @property
    def errors(self) -> str:
        return self._file.read_text(encoding="utf-8")


def _run(
    words: list[str], errors: Path, moment: Moment | None, changed: Mapping[str, Any], tell: Callable[[Any], None]
) -> None:
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for name, value in changed.items():
        _change(name, lambda _, value=value: value)
    if moment is not None:
        _change(moment.function, lambda function: _telling(function, moment, lambda: tell(moment)))
    sys.exit(run(words))


def _change(name: str, change: Callable[[Any], Any]) -> None:
    """Replace an attribute of a module, or of a class in one."""
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
