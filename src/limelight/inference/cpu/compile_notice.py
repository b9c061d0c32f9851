"""A message while loops are compiled, at the first use on a machine."""

import time
from collections.abc import Callable

from numba.core import event


class _Waiting(event.Listener):
    """Calls `say` once when the compilation of functions has taken `seconds` in total."""

    def __init__(self, say: Callable[[], None], seconds: float) -> None:
        self.say, self.left = say, seconds
        self.begun: list[float] = []
        """Start times of compilations in progress: a function is compiled within its caller."""

    def on_start(self, event: event.Event) -> None:
        self.begun.append(time.perf_counter())

    def on_end(self, event: event.Event) -> None:
        took, before = time.perf_counter() - self.begun.pop(), self.left
        if not self.begun:
            self.left -= took
        if self.left <= 0 < before:
            self.say()


def tell_compiling(say: Callable[[], None], *, seconds: float = 1.0) -> None:
    """Call `say` once when functions that are not cached on disk have been compiled for `seconds` in total."""
    event.register("numba:compile", _Waiting(say, seconds))
