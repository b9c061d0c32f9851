"""An engine for models that do not translate: texts are written on, masks filled in, and their attention shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.pipelines.explain_text import explain_filled, explain_written, text_head
from limelight.pipelines.generator import Growth, TextGenerator
from limelight.pipelines.mask_filler import MaskFiller
from limelight.serving.tasks import Report, Task
from limelight.serving.worker import FAILED, Inbox, finite, waiting


@dataclass(slots=True)
class Writing:
    """A text that grows."""

    task: Task
    growth: Iterator[Growth]
    text: str = ""


class TextWorker:
    """Works with one language model or one masked model; texts that are written at a time take turns.

    Args:
        send: is called with each report, in the worker's thread.
        name: what the model is called in answers.
    """

    def __init__(self, pipeline: TextGenerator | MaskFiller, send: Callable[[Report], None], name: str = "") -> None:
        self._pipeline, self._send, self._name = pipeline, send, name
        self._writing: dict[int, Writing] = {}

    def run(self, inbox: Inbox) -> None:
        """Work until None is taken from the inbox: what is written then is left."""
        while True:
            for task in waiting(inbox, idle=not self._writing):
                if task is None:
                    return
                self._guarded(task.id, self._take, task)
            for writing in list(self._writing.values()):
                self._guarded(writing.task.id, self._grow, writing)

    def _guarded(self, task: int, work: Callable[[Any], None], given: Any) -> None:
        try:
            work(given)
        except UserError as error:
            self._writing.pop(task, None)
            self._send(Report(task, "refused", str(error)))
        except Exception as error:
            self._writing.pop(task, None)
            self._send(Report(task, "failed", f"{FAILED} ({type(error).__name__})"))

    def _take(self, task: Task) -> None:
        one = self._pipeline
        if task.kind == "cancel":
            self._writing.pop(task.id, None)
        elif task.kind == "ping":
            self._send(Report(0, "pong"))
        elif task.kind == "text_head":
            self._send(Report(task.id, "done", text_head(one, task.text, task.options)))
        elif task.kind == "fill" and isinstance(one, MaskFiller):
            self._send(Report(task.id, "done", finite(explain_filled(one, task.text, self._name))))
        elif task.kind == "write" and isinstance(one, TextGenerator):
            sampling = task.options.get("sampling")
            growth = one.write(
                task.text,
                max_tokens=task.options["max_tokens"],
                sampling=None if sampling is None else Sampling(**sampling),
            )
            self._writing[task.id] = Writing(task, growth)
        else:
            self._send(Report(task.id, "refused", f"this model does not {task.kind}"))

    def _grow(self, writing: Writing) -> None:
        """One more token."""
        growth = next(writing.growth)
        writing.text += growth.text
        if growth.done is None:
            if writing.task.stream and growth.text:
                self._send(Report(writing.task.id, "partial", [writing.text, writing.text]))
            return
        del self._writing[writing.task.id]
        assert isinstance(self._pipeline, TextGenerator)
        document = finite(explain_written(self._pipeline, growth.done, self._name))
        self._send(Report(writing.task.id, "done", {"text": growth.done.text, "document": document}))
