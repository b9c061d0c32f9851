"""The two workers of an engine: what takes long does not hold up what is short.

A step for a long sentence, the alternatives of a wide beam, and an explanation each take up to seconds in one piece. So
requests that take long have a thread of their own. Compiled code and matrix products release Python's lock; a machine
with one core divides its time between the threads, and gives the long ones less.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from limelight.serving.tasks import Report, Task
from limelight.serving.worker import Inbox, Worker

BRIEF = ("translate", "protected", "detect")
"""Kinds of tasks that a short request has; all others take long, such as an explanation."""

NICENESS = 5
"""Of the thread for what takes long: where all cores are busy, a short request gets three times its time."""

PASSED_ON = -1
"""The number of a `ping` that the thread for what takes long has heard."""


class Workers:
    """A worker for short requests, and one for those that take long.

    Args:
        make: makes a worker, which calls its argument with each report; called twice.
        send: is called with each report, by either thread.
    """

    def __init__(self, make: Callable[[Callable[[Report], None]], Worker], send: Callable[[Report], None]) -> None:
        self._send = send
        self._short, self._long = make(send), make(self._heard)
        self._inbox, self._aside = Inbox(), Inbox()
        self._error: BaseException | None = None

    def run(self, inbox: Inbox) -> None:
        """Work until None is taken from the inbox: what is running then is left."""
        self._inbox = inbox
        aside = threading.Thread(target=self._run_aside, daemon=True, name="long requests")
        aside.start()
        try:
            self._short.run(_Sorted(inbox, self._aside))
        finally:
            self._aside.put(None)
            aside.join()
        if self._error is not None:
            raise self._error

    def _run_aside(self) -> None:
        if sys.platform == "linux":  # elsewhere the priority is that of the process
            thread = threading.get_native_id()
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
        try:
            self._long.run(self._aside)
        except BaseException as error:
            self._error = error
            self._inbox.put(None)

    def _heard(self, report: Report) -> None:
        """A report of what takes long. A `ping` is answered when both threads have heard it."""
        if report.kind == "pong":
            self._inbox.put(Task(PASSED_ON, "ping"))
        else:
            self._send(report)


class _Sorted(Inbox):
    """An inbox without what takes long, which goes into another one when its turn comes."""

    def __init__(self, inbox: Inbox, aside: Inbox) -> None:
        self._inbox, self._aside = inbox, aside

    def get(self, block: bool = True, timeout: float | None = None) -> Task | None:
        """See `SimpleQueue.get`."""
        while True:
            task = self._inbox.get(block, timeout)
            if task is None or task.id == PASSED_ON:
                return task
            if task.kind == "cancel":
                self._aside.put(task)
                return task
            if not task.long and task.kind in BRIEF:
                return task
            self._aside.put(task)

    def get_nowait(self) -> Task | None:
        """See `SimpleQueue.get_nowait`."""
        return self.get(block=False)
