"""Ctrl-C and SIGTERM as a request that is granted as soon as nothing can be lost."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A stop was asked for and everything worth keeping has been kept.

    Not an `Exception`: nothing that handles faults of the work itself may swallow it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number
        self.exit_code = 128 + number


class StopRequest:
    """Listens for signals while it is entered; the signals' former handlers come back when it is left.

    Between updates `check()` raises `Stopped`. Inside `interruptible()`, where nothing is half done (reading text,
    validating, summing gradients), the signal raises it on the spot. A second signal ends the process at once.

    Only the main thread may listen; in any other, signals do what they did before.
    """

    def __init__(self) -> None:
        self.number = 0
        self._interruptible = False
        self._former: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._former[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `Stopped` if a signal has come."""
        if self.number:
            raise Stopped(self.number)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within this block a signal stops the work where it stands."""
        self.check()
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if self.number:
            os._exit(128 + number)
        self.number = number
        if self._interruptible:
            raise Stopped(number)
