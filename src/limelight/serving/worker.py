"""The owner of an engine: takes tasks as they come, steps, and reports. It belongs to one thread and knows no HTTP."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import Any

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.lane import Outcome
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.models.eval_mode import eval_mode
from limelight.pipelines.translator import Prepared, Translation, Translator
from limelight.serving.tasks import Report, Task
from limelight.text.detection import LanguageDetector

DETECTED = 1000
"""Characters of a text that its language is told by."""

FAILED = "the model could not translate this text"

Inbox = SimpleQueue[Task | None]
"""Tasks; None when there will be no more."""


@dataclass(slots=True)
class Running:
    """A task that is being decoded."""

    task: Task
    prepared: Prepared
    shown: str = ""


class Worker:
    """Translates with one engine.

    Args:
        send: is called with each report, in the worker's thread.
        detector: tells the language of texts; None where the model has a single source language.
    """

    def __init__(
        self, translator: Translator, send: Callable[[Report], None], detector: LanguageDetector | None = None
    ) -> None:
        self._translator, self._send, self._detector = translator, send, detector
        self._engine = translator.engine()
        self._running: dict[int, Running] = {}
        """By the engine's numbers."""
        self._numbers: dict[int, int] = {}
        """The engine's number of each task."""

    def run(self, inbox: Inbox) -> None:
        """Work until None is taken from the inbox: what is running then is left."""
        with eval_mode(self._translator.searched):
            while True:
                for task in self._waiting(inbox):
                    if task is None:
                        return
                    self._take(task)
                self._step()

    def _waiting(self, inbox: Inbox) -> Iterator[Task | None]:
        """All that has come; waits for one where there is nothing else to do."""
        if not self._engine.busy:
            yield inbox.get()
        while True:
            try:
                yield inbox.get_nowait()
            except Empty:
                return

    def _take(self, task: Task) -> None:
        try:
            if task.kind == "cancel":
                self._cancel(task.id)
            elif task.kind == "translate":
                self._begin(task)
            elif task.kind == "detect":
                self._send(Report(task.id, "done", self._detected(task.text)))
            else:
                self._send(Report(task.id, "refused", f"this engine does not know how to {task.kind}"))
        except UserError as error:
            self._send(Report(task.id, "refused", str(error)))
        except Exception as error:
            self._send(Report(task.id, "failed", f"{FAILED} ({type(error).__name__})"))

    def _begin(self, task: Task) -> None:
        options = dict(task.options)
        sampling = options.pop("sampling", None)
        prefix = options.pop("prefix", "")
        (prepared,) = self._translator.prepare(
            [task.text],
            prefix=[prefix] if prefix else None,
            sampling=None if sampling is None else Sampling(**sampling),
            **options,
        )
        if prepared.request is None:
            self._send(Report(task.id, "done", plain(self._translator.finish(prepared))))
            return
        number = self._engine.submit(prepared.request)
        self._running[number] = Running(task, prepared)
        self._numbers[task.id] = number

    def _cancel(self, task: int) -> None:
        number = self._numbers.pop(task, None)
        if number is not None:
            self._engine.cancel(number)
            del self._running[number]

    def _detected(self, text: str) -> dict[str, float]:
        """How likely each language is, the likeliest first."""
        if self._detector is not None:
            return self._detector.probabilities(text[:DETECTED])
        return dict.fromkeys(sorted({direction.source for direction in self._translator.directions}), 1.0)

    def _step(self) -> None:
        for outcome in self._engine.step():
            running = self._running.pop(outcome.id)
            del self._numbers[running.task.id]
            self._send(self._report(running, outcome))
        for number, running in self._running.items():
            if running.task.stream:
                self._show(number, running)

    def _report(self, running: Running, outcome: Outcome) -> Report:
        if outcome.error is not None:
            return Report(running.task.id, "failed", f"{FAILED} ({type(outcome.error).__name__})")
        return Report(running.task.id, "done", plain(self._translator.finish(running.prepared, outcome.hypotheses)))

    def _show(self, number: int, running: Running) -> None:
        """The text so far, where it has changed. The last word may still grow."""
        hypothesis = self._engine.partial(number)
        if hypothesis is None:
            return
        text = self._translator.finish(running.prepared, [_unfinished(hypothesis)]).text
        if text != running.shown and "\ufffd" not in text[-1:]:
            running.shown = text
            self._send(Report(running.task.id, "partial", text))


def _unfinished(hypothesis: Hypothesis) -> Hypothesis:
    return Hypothesis(hypothesis.ids, hypothesis.score, hypothesis.log_probability, finished=False)


def plain(translation: Translation) -> dict[str, Any]:
    """A translation as JSON takes it."""
    found: dict[str, Any] = _finite(asdict(translation))
    return found


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
    return value
