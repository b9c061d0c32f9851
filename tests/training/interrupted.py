"""Training that is interrupted at a chosen moment: within this process, or in one of its own.

`python -m tests.training.interrupted CONFIG RUN SIGNAL MOMENT COUNT` trains and sends itself a signal just before the
COUNTth (from one) call of what MOMENT names.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limelight.config import load_config
from limelight.training import checkpoint, keep, loop, prepare, run, run_state, update
from limelight.training.signals import Stopped

MOMENTS: dict[str, tuple[Any, str]] = {
    "update": (loop, "update"),
    "micro-batch": (update, "batch_loss"),
    "part of a checkpoint": (checkpoint, "sha256"),
    "old checkpoint": (checkpoint, "_remove_old"),
    "snapshot": (keep, "save_weights"),
    "best model": (keep, "save_model"),
    "validation": (run_state, "validate"),
    "vocabulary": (prepare, "save_tokenizers"),
    "store": (prepare, "open_store"),
    "final": (loop, "finish_model"),
}
"""A function to be interrupted when it begins."""


class Killed(BaseException):
    """What a killed process would have done next is not done: nothing but exits of `with` and `finally` runs."""


def kill() -> None:
    raise Killed


@contextmanager
def interruption(moment: str, count: int, act: Callable[[], None]) -> Iterator[None]:
    """Within this block `act` happens just before the `count`th call of what `moment` names."""
    module, name = MOMENTS[moment]
    function, calls = getattr(module, name), 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count:
            act()
        return function(*arguments, **options)

    setattr(module, name, interrupted)
    try:
        yield
    finally:
        setattr(module, name, function)


def main(config: str, folder: str, number: str, moment: str, count: str) -> int:
    """Train with an interruption; the exit code is that of the command line."""
    try:
        with interruption(moment, int(count), lambda: os.kill(os.getpid(), int(number))):
            run.train(load_config(config), Path(folder), quiet=True)
    except Stopped as stopped:
        return stopped.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
