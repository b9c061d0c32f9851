"""An engine that translates: texts of several requests are decoded in one batch."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from limelight.child import Inbox
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.formats.html import Tags, html_units, xml_units
from limelight.formats.markdown import markdown_units
from limelight.formats.translation_memory import TranslationMemories, TranslationMemory, open_memory
from limelight.formats.unit import FormatError, Unit
from limelight.models.interface import eval_mode
from limelight.pipelines.explain import ANSWERS, answer
from limelight.pipelines.job import Text
from limelight.pipelines.scheduler import Ended, Scheduler
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.engine import Engine, finite
from limelight.serving.links import LONG, Report, ReportCallback, Task
from limelight.serving.stored import read_terms
from limelight.text.detection import LanguageDetector
from limelight.text.glossary import Glossary, Term
from limelight.text.judge import foreign_evidence
from limelight.tokens.marked import knows_marks

DETECTED = 1000
"""Characters of a text from which its language is detected."""
MAX_OPEN = 100
"""Glossaries and memories of clients that are kept open, of each kind."""
MAX_CODES = 2000
"""Tags within a segment of a request."""
GROWTH = 8
"""A stream shows a text again when it has an eighth more sentences, so that a long text is not sent too often."""
_LINE_BREAK = re.compile(r"(?<=\S)[ \t]*(?:\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*(?=\S)")
"""A single line break, which is a space to a text that is divided across lines."""


@dataclass(eq=False, slots=True)
class Request:
    """A task that is translated."""

    task: Task
    tags: bool
    """Whether its texts are translated by the units between their tags."""
    jobs: list[TextJob] = field(default_factory=list)
    """Those that have begun."""
    shown: Counter[int] = field(default_factory=Counter)
    """Number of sentences of each text that were reported."""
    complete: set[int] = field(default_factory=set)
    """Texts that were reported as a whole."""


class TranslationEngine(Engine):
    """Translates, and explains translations: an explanation takes up to seconds in one piece, so explanations have a
    thread of their own.

    Args:
        detector: tells the language of texts; None for a model with a single source language.
        snapshots: of the run that the model is of.
        memory: segments that are reused.
    """

    def __init__(
        self,
        translator: Translator,
        send: ReportCallback,
        detector: LanguageDetector | None = None,
        snapshots: Snapshots | None = None,
        memory: TranslationMemories | None = None,
    ) -> None:
        super().__init__(send)
        self._translator, self._detector, self._snapshots, self._memory = translator, detector, snapshots, memory
        self._engine = translator.engine()
        self._scheduler = Scheduler(self._engine)
        self._requests: dict[int, Request] = {}
        self._questions = SimpleQueue[Task | None]()

    @property
    def busy(self) -> bool:
        return self._scheduler.busy

    def run(self, inbox: Inbox) -> None:
        """See `Engine.run`."""
        aside = threading.Thread(target=self._explain_all, daemon=True, name="explanations")
        aside.start()
        try:
            with eval_mode(self._translator.searched):
                super().run(inbox)
        finally:
            self._questions.put(None)
            aside.join()

    def take(self, task: Task) -> None:
        if task.kind == "translate":
            self._begin(task)
        elif task.kind == "detect":
            self.send(Report(task.id, "done", [self._detected(text) for text in task.texts]))
        elif task.kind in ANSWERS or task.kind == "snapshots":
            self._questions.put(task)
        else:
            raise UserError(f"this engine does not know how to {task.kind}")

    def cancel(self, task: int) -> None:
        self._requests.pop(task, None)
        self._scheduler.cancel(task)

    def step(self) -> None:
        one = self._translator
        if one.awaits_loops:  # until they are compiled, it searches without them
            one.refresh()
        if self._engine.model is not one.searched:
            self._engine.change_form(one.searched, one.short)
        ended = self._scheduler.step()
        for request in list(self._requests.values()):
            if request.task.stream and not request.tags:
                self.guarded(request.task.id, self._show, request)
        for each in ended:
            self.guarded(each.number, self._ended, each)

    # ---- translation

    def _begin(self, task: Task) -> None:
        options = dict(task.options)
        split, tags, codes = options.pop("split", "sentences"), options.pop("tags", None), options.pop("codes", ())
        number, prefix, parts = options.pop("first", 1), options.pop("prefix", ""), list[Text]()
        for text, coded in zip(task.texts, codes or [()] * len(task.texts), strict=True):
            joined = _LINE_BREAK.sub(" ", text) if split == "across lines" else text
            units = None if tags is None else _units(joined, *tags)
            parts.append(Text(joined, number, prefix, tuple(map(tuple, coded)), units))
            number += 1 if units is None else len(units)
        if tags is not None or codes:
            tokenizers = self._translator.tokenizers
            options.setdefault("protect", knows_marks(tokenizers.source) and knows_marks(tokenizers.target))
        if (sampling := options.pop("sampling", None)) is not None:
            options["sampling"] = Sampling(**sampling)
        options["glossary"] = self._glossary(options)
        memories = options.pop("memories", ())
        options["memory"] = None if options["glossary"] is not None else self._memory_of(memories)
        asked = self._translator.options(lines=split == "never", **options)
        request = self._requests[task.id] = Request(task, tags is not None)
        long = sum(map(len, task.texts)) > LONG
        self._scheduler.submit(task.id, self._jobs(request, parts, asked), long=long)

    def _jobs(self, request: Request, texts: Sequence[Text], options: Any) -> Iterator[TextJob]:
        for job in self._translator.jobs(texts, options):
            request.jobs.append(job)
            yield job

    def _ended(self, ended: Ended) -> None:
        request = self._requests.get(ended.number)
        if request is not None and ended.job is None:
            del self._requests[ended.number]
            self.send(Report(ended.number, "done", self._answers(request)))
        elif request is not None and ended.job is not None and ended.job.error is not None:
            raise ended.job.error

    def _answers(self, request: Request) -> list[dict[str, Any]]:
        """The translated texts of a request as JSON takes them, with the translations of their sentences or units."""
        answers = list[dict[str, Any]]()
        for text, job in zip(request.task.texts, request.jobs, strict=True):
            whole = job.result
            assert whole is not None
            answers.append(
                {
                    "text": whole.text if text.strip() else text,
                    "alternatives": [each.text for each in whole.alternatives],
                    "tokens": len(whole.tokens),
                    "confidence": whole.confidence,
                    "warnings": list(whole.warnings),
                    "path": list(whole.path),
                    "sentences": finite(job.sentences),
                }
            )
        return answers

    def _show(self, request: Request) -> None:
        """Report the finished sentences of each text, in their order."""
        for place, job in enumerate(request.jobs):
            if place in request.complete:
                continue
            if job.result is not None:
                request.complete.add(place)
            elif (job.count - request.shown[place]) * GROWTH <= request.shown[place]:
                continue
            request.shown[place] = job.count
            self.send(Report(request.task.id, "partial", [place, job.beginning]))

    # ---- glossaries and memories

    def _glossary(self, options: dict[str, Any]) -> Glossary | None:
        """The terms of a request, and those of the glossaries that it names by their files."""
        files, terms = options.pop("glossaries", ()), options.pop("terms", ())
        source, target = options.get("source_lang", ""), options.get("target_lang", "")
        if files:
            return _opened(tuple(map(tuple, files)), source, target)
        return Glossary([Term(*term) for term in terms], source or "en") if terms else None

    def _memory_of(self, named: Sequence[Sequence[str]]) -> TranslationMemories | None:
        """The memories of a client, and that of the service. One that was deleted meanwhile is left out."""
        opened = list[tuple[str, TranslationMemory]]()
        for name, *place in named:
            with suppress(UserError, OSError):
                opened.append((name, _opened_memory(*place)))
        own = [] if self._memory is None else self._memory.named
        return TranslationMemories([*opened, *own])

    # ---- languages and explanations

    def _detected(self, text: str) -> dict[str, float]:
        """How likely each language is, the likeliest first: those of the model, and one that it does not know if the
        text is clearly in that."""
        text, directions = text[:DETECTED], self._translator.directions
        known = dict.fromkeys(sorted({direction.source for direction in directions}), 1.0)
        if self._detector is not None:
            known = self._detector.probabilities(text)
        other, sure = foreign_evidence(text, {*known, *(direction.source for direction in directions)})
        found = {other: sure} if other else {}
        return found | {code: likely * (1 - sure) for code, likely in known.items()}

    def _explain_all(self) -> None:
        while (task := self._questions.get()) is not None:
            self.guarded(task.id, self._explain, task)

    def _explain(self, task: Task) -> None:
        if task.kind == "snapshots":
            found: Any = {"updates": [], "curve": []} if self._snapshots is None else self._snapshots.described()
        else:
            options = dict(task.options)
            for name in ("prefix", "target"):
                if isinstance(options.get(name), str):
                    options[name] = self._translator.tokenizers.target.encode(options[name])
            found = answer(task.kind, self._snapshot(options.get("snapshot")), task.texts[0], options)
        self.send(Report(task.id, "done", finite(found)))

    def _snapshot(self, update: int | None) -> Translator:
        """The model that is served, or its snapshot of an update."""
        if update is None:
            return self._translator
        if self._snapshots is None or update not in self._snapshots.updates:
            raise UserError(f"there is no snapshot of update {update} of this model")
        try:
            return self._snapshots.at(update)
        except (UserError, OSError):
            raise UserError(f"the snapshot of update {update} cannot be read") from None  # without its path


@lru_cache(MAX_OPEN)
def _opened(files: tuple[tuple[str, int], ...], source: str, target: str) -> Glossary:
    """The terms of some files for a direction."""
    terms = (Term(*pair) for path, _ in files for pair in read_terms(path, source, target))
    return Glossary(list(dict.fromkeys(terms)), source or "en")


_opened_memory = lru_cache(MAX_OPEN)(open_memory)


def _units(text: str, kind: str, *settings: Any) -> list[Unit]:
    """The units between the tags of a text. Raises `FormatError` for tags that cannot be read."""
    if kind == "markdown":
        units = markdown_units(text)
    else:
        ignored, splitting, inline, outline = settings
        tags = Tags(frozenset(ignored), frozenset(splitting), frozenset(inline), outline)
        units = html_units(text, "", tags) if kind == "html" else xml_units(text, tags)
    if any(len(unit.codes) > MAX_CODES for unit in units):
        raise FormatError(f"more than {MAX_CODES} tags between the beginning and the end of one segment")
    return units
