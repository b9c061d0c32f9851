"""Engines, which work on tasks in a process of their own: for models that translate, and for others. They know no HTTP.

An engine takes tasks from an inbox and sends reports. Texts of several requests are decoded in one batch.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from limelight.child import Inbox
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.formats.html import Tags, html_units, xml_units
from limelight.formats.lines import chunks
from limelight.formats.markdown import markdown_units
from limelight.formats.translation_memory import Index, TranslationMemory, open_memory
from limelight.formats.unit import Unit, located
from limelight.models.interface import eval_mode
from limelight.pipelines.encoders import MaskFiller
from limelight.pipelines.explain import ANSWERS, answer
from limelight.pipelines.explain_text import explain_filled, explain_written, text_head
from limelight.pipelines.generator import Growth, TextGenerator
from limelight.pipelines.job import Text
from limelight.pipelines.scheduler import Ended, Scheduler
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.links import PING, Report, ReportCallback, Task
from limelight.serving.logs import Log
from limelight.serving.stored import read_terms
from limelight.text.glossary import Glossary, Term
from limelight.text.judge import foreign_language

MAX_OPEN = 100
"""Glossaries and memories of clients that are kept open, of each kind."""
MAX_CODES = 2000
"""Tags within a segment of a request."""
MAX_SENTENCES = 50
"""Maximum number of sentences of a text in one report: others wait while a thousand are converted to JSON."""
GROWTH = 8
"""A stream shows a text again when it has an eighth more sentences, so that a long text is not sent too often."""


class Engine:
    """The loop of an engine. `send` is called with each report."""

    def __init__(self, send: ReportCallback) -> None:
        self.send, self.inbox = send, Inbox()

    @property
    def busy(self) -> bool:
        """Whether there is work beside new tasks."""
        raise NotImplementedError

    def run(self, inbox: Inbox) -> None:
        """Work until None comes as a task: what is running then is left."""
        self.inbox = inbox
        while True:
            while not self.busy or not inbox.empty():
                fields = inbox.get()[0]["task"]
                if fields is None:
                    return
                task = Task(*fields)
                if task.kind == PING:
                    self.answer_ping()
                elif task.kind == "cancel":
                    self.cancel(task.id)
                else:
                    self.guarded(task.id, self.take, task)
            self.step()

    def answer_ping(self) -> None:
        """Report that it works."""
        self.send(Report(0, "pong"))

    def give(self, task: Task | None) -> None:
        """Add a task, from any thread; None ends the work."""
        self.inbox.put(({"task": task}, b""))

    def done(self, task: int, value: Any) -> None:
        """Report the result of a task."""
        self.send(Report(task, "done", value))

    def guarded(self, task: int, work: Callable[..., None], *arguments: Any) -> None:
        """Do some work for a task, in any thread; an error ends it."""
        try:
            work(*arguments)
        except Exception as error:
            self.give(Task(task, "cancel"))
            if isinstance(error, UserError):
                self.send(Report(task, "refused", str(error)))
            else:
                Log().fault(error)
                self.send(Report(task, "failed", f"the model could not translate this text ({type(error).__name__})"))

    def take(self, task: Task) -> None:
        """Begin with a task."""
        raise NotImplementedError

    def cancel(self, task: int) -> None:
        """Leave a task undone; nothing if no task has this number."""
        raise NotImplementedError

    def step(self) -> None:
        """Do some work for all tasks."""
        raise NotImplementedError


# ---- models that translate


@dataclass(eq=False, slots=True)
class Request:
    """A task that is translated."""

    task: Task
    jobs: list[TextJob]
    """The jobs of its texts."""
    shown: dict[int, int | None] = field(default_factory=dict)
    """Number of sentences of each text that were reported; None for a whole text."""


class TranslationLane(Engine):
    """Translates, and detects languages, in the thread that calls `run`.

    Args:
        memory: segments that are reused.
    """

    def __init__(self, translator: Translator, send: ReportCallback, memory: TranslationMemory | None = None) -> None:
        super().__init__(send)
        self._translator, self._memory = translator, memory
        self._engine = translator.engine()
        self._scheduler = Scheduler(self._engine)
        self._requests: dict[int, Request] = {}

    @property
    def busy(self) -> bool:
        return self._scheduler.busy

    def take(self, task: Task) -> None:
        if task.kind == "translate":
            self._requests[task.id] = Request(task, self._jobs(task))
            self._scheduler.submit(task.id, self._requests[task.id].jobs)
        elif task.kind == "detect":
            self.done(task.id, [self._detected(text) for text in task.texts])
        else:
            raise UserError(f"this engine does not know how to {task.kind}")

    def cancel(self, task: int) -> None:
        self._requests.pop(task, None)
        self._scheduler.cancel(task)

    def step(self) -> None:
        translator = self._translator
        if translator.awaits_loops:  # until they are compiled, it searches without them
            translator.refresh()
        if self._engine.model is not translator.searched:
            self._engine.change_form(translator.searched, translator.short)
        ended = self._scheduler.step()
        for request in list(self._requests.values()):
            if request.task.stream:
                self.guarded(request.task.id, self._show, request)
        for job_ended in ended:
            self.guarded(job_ended.number, self._ended, job_ended)

    # ---- translation

    def _jobs(self, task: Task) -> list[TextJob]:
        """The jobs of its texts."""
        translator = self._translator
        options = dict(task.options)
        tags, codes, prefix = options.pop("tags", None), options.pop("codes", ()), options.pop("prefix", "")
        number, texts = options.pop("first", 1), list[Text]()
        for text, coded in zip(task.texts, codes or [()] * len(task.texts), strict=True):
            with located("the tags of the text"):
                units = None if tags is None else _units(text, *tags)
            texts.append(Text(text, number, prefix, tuple(map(tuple, coded)), units))
            number += 1 if units is None else len(units)
        if tags is not None or codes:
            options.setdefault("protect", translator.knows_marks)
        options["glossary"] = self._glossary(options)
        options["memory"] = self._memory_of(options.pop("memories", ()))
        return list(translator.jobs(texts, translator.options(**options)))

    def _ended(self, ended: Ended) -> None:
        request = self._requests.get(ended.number)
        if request is None:
            return
        if ended.job is None:
            del self._requests[ended.number]
            self._report(request)
        elif ended.job.error is not None:
            raise ended.job.error

    def _report(self, request: Request) -> None:
        """Report the translated texts with their sentences or units; first, of long texts all but the last ones."""
        answers = list[dict[str, Any]]()
        for text, job in zip(request.task.texts, request.jobs, strict=True):
            translation, sentences = job.result, job.sentences
            assert translation is not None
            last = max(0, len(sentences) - MAX_SENTENCES)
            for part in chunks(sentences[:last], MAX_SENTENCES):
                self.send(Report(request.task.id, "sentences", [len(answers), part]))
            answers.append(
                {
                    "text": translation.text if text.strip() else text,
                    "alternatives": [alternative.text for alternative in translation.alternatives],
                    "tokens": len(translation.tokens),
                    "confidence": translation.confidence,
                    "warnings": translation.warnings,
                    "path": translation.path,
                    "sentences": sentences[last:],
                }
            )
        self.done(request.task.id, answers)

    def _show(self, request: Request) -> None:
        """Report the finished sentences of each text, in their order."""
        for index, job in enumerate(request.jobs):
            shown = request.shown.get(index, 0)
            if shown is None or job.error or not (job.done or (job.count - shown) * GROWTH > shown):
                continue
            request.shown[index] = None if job.done else job.count
            text = job.result.text if job.result is not None else job.beginning(job.found)
            self.send(Report(request.task.id, "partial", [index, text]))

    # ---- glossaries and memories

    def _glossary(self, options: dict[str, Any]) -> Glossary | None:
        """The terms of a request, or of a file that it names."""
        file, terms, source = options.pop("glossary_file", ""), options.pop("terms", ()), options.get("source_lang", "")
        if file:
            return _opened(file, source)
        return Glossary([Term(*term) for term in terms], source or "en") if terms else None

    def _memory_of(self, named: Sequence[Sequence[str]]) -> TranslationMemory:
        """The memories of a client, and the memory of the service. One that was deleted meanwhile is left out."""
        indexes = list[Index]()
        for name, *opening in named:
            with suppress(UserError, OSError):
                indexes += _opened_memory(*opening, name=name).indexes
        if self._memory is not None:
            indexes += self._memory.indexes
        return TranslationMemory(indexes)

    def _detected(self, text: str) -> dict[str, float]:
        """How likely each language is, the likeliest first: the languages of the model, and one that it does not know
        if the text is clearly in that."""
        sources = sorted({direction.source for direction in self._translator.directions})
        known = dict.fromkeys(sources, 1.0)
        if (detector := self._translator.detector) is not None:
            known = detector.probabilities(text)
        foreign, sure = foreign_language(text, {*known, *sources})
        found = {foreign: sure} if foreign else {}
        return found | {code: likely * (1 - sure) for code, likely in known.items()}


class TranslationEngine(TranslationLane):
    """Translates, and explains translations. Short tasks are worked on in the thread that calls `run`, long ones and
    explanations each in a separate thread: a search rarely holds Python's interpreter lock.

    Args:
        memory: as of `TranslationLane`.
        snapshots: of the run that the model is of.
    """

    def __init__(
        self,
        translator: Translator,
        send: ReportCallback,
        snapshots: Snapshots,
        memory: TranslationMemory | None = None,
    ) -> None:
        super().__init__(translator, send, memory)
        self._long, self._snapshots = TranslationLane(translator, send, memory), snapshots
        self._explaining = ThreadPoolExecutor(1, "explanations")
        self._explanations: dict[int, Future[None]] = {}
        self._fault: Exception | None = None
        """Why the work on long tasks has ended."""

    def run(self, inbox: Inbox) -> None:
        """See `Engine.run`."""
        self.inbox = inbox
        with eval_mode(self._translator.searched):
            threading.Thread(target=self._work_long, args=(torch.get_num_threads(),), daemon=True).start()
            try:
                super().run(inbox)
            finally:
                self._long.give(None)
                self._explaining.shutdown(wait=False, cancel_futures=True)
        if self._fault is not None:
            raise self._fault

    def answer_ping(self) -> None:
        self._long.give(Task(0, PING))  # both work

    def take(self, task: Task) -> None:
        if task.kind in ANSWERS or task.kind == "snapshots":
            future = self._explaining.submit(self.guarded, task.id, self._explain, task)
            self._explanations[task.id] = future
            future.add_done_callback(lambda _: self._explanations.pop(task.id, None))
        elif task.is_long:
            self._long.give(task)
        else:
            super().take(task)

    def cancel(self, task: int) -> None:
        super().cancel(task)
        if (explanation := self._explanations.get(task)) is not None:
            explanation.cancel()  # unless it has begun
        self._long.give(Task(task, "cancel"))

    def _work_long(self, threads: int) -> None:
        torch.set_num_threads(threads)  # of this thread
        try:
            self._long.run(self._long.inbox)
        except Exception as error:
            self._fault = error
            self.give(None)

    def _explain(self, task: Task) -> None:
        if task.kind == "snapshots":
            return self.done(task.id, self._snapshots.described())
        translator = self._snapshot(task.options.get("snapshot"))
        return self.done(task.id, answer(task.kind, translator, task.texts[0], task.options))

    def _snapshot(self, update: int | None) -> Translator:
        """The model that is served, or its snapshot of an update."""
        if update is None:
            return self._translator
        try:
            return self._snapshots.at(update)
        except (KeyError, UserError, OSError):  # its message would have a path
            raise UserError(f"there is no snapshot of update {update} of this model, or it cannot be read") from None


@lru_cache(MAX_OPEN)
def _opened(file: str, source: str) -> Glossary:
    """The terms of a file."""
    return Glossary(read_terms(file), source)


_opened_memory = lru_cache(MAX_OPEN)(open_memory)


def _units(text: str, kind: str, *settings: Any) -> list[Unit]:
    """The units between the tags of a text. Raises `FormatError` for tags that cannot be read, `UserError` for too many
    of them."""
    if kind == "markdown":
        units = markdown_units(text)
    else:
        ignored, splitting, inline, outline = settings
        tags = Tags(frozenset(ignored), frozenset(splitting), frozenset(inline), outline)
        units = html_units(text, "", tags) if kind == "html" else xml_units(text, tags)
    if any(len(unit.codes) > MAX_CODES for unit in units):
        raise UserError(f"more than {MAX_CODES} tags between the beginning and the end of one segment")
    return units


# ---- models that do not


class TextEngine(Engine):
    """Works with a language model or a masked model; texts that are written at a time take turns.

    Args:
        name: of the model in answers.
    """

    def __init__(self, pipeline: TextGenerator | MaskFiller, send: ReportCallback, name: str = "") -> None:
        super().__init__(send)
        self._pipeline, self._name = pipeline, name
        self._writing: dict[int, Iterator[None]] = {}
        """The work on each text, a token at a time."""

    @property
    def busy(self) -> bool:
        return bool(self._writing)

    def cancel(self, task: int) -> None:
        self._writing.pop(task, None)

    def take(self, task: Task) -> None:
        pipeline, (text,) = self._pipeline, task.texts
        if task.kind == "text_head":
            self.done(task.id, text_head(pipeline, text, task.options))
        elif task.kind == "fill" and isinstance(pipeline, MaskFiller):
            self.done(task.id, explain_filled(pipeline, text) | {"model": self._name})
        elif task.kind == "write" and isinstance(pipeline, TextGenerator):
            sampling = task.options.get("sampling")
            drawn = None if sampling is None else Sampling(**sampling)
            growth = pipeline.write(text, max_tokens=task.options["max_tokens"], sampling=drawn)
            self._writing[task.id] = self._written(pipeline, task, growth)
        else:
            raise UserError(f"this model does not {task.kind}")

    def step(self) -> None:
        for number, writing in list(self._writing.items()):
            self.guarded(number, next, writing)

    def _written(self, generator: TextGenerator, task: Task, growth: Iterator[Growth]) -> Iterator[None]:
        """Report the text while it grows, and then with its document."""
        text = ""
        for grown in growth:
            text += grown.text
            if grown.done is not None:
                self.cancel(task.id)
                self.done(task.id, explain_written(generator, grown.done) | {"model": self._name})
            elif task.stream and grown.text:
                self.send(Report(task.id, "partial", [0, text]))
            yield
