"""A message while loops are compiled, at the first use on a machine."""

import time
from collections.abc import Callable

from numba.core import event


class _Waiting(event.Listener):
    """Says once that functions are being compiled, when they have taken so many seconds together."""

    def __init__(self, say: Callable[[], None], seconds: float) -> None:
        self.say, self.left = say, seconds
        self.begun: list[float] = []
        """When those began that are under way: a function is compiled within the one that calls it."""

    def on_start(self, event: event.Event) -> None:
        self.begun.append(time.perf_counter())

    def on_end(self, event: event.Event) -> None:
        took, before = time.perf_counter() - self.begun.pop(), self.left
        if not self.begun:
            self.left -= took
        if self.left <= 0 < before:
            self.say()


def tell_compiling(say: Callable[[], None], *, seconds: float = 1.0) -> None:
    """From now on `say` is called, once, when functions that were not on disk have been compiled for so long."""
    event.register("numba:compile", _Waiting(say, seconds))
