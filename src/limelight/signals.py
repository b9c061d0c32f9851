"""Graceful stop on Ctrl-C and SIGTERM: save first, but end in any case within a time limit."""

import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 9.0
"""Maximum seconds from a signal to the end of the process, whatever it is doing; the limit is ten."""
ECHO = 0.1
"""Seconds within which the same signal counts as one request: `timeout` sends it to a process and then to its group."""


class Stopped(BaseException):
    """A stop was requested, and everything has been saved.

    Not an `Exception`, so that handlers of ordinary errors do not swallow it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number
        self.exit_code = 128 + number


class StopRequest:
    """A context that handles stop signals; previous handlers are restored on exit.

    A signal sets `number`, which the training loop reads after each update. Inside `interruptible()`, where no state is
    half written (reading text, validating, summing gradients), it raises `Stopped` immediately.

    Python runs signal handlers only between bytecodes, and compiled code may delay that for minutes. Therefore a thread
    watches, too: it ends the process when the time is up, and at a second signal.

    Handlers are installed only in the main thread; in other threads signals keep their behavior.
    """

    def __init__(self) -> None:
        self.number = 0
        self._interruptible = False
        self._leave = ExitStack()

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            reading, writing = socket.socketpair()  # Windows cannot wait for a pipe
            writing.setblocking(False)
            watch = threading.Thread(target=self._watch, args=(reading,), daemon=True)
            watch.start()
            self._leave.callback(watch.join)
            self._leave.callback(writing.close)  # which ends the watch thread
            before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
            self._leave.callback(signal.set_wakeup_fd, before)
            for number in SIGNALS:
                self._leave.callback(signal.signal, number, signal.signal(number, self._handle))
        return self

    def __exit__(self, *_: object) -> None:
        self._leave.close()

    def check(self) -> None:
        """Raise `Stopped` if a signal has arrived."""
        if self.number:
            raise Stopped(self.number)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """A context in which a signal raises `Stopped` immediately."""
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False
            if not isinstance(sys.exception(), Stopped):  # compiled code and callbacks of weak references may hide it
                self.check()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler in the main thread. Signals after the first are handled by the watch thread."""
        if self.number:
            return
        self.number = number
        if self._interruptible:
            raise Stopped(number)

    def _watch(self, arriving: socket.socket) -> None:
        """Read signal numbers, which the interpreter writes on arrival, until the other end is closed."""
        first, since = 0, math.inf
        while True:
            left = since + GRACE - time.monotonic()
            if left <= 0:
                _end(first, f"the work had not come to a stop after {GRACE:g} s")
            if not select.select([arriving], [], [], left if first else None)[0]:
                continue
            numbers = arriving.recv(64)
            if not numbers:
                arriving.close()
                return
            for number in filter(SIGNALS.__contains__, numbers):
                if not first:
                    first, since = number, time.monotonic()
                elif number != first or time.monotonic() - since > ECHO:
                    _end(number, "this was the second signal")


def _end(number: int, why: str) -> NoReturn:
    """End the process immediately, with a line on standard error if that can be written without blocking."""
    name = signal.Signals(number).name
    line = f"limelight: stopped by {name} without a last save: {why}; what was saved before is intact\n"
    # Leave the line of a live display and show the cursor, which the display has hidden.
    lead = "\n\x1b[?25h" if os.isatty(2) else ""
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0)[1]:
            os.write(2, f"{lead}{line}".encode())
    os._exit(128 + number)


def end_on_interrupt() -> None:
    """Let Ctrl-C end the process with a line instead of a traceback while nothing else handles it: before the work of a
    command begins, and after it ends."""

    def end(number: int, _frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(2, f"limelight: {Stopped(number)}\n".encode())
        os._exit(128 + number)

    signal.signal(signal.SIGINT, end)


def ignore_hangup() -> None:
    """Ignore SIGHUP until a handler is installed: it must not end a process that has just started."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
