"""The owner of engines: takes tasks as they come, steps, and reports. It belongs to one thread and knows no HTTP."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from queue import Empty, SimpleQueue
from typing import Any

from limelight.decoding.engine import Outcome
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.models.interface import eval_mode
from limelight.pipelines.explain import ANSWERS, Question, explain
from limelight.pipelines.job import Ask, Text
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translation import Translation, Word
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.tasks import Report, Task
from limelight.serving.turns import Turns
from limelight.text.checks import is_capitals, is_title
from limelight.text.detection import LanguageDetector
from limelight.text.glossary import Glossary, Term
from limelight.tokens.marked import knows_marks

DETECTED = 1000
"""Characters of a text from which its language is detected."""

AT_A_TIME = 16
"""Requests of one text that the engine has at a time: a text of many sentences does not hold up others."""

FAILED = "the model could not translate this text"

_LAST_WORD = re.compile(r"[^\s\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]*\Z")
"""What may be the beginning of a word; Thai, Lao, Japanese and Chinese have no spaces between words."""

Inbox = SimpleQueue[Task | None]
"""Tasks; None when there will be no more."""


@dataclass(slots=True)
class Running:
    """A task that is being decoded."""

    task: Task
    job: TextJob
    asked: dict[int, Ask] = field(default_factory=dict)
    """The requests of the job that the engine has, by their numbers."""
    first: int | None = None
    """The number of the first request."""
    shown: str = ""
    stable: str = ""
    """What the search has settled of its text."""
    searched_once: bool = False
    """Whether the first search has ended: what guards search again is not shown."""


def waiting(inbox: Inbox, *, idle: bool) -> Iterator[Task | None]:
    """All that has come; waits for one where there is nothing else to do."""
    if idle:
        yield inbox.get()
    while True:
        try:
            yield inbox.get_nowait()
        except Empty:
            return


class Worker:
    """Translates.

    Args:
        send: is called with each report, in the worker's thread.
        detector: tells the language of texts; None where the model has a single source language.
        snapshots: of the run that the model is of.
    """

    def __init__(
        self,
        translator: Translator,
        send: Callable[[Report], None],
        detector: LanguageDetector | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._translator, self._send, self._detector, self._snapshots = translator, send, detector, snapshots
        self._turns = Turns(translator.engine)
        self._running: dict[int, Running] = {}
        """By the numbers of tasks."""
        self._task_of: dict[int, int] = {}
        """Whose request each is that the engine has."""

    def run(self, inbox: Inbox) -> None:
        """Work until None is taken from the inbox: what is running then is left."""
        with eval_mode(self._translator.searched):
            while True:
                for task in waiting(inbox, idle=not self._turns.busy):
                    if task is None:
                        return
                    self._take(task)
                self._step()

    def _take(self, task: Task) -> None:
        try:
            if task.kind == "cancel":
                self._cancel(task.id)
            elif task.kind == "ping":
                self._send(Report(0, "pong"))
            elif task.kind in ("translate", "protected"):
                self._begin(task)
            elif task.kind == "detect":
                self._send(Report(task.id, "done", self._detected(task.text)))
            elif task.kind in ANSWERS:
                self._send(Report(task.id, "done", ANSWERS[task.kind](self._model(task), task.text, task.options)))
            elif task.kind == "snapshots":
                described = {"updates": [], "curve": []} if self._snapshots is None else self._snapshots.described()
                self._send(Report(task.id, "done", described))
            elif task.kind == "explain_text":
                self._send(Report(task.id, "done", self._explained(task)))
            else:
                self._send(Report(task.id, "refused", f"this engine does not know how to {task.kind}"))
        except UserError as error:
            self._send(Report(task.id, "refused", str(error)))
        except Exception as error:
            self._send(Report(task.id, "failed", f"{FAILED} ({type(error).__name__})"))

    def _model(self, task: Task) -> Translator:
        """The model that is served, or the snapshot that a task names."""
        update = task.options.get("snapshot")
        if update is None:
            return self._translator
        if self._snapshots is None:
            raise UserError(f"there is no snapshot of update {update}: this model is not of a run")
        if update in self._snapshots.updates:
            try:
                return self._snapshots.at(update)
            except (UserError, OSError):  # its message has a path
                raise UserError(f"the snapshot of update {update} cannot be read") from None
        return self._snapshots.at(update)

    def _begin(self, task: Task) -> None:
        options = dict(task.options)
        sampling = options.pop("sampling", None)
        options["sampling"] = None if sampling is None else Sampling(**sampling)
        job = (self._protected if task.kind == "protected" else self._plain)(task.text, options)
        self._running[task.id] = Running(task, job)
        self._advance(self._running[task.id])

    def _plain(self, text: str, options: dict[str, Any]) -> TextJob:
        given = Text(text, options.pop("first", 1), options.pop("prefix", ""))
        asked = self._translator.options(lines=True, **options)
        (job,) = self._translator.jobs([given], asked)
        return job

    def _protected(self, text: str, options: dict[str, Any]) -> TextJob:
        """A text with codes and terms. Variables and addresses are protected, too, where the vocabulary has marks."""
        codes = tuple((role, name) for role, name in options.pop("codes", ()))
        given = Text(text, options.pop("first", 1), codes=codes)
        terms = [Term(*term) for term in options.pop("terms", ())]
        tokenizers, language = self._translator.tokenizers, options.get("source_lang") or "en"
        knows = knows_marks(tokenizers.source) and knows_marks(tokenizers.target)
        glossary = Glossary(terms, language) if terms else None
        options.setdefault("protect", knows)
        asked = self._translator.options(glossary=glossary, lines=options.pop("whole", False), **options)
        (job,) = self._translator.jobs([given], asked)
        return job

    def _advance(self, running: Running) -> None:
        """Hand the engine what the job asks for, or report what has become of it."""
        job, task = running.job, running.task.id
        for ask in job.take(AT_A_TIME - len(running.asked)):
            self._ask(running, ask)
        if job.error is not None:
            self._cancel(task)
            known = isinstance(job.error, UserError)
            said = str(job.error) if known else f"{FAILED} ({type(job.error).__name__})"
            self._send(Report(task, "refused" if known else "failed", said))
        elif job.result is not None:
            del self._running[task]
            self._send(Report(task, "done", plain(job.result)))

    def _ask(self, running: Running, ask: Ask) -> None:
        """Hand the engine a request of the job."""
        task = running.task
        followed = task.stream and running.first is None
        number = self._turns.submit(ask.request, long=task.long, followed=followed)
        running.asked[number] = ask
        running.first = number if running.first is None else running.first
        self._task_of[number] = task.id

    def _cancel(self, task: int) -> None:
        running = self._running.pop(task, None)
        for number in running.asked if running is not None else ():
            if self._task_of.pop(number, None) is not None:
                self._turns.cancel(number)

    def _explained(self, task: Task) -> dict[str, Any]:
        """A sentence with its weights, steps and beam. Nothing else is decoded meanwhile, so it is bounded."""
        options = dict(task.options)
        every_head = bool(options.pop("every_head", False))
        encode = self._translator.tokenizers.target.encode
        prefix, target = options.pop("prefix", ""), options.pop("target", None)
        question = Question(
            task.text,
            prefix=tuple(encode(prefix)) if prefix else (),
            target=None if target is None else tuple(encode(target)),
            **options,
        )
        found: dict[str, Any] = finite(explain(self._translator, question, every_head=every_head))
        return found

    def _detected(self, text: str) -> dict[str, float]:
        """How likely each language is, the likeliest first."""
        if self._detector is not None:
            return self._detector.probabilities(text[:DETECTED])
        return dict.fromkeys(sorted({direction.source for direction in self._translator.directions}), 1.0)

    def _step(self) -> None:
        for outcome in self._turns.step():
            task = self._task_of.pop(outcome.id, None)
            if task is not None:
                self._decided(self._running[task], outcome)
        for running in list(self._running.values()):
            if running.task.stream and not running.searched_once:
                self._follow(running)

    def _decided(self, running: Running, outcome: Outcome) -> None:
        """One of the requests of a job: its sentence may need another one."""
        task = running.task.id
        if outcome.error is not None:
            self._cancel(task)
            self._send(Report(task, "failed", f"{FAILED} ({type(outcome.error).__name__})"))
            return
        ask = running.asked.pop(outcome.id)
        if running.task.stream and not running.searched_once:
            running.searched_once = True
            self._show(running, outcome.hypotheses[0].ids, running.stable)
        try:
            following = running.job.receive(ask, outcome.hypotheses)
            if following is not None:
                self._ask(running, following)
            self._advance(running)
        except Exception as error:
            self._cancel(task)
            self._send(Report(task, "failed", f"{FAILED} ({type(error).__name__})"))

    def _follow(self, running: Running) -> None:
        """Show how far the first search has come. A beam may change what was shown, but not what is stable."""
        number = running.first
        hypothesis = None if number is None else self._turns.partial(number)
        if number is None or hypothesis is None:
            return
        stable = running.stable
        if _is_shown_early(running):
            stable = whole_words(self._translator.tokenizers.target.decode(self._turns.certain(number)))
        self._show(running, hypothesis.ids, max(stable, running.stable, key=len))

    def _show(self, running: Running, ids: Sequence[int], stable: str) -> None:
        text = self._translator.preview(running.job.plan, ids)
        if (text, stable) != (running.shown, running.stable) and not text.endswith("\ufffd"):
            running.shown, running.stable = text, stable
            self._send(Report(running.task.id, "partial", [text, stable]))


def _is_shown_early(running: Running) -> bool:
    """Whether words are settled before the whole sentence is there. Guards search a source in capitals again, and
    spans are placed at the end."""
    task, plan = running.task, running.job.plan
    if plan is not None and plan.plain is None:
        return False
    return task.options.get("guards") is False or not (is_capitals(task.text) or is_title(task.text))


def whole_words(text: str) -> str:
    """The text without its last word, to which letters may be added; every character of a script without spaces is a
    word."""
    return _LAST_WORD.sub("", text).rstrip()


def plain(translation: Translation) -> dict[str, Any]:
    """A translation as JSON takes it."""
    found: dict[str, Any] = finite(translation)
    return found


def finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have, and an object for a translation and a word."""
    match value:
        case str() | None | bool():  # most of a translation: its tokens
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite(each) for key, each in value.items()}
        case list() | tuple():
            return [finite(each) for each in value]
        case Translation() | Word():
            return {each.name: finite(getattr(value, each.name)) for each in fields(value)}  # of a subclass, too
    return value
