"""An engine for models that do not translate: it continues texts and fills in masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.pipelines.explain_text import explain_filled, explain_written, text_head
from limelight.pipelines.generator import Growth, TextGenerator
from limelight.pipelines.mask_filler import MaskFiller
from limelight.serving.engine import Engine, finite
from limelight.serving.links import Report, ReportCallback, Task


@dataclass(slots=True)
class Writing:
    """A text that grows."""

    task: Task
    growth: Iterator[Growth]
    text: str = ""


class TextEngine(Engine):
    """Works with a language model or a masked model; texts that are written at a time take turns.

    Args:
        name: of the model in answers.
    """

    def __init__(self, pipeline: TextGenerator | MaskFiller, send: ReportCallback, name: str = "") -> None:
        super().__init__(send)
        self._pipeline, self._name = pipeline, name
        self._writing: dict[int, Writing] = {}

    @property
    def busy(self) -> bool:
        return bool(self._writing)

    def cancel(self, task: int) -> None:
        self._writing.pop(task, None)

    def take(self, task: Task) -> None:
        one, (text,) = self._pipeline, task.texts
        if task.kind == "text_head":
            self.send(Report(task.id, "done", text_head(one, text, dict(task.options))))
        elif task.kind == "fill" and isinstance(one, MaskFiller):
            self.send(Report(task.id, "done", finite(explain_filled(one, text, self._name))))
        elif task.kind == "write" and isinstance(one, TextGenerator):
            sampling = task.options.get("sampling")
            drawn = None if sampling is None else Sampling(**sampling)
            growth = one.write(text, max_tokens=task.options["max_tokens"], sampling=drawn)
            self._writing[task.id] = Writing(task, growth)
        else:
            raise UserError(f"this model does not {task.kind}")

    def step(self) -> None:
        for writing in list(self._writing.values()):
            self.guarded(writing.task.id, self._grow, writing)

    def _grow(self, writing: Writing) -> None:
        """One more token."""
        growth = next(writing.growth)
        writing.text += growth.text
        if growth.done is None:
            if writing.task.stream and growth.text:
                self.send(Report(writing.task.id, "partial", [0, writing.text]))
            return
        del self._writing[writing.task.id]
        assert isinstance(self._pipeline, TextGenerator)
        document = finite(explain_written(self._pipeline, growth.done, self._name))
        self.send(Report(writing.task.id, "done", {"text": growth.done.text, "document": document}))
