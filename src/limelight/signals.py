"""Ctrl-C and SIGTERM as a request that is granted as soon as nothing can be lost, and soon in any case."""

import math
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 9.0
"""Seconds from a signal to the end of the process, whatever it is doing: the limit is ten."""
AT_ONCE = 1.0
"""The same where there is nothing to save."""
ECHO = 0.1
"""For so many seconds the same signal is the same request: `timeout` sends it to a process and then to its group."""


class Stopped(BaseException):
    """A stop was requested, and everything has been saved.

    Not an `Exception`: nothing that handles faults of the work itself may swallow it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number
        self.exit_code = 128 + number


class StopRequest:
    """Listens for signals while it is entered; what listened before comes back when it is left.

    Between updates `check()` raises `Stopped`. Inside `interruptible()`, where nothing is half done (reading text,
    validating, summing gradients), the signal raises it on the spot.

    Python can raise only between two of its own steps, and compiled code may keep it from the next one for minutes. So
    a thread watches, too: it ends the process when the time is up, and at a second signal.

    Only the main thread may listen; in any other, signals do what they did before.
    """

    def __init__(self) -> None:
        self.number = 0
        self._interruptible = False
        self._nothing_to_save = False
        self._leave = ExitStack()

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            watch = threading.Thread(target=self._watch, args=(reading,), daemon=True)
            watch.start()
            self._leave.callback(watch.join)
            self._leave.callback(os.close, writing)  # which tells the watch to go
            self._leave.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(writing, warn_on_full_buffer=False))
            for number in SIGNALS:
                self._leave.callback(signal.signal, number, signal.signal(number, self._heard))
        return self

    def __exit__(self, *_: object) -> None:
        self._leave.close()

    def check(self) -> None:
        """Raise `Stopped` if a signal has come."""
        if self.number:
            raise Stopped(self.number)

    @contextmanager
    def interruptible(self, *, nothing_to_save: bool = False) -> Iterator[None]:
        """Within this block a signal stops the work where it stands; with `nothing_to_save`, soon and by force."""
        self._interruptible, self._nothing_to_save = True, nothing_to_save
        try:
            self.check()
            yield
        finally:
            self._interruptible = self._nothing_to_save = False

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        """The main thread has come to its next step. What follows a first signal is for the watch."""
        if self.number:
            return
        self.number = number
        if self._interruptible:
            raise Stopped(number)

    def _watch(self, pipe: int) -> None:
        """Reads the numbers of signals, which the interpreter writes the moment they come, until the pipe is closed."""
        first, since = 0, math.inf
        while True:
            limit = AT_ONCE if self._nothing_to_save else GRACE
            left = since + limit - time.monotonic()
            if left <= 0:
                _end(first, f"the work had not come to a stop after {limit:g} s")
            if not select.select([pipe], [], [], left if first else None)[0]:
                continue
            numbers = os.read(pipe, 64)
            if not numbers:
                os.close(pipe)
                return
            for number in filter(SIGNALS.__contains__, numbers):
                if not first:
                    first, since = number, time.monotonic()
                elif number != first or time.monotonic() - since > ECHO:
                    _end(number, "this was the second signal")


def _end(number: int, why: str) -> NoReturn:
    """End the process as it stands, with a line on standard error if that can take it without a wait."""
    name = signal.Signals(number).name
    line = f"limelight: stopped by {name} without a last save: {why}; what was saved before is intact\n"
    # Off the line of a live display, which has hidden the cursor of its terminal.
    lead = "\n\x1b[?25h" if os.isatty(2) else ""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"{lead}{line}".encode())
    os._exit(128 + number)


def ignore_hangup() -> None:
    """Ignore SIGHUP until there is a handler: it must not end a process that has just been started."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
