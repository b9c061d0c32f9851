"""The loop of an engine, which works on tasks in a process of its own. It knows no HTTP.

It takes tasks from an inbox and sends reports: `translation.py` for models that translate, `writing.py` for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from queue import Empty
from typing import Any, TypeVar

from limelight.child import Inbox
from limelight.errors import UserError
from limelight.formats.translation_memory import MemoryMatch
from limelight.formats.unit import FormatError
from limelight.pipelines.translation import Translation, Word
from limelight.serving.links import PING, Report, ReportCallback, Task

FAILED = "the model could not translate this text"

Given = TypeVar("Given")


class Engine:
    """The loop of an engine. `send` is called with each report."""

    def __init__(self, send: ReportCallback) -> None:
        self.send = send

    @property
    def busy(self) -> bool:
        """Whether there is work beside new tasks."""
        raise NotImplementedError

    def run(self, inbox: Inbox) -> None:
        """Work until None comes as a task: what is running then is left."""
        while True:
            for task in _waiting(inbox, idle=not self.busy):
                if task is None:
                    return
                if task.kind == PING:
                    self.send(Report(0, "pong"))
                elif task.kind == "cancel":
                    self.cancel(task.id)
                else:
                    self.guarded(task.id, self.take, task)
            self.step()

    def guarded(self, task: int, work: Callable[[Given], None], given: Given) -> None:
        """Do some work for a task; an error ends it."""
        try:
            work(given)
        except Exception as error:
            self.cancel(task)
            if isinstance(error, FormatError):
                place = f" in line {error.line}" if error.line else ""
                self.send(Report(task, "tags", f"the tags of the text cannot be read{place}: {error.reason}"))
            elif isinstance(error, UserError):
                self.send(Report(task, "refused", str(error)))
            else:
                self.send(Report(task, "failed", f"{FAILED} ({type(error).__name__})"))

    def take(self, task: Task) -> None:
        """Begin with a task."""
        raise NotImplementedError

    def cancel(self, task: int) -> None:
        """Leave a task undone; nothing if there is none of this number."""
        raise NotImplementedError

    def step(self) -> None:
        """Do some work for all tasks."""
        raise NotImplementedError


def _waiting(inbox: Inbox, *, idle: bool) -> Iterator[Task | None]:
    """All tasks that have come; waits for one if there is nothing else to do."""
    with suppress(Empty):
        while True:
            task = inbox.get(idle)[0]["task"]
            yield None if task is None else Task(*task)
            idle = False


def finite(value: Any) -> Any:
    """A value as JSON takes it: None for numbers that JSON does not have, and an object for a translation, a word and
    a match."""
    match value:
        case str() | None | bool():  # most of a translation: its tokens
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case Translation() | Word() | MemoryMatch():
            return {each.name: finite(getattr(value, each.name)) for each in fields(value)}  # of a subclass, too
    return value
