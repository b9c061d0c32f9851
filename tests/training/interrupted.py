"""Training that is interrupted at a chosen moment, within this process."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from limelight.preparation import align, pairs, vocabulary
from limelight.training import loop
from limelight.training.checkpoints import checkpoint, keep
from limelight.training.tasks import translation
from limelight.training.tasks.task import Task

MOMENTS: dict[str, tuple[Any, str]] = {
    "update": (loop, "update"),
    "micro-batch": (Task, "loss"),
    "part of a checkpoint": (checkpoint, "sha256"),
    "old checkpoint": (checkpoint, "_remove_old"),
    "snapshot": (keep, "save_weights"),
    "best model": (keep, "save_model"),
    "model snapshot": (keep, "save_model"),
    "thinning": (keep, "remove"),
    "validation": (translation, "mean_loss"),
    "vocabulary": (vocabulary, "save_tokenizers"),
    "corpus": (pairs, "_write"),
    "alignments": (align, "WordAligner"),
    "final": (loop, "finish_model"),
}
"""A function to be interrupted when it begins."""


class Killed(BaseException):
    """What a killed process would have done next is not done: nothing but exits of `with` and `finally` runs."""


def kill() -> None:
    raise Killed


def interruption(moment: str, count: int, act: Callable[[], None]) -> AbstractContextManager[None]:
    """Within this block `act` happens just before the `count`th call, from one, of what `moment` names."""
    return before_call(*MOMENTS[moment], count, act)


@contextmanager
def before_call(module: Any, name: str, count: int, act: Callable[[], None]) -> Iterator[None]:
    """The same for any function of a module."""
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
