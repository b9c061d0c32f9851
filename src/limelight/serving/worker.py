"""The owner of engines: takes tasks as they come, steps, and reports. It belongs to one thread and knows no HTTP."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.formats.translation_memory import (
    JoinedMemory,
    MemoryMatch,
    TranslationMemory,
    WatchedMemory,
    open_memory,
)
from limelight.models.interface import eval_mode
from limelight.pipelines.explain import ANSWERS, Question, explain
from limelight.pipelines.job import Text
from limelight.pipelines.scheduler import Change, OverBudgetError, Scheduler
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translation import Translation, Word
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.tasks import Report, Task
from limelight.text.checks import is_capitals, is_title
from limelight.text.detection import LanguageDetector
from limelight.text.foreign import foreign_evidence
from limelight.text.glossary import Glossary, Term
from limelight.tokens.marked import knows_marks

DETECTED = 1000
"""Characters of a text from which its language is detected."""

MAX_OPEN = 100
"""Memories of clients that are kept open."""

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
    shown: str = ""
    stable: str = ""
    """What the search has settled of its text."""


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
        memory: segments that are reused.
    """

    def __init__(
        self,
        translator: Translator,
        send: Callable[[Report], None],
        detector: LanguageDetector | None = None,
        snapshots: Snapshots | None = None,
        memory: WatchedMemory | None = None,
    ) -> None:
        self._translator, self._send, self._detector, self._snapshots = translator, send, detector, snapshots
        self._memory = memory
        self._engine = translator.engine()
        self._scheduler = Scheduler(self._engine)
        self._running: dict[int, Running] = {}
        """By the numbers of tasks."""
        self._opened: OrderedDict[str, TranslationMemory] = OrderedDict()
        """Memories of clients by their files, those that were used last at the end."""

    def run(self, inbox: Inbox) -> None:
        """Work until None is taken from the inbox: what is running then is left."""
        with eval_mode(self._translator.searched):
            while True:
                for task in waiting(inbox, idle=not self._scheduler.busy):
                    if task is None:
                        return
                    self._take(task)
                self._use_loops()
                self._step()

    def _use_loops(self) -> None:
        """Search in compiled loops, once these have been compiled; another worker may have prepared the model."""
        one = self._translator
        if one.awaits_loops:
            one.refresh()
        if self._engine.model is not one.searched:
            self._engine.change_form(one.searched, one.short)

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
        submit = partial(self._scheduler.submit, group=task.request, seconds=task.seconds)
        self._report(submit(task.id, job, followed=task.stream))

    def _plain(self, text: str, options: dict[str, Any]) -> TextJob:
        given = Text(text, options.pop("first", 1), options.pop("prefix", ""))
        memory = self._memories(options.pop("memories", ()))
        asked = self._translator.options(lines=True, memory=memory, **options)
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
        memory, whole = self._memories(options.pop("memories", ())), options.pop("whole", False)
        memory = None if terms else memory
        asked = self._translator.options(glossary=glossary, memory=memory, lines=whole, **options)
        (job,) = self._translator.jobs([given], asked)
        return job

    def _memories(self, named: Sequence[Sequence[str]]) -> WatchedMemory | JoinedMemory | None:
        """The memories of a client, and that of the service. One that was deleted meanwhile is left out."""
        opened = list[tuple[str, TranslationMemory]]()
        for name, path, source, target in named:
            if path not in self._opened:
                with suppress(UserError, OSError):
                    self._opened[path] = open_memory(path, source, target)
            if path in self._opened:
                self._opened.move_to_end(path)
                opened.append((name, self._opened[path]))
        while len(self._opened) > max(MAX_OPEN, len(named)):
            self._opened.popitem(last=False)[1].close()
        return JoinedMemory(opened, self._memory) if opened else self._memory

    def _report(self, changes: Sequence[Change]) -> None:
        """Report what has become of tasks."""
        for number, found in changes:
            running = self._running[number]
            if found is not None:
                self._show(running, found.ids, running.stable)
                continue
            del self._running[number]
            error = running.job.error
            if isinstance(error, OverBudgetError):
                self._send(Report(number, "expensive", running.task.seconds))
            elif isinstance(error, UserError):
                self._send(Report(number, "refused", str(error)))
            elif error is not None:
                self._send(Report(number, "failed", f"{FAILED} ({type(error).__name__})"))
            elif running.job.result is not None:
                self._send(Report(number, "done", plain(running.job.result)))

    def _cancel(self, task: int) -> None:
        self._running.pop(task, None)
        self._scheduler.cancel(task)

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
        """How likely each language is, the likeliest first: those of the model, and one that it does not know where the
        text is clearly in that."""
        text, directions = text[:DETECTED], self._translator.directions
        known = dict.fromkeys(sorted({direction.source for direction in directions}), 1.0)
        if self._detector is not None:
            known = self._detector.probabilities(text)
        other, sure = foreign_evidence(text, {*known, *(direction.source for direction in directions)})
        found = {other: sure} if other else {}
        return found | {code: likely * (1 - sure) for code, likely in known.items()}

    def _step(self) -> None:
        self._report(self._scheduler.step())
        for running in self._running.values():
            if running.task.stream:
                self._follow(running)

    def _follow(self, running: Running) -> None:
        """Show how far the first search has come. A beam may change what was shown, but not what is stable."""
        found = self._scheduler.progress(running.task.id)
        if found is None:
            return
        hypothesis, certain = found
        stable = running.stable
        if _is_shown_early(running):
            stable = whole_words(self._translator.tokenizers.target.decode(certain))
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
    """The same with None for numbers that JSON does not have, and an object for a translation, a word and a match."""
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
