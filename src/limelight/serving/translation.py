"""An engine that translates: texts of several requests are decoded in one batch."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from queue import SimpleQueue
from typing import Any

from limelight.child import Inbox
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.formats.html import Tags, html_units, xml_units
from limelight.formats.markdown import markdown_units
from limelight.formats.translation_memory import JoinedMemory, TranslationMemory, WatchedMemory, open_memory
from limelight.formats.unit import FormatError, Unit, rewritten, with_codes
from limelight.models.interface import eval_mode
from limelight.pipelines.explain import ANSWERS, Question, answer, explain
from limelight.pipelines.job import Text
from limelight.pipelines.scheduler import Ended, Scheduler
from limelight.pipelines.sentence import Found, with_spans
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translation import Translation, token_weights
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.engine import Engine, finite
from limelight.serving.links import LONG, Report, ReportCallback, Task
from limelight.serving.stored import read_terms
from limelight.text.detection import LanguageDetector
from limelight.text.glossary import Glossary, Term
from limelight.text.judge import foreign_evidence
from limelight.text.plan import Plan
from limelight.tokens.marked import knows_marks

DETECTED = 1000
"""Characters of a text from which its language is detected."""
MAX_OPEN = 100
"""Glossaries and memories of clients that are kept open, of each kind."""
MAX_CODES = 2000
"""Tags within a segment of a request."""
UNFINISHED = "\0"
"""In place of the sentences that follow in an unfinished text."""
REST = 4
"""After the progress of a request was made, so many times as long passes before it is made again."""
_LINE_BREAK = re.compile(r"(?<=\S)[ \t]*(?:\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*(?=\S)")
"""A single line break, which is a space to a text that is divided across lines."""


@dataclass(eq=False, slots=True)
class Request:
    """A task that is translated. Its texts are translated as they are, or by the units between their tags."""

    task: Task
    units: Sequence[Sequence[Unit]] | None
    """The units of each text with tags; None for plain texts."""
    jobs: list[TextJob] = field(default_factory=list)
    """Those that have begun."""
    done: set[int] = field(default_factory=set)
    """Places of jobs that have ended."""
    next_shown: float = 0.0
    shown: dict[int, tuple[str, str]] = field(default_factory=dict)
    """The last progress of each text."""


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
        memory: WatchedMemory | None = None,
    ) -> None:
        super().__init__(send)
        self._translator, self._detector, self._snapshots, self._memory = translator, detector, snapshots, memory
        self._engine = translator.engine()
        self._scheduler = Scheduler(self._engine)
        self._requests: dict[int, Request] = {}
        self._memories: dict[str, TranslationMemory] = {}
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
        elif task.kind in ANSWERS or task.kind in ("snapshots", "explain_text"):
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
        for ended in self._scheduler.step():
            self.guarded(ended.number, self._ended, ended)
        now = time.monotonic()
        for request in list(self._requests.values()):
            if request.task.stream and request.units is None and now >= request.next_shown:
                self._show(request)
                request.next_shown = now + REST * (time.monotonic() - now)

    # ---- translation

    def _begin(self, task: Task) -> None:
        options = dict(task.options)
        split, tags, codes = options.pop("split", "sentences"), options.pop("tags", None), options.pop("codes", ())
        first, prefix = options.pop("first", 1), options.pop("prefix", "")
        texts = [_LINE_BREAK.sub(" ", text) for text in task.texts] if split == "across lines" else task.texts
        units = None if tags is None else [_units(text, *tags) for text in texts]
        if units is None:
            coded = [tuple(map(tuple, each)) for each in codes] or [()] * len(texts)
            parts = [Text(text, 0, prefix, each) for text, each in zip(texts, coded, strict=True)]
        else:
            found = [unit for some in units for unit in some]
            parts = [Text(unit.text, 0, "", tuple((code.role, code.name) for code in unit.codes)) for unit in found]
        if tags is not None or codes:
            tokenizers = self._translator.tokenizers
            options.setdefault("protect", knows_marks(tokenizers.source) and knows_marks(tokenizers.target))
        if (sampling := options.pop("sampling", None)) is not None:
            options["sampling"] = Sampling(**sampling)
        options["glossary"] = self._glossary(options)
        memories = options.pop("memories", ())
        options["memory"] = None if options["glossary"] is not None else self._memory_of(memories)
        asked = self._translator.options(lines=split == "never", **options)
        numbered = [part._replace(number=number) for number, part in enumerate(parts, start=first)]
        request = self._requests[task.id] = Request(task, units)
        long = sum(map(len, task.texts)) > LONG
        self._scheduler.submit(task.id, self._jobs(request, numbered, asked), long=long)

    def _jobs(self, request: Request, texts: Sequence[Text], options: Any) -> Iterator[TextJob]:
        for job in self._translator.jobs(texts, options):
            request.jobs.append(job)
            yield job

    def _ended(self, ended: Ended) -> None:
        if (request := self._requests.get(ended.number)) is None:
            return
        if ended.job is None:
            self._finish(request)
            return
        if ended.job.error is not None:
            raise ended.job.error
        request.done.add(ended.place)
        if request.task.stream and request.units is None and ended.job.result is not None:
            self._report_progress(request, ended.place, (ended.job.result.text, ended.job.result.text))

    def _finish(self, request: Request) -> None:
        del self._requests[request.task.id]
        jobs, answers = iter(request.jobs), list[dict[str, Any]]()
        for place, text in enumerate(request.task.texts):
            if request.units is None:
                job = next(jobs)
                results = [job.result] if job.result is not None else []
                if results and not text.strip():
                    results = [replace(results[0], text=text)]
                answers.append(_answer(results, "".join, _sentences(job)))
                continue
            units = request.units[place]
            results = [job.result for job in islice(jobs, len(units)) if job.result is not None]
            shown = [_with_tags(result, unit) for result, unit in zip(results, units, strict=True)]
            answers.append(_answer(results, partial(rewritten, text, units), shown))
        self.send(Report(request.task.id, "done", answers))

    # ---- progress

    def _show(self, request: Request) -> None:
        for place, job in enumerate(request.jobs):
            if place not in request.done and job.plan is not None and job.found:
                beginning = self._beginning(job, job.plan)
                self._report_progress(request, place, (beginning, beginning))

    def _report_progress(self, request: Request, place: int, progress: tuple[str, str]) -> None:
        if progress != request.shown.get(place):
            request.shown[place] = progress
            self.send(Report(request.task.id, "partial", [place, *progress]))

    def _beginning(self, job: TextJob, plan: Plan) -> str:
        """The beginning of a text: the sentences that are done, in order."""
        texts = list[str | None]()
        while len(texts) in job.found:
            done = job.found[len(texts)].translations
            texts.append(done[0].text if done else None)
        rest = [UNFINISHED] * (len(plan.sentences) - len(texts))
        return plan.join([*texts, *rest])[0].partition(UNFINISHED)[0]

    # ---- glossaries and memories

    def _glossary(self, options: dict[str, Any]) -> Glossary | None:
        """The terms of a request, and those of the glossaries that it names by their files."""
        files, terms = options.pop("glossaries", ()), options.pop("terms", ())
        source, target = options.get("source_lang", ""), options.get("target_lang", "")
        if files:
            return _opened(tuple(map(tuple, files)), source, target)
        return Glossary([Term(*term) for term in terms], source or "en") if terms else None

    def _memory_of(self, named: Sequence[Sequence[str]]) -> WatchedMemory | JoinedMemory | None:
        """The memories of a client, and that of the service. One that was deleted meanwhile is left out."""
        opened = list[tuple[str, TranslationMemory]]()
        for name, path, source, target in named:
            memory = self._memories.pop(path, None)
            with suppress(UserError, OSError):
                self._memories[path] = memory or open_memory(path, source, target)
                opened.append((name, self._memories[path]))
        for path in list(self._memories)[: -max(MAX_OPEN, len(named))]:  # the newest come last
            self._memories.pop(path).close()
        return JoinedMemory(opened, self._memory) if opened else self._memory

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
        text, options = task.texts[0] if task.texts else "", dict(task.options)
        if task.kind == "snapshots":
            found: Any = {"updates": [], "curve": []} if self._snapshots is None else self._snapshots.described()
        elif task.kind == "explain_text":
            encode, every_head = self._translator.tokenizers.target.encode, bool(options.pop("every_head", False))
            prefix, target = options.pop("prefix", ""), options.pop("target", None)
            question = Question(
                text,
                prefix=tuple(encode(prefix)) if prefix else (),
                target=None if target is None else tuple(encode(target)),
                **options,
            )
            found = finite(explain(self._translator, question, every_head=every_head))
        else:
            found = answer(task.kind, self._snapshot(options.get("snapshot")), text, options)
        self.send(Report(task.id, "done", found))

    def _snapshot(self, update: int | None) -> Translator:
        """The model that is served, or its snapshot of an update."""
        if update is None:
            return self._translator
        if self._snapshots is None:
            raise UserError(f"there is no snapshot of update {update}: this model is not of a run")
        try:
            return self._snapshots.at(update)
        except (UserError, OSError):
            if update not in self._snapshots.updates:
                raise
            raise UserError(f"the snapshot of update {update} cannot be read") from None  # without its path


@lru_cache(MAX_OPEN)
def _opened(files: tuple[tuple[str, int], ...], source: str, target: str) -> Glossary:
    """The terms of some files for a direction."""
    terms = (Term(*pair) for path, _ in files for pair in read_terms(path, source, target))
    return Glossary(list(dict.fromkeys(terms)), source or "en")


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


def _answer(
    results: Sequence[Translation], join: Callable[[Sequence[str]], str], sentences: Sequence[Translation]
) -> dict[str, Any]:
    """A translated text as JSON takes it: with its alternatives, and the translations of its sentences or units."""
    count = max((1 + len(each.alternatives) for each in results), default=1)
    ranks = [[(each, *each.alternatives)[: rank + 1][-1] for each in results] for rank in range(count)]
    text, *alternatives = [join([each.text for each in rank]) for rank in ranks]
    pairs = [(each.confidence, weight) for each, weight in zip(results, token_weights(results), strict=True)]
    known = [(confidence, weight) for confidence, weight in pairs if confidence is not None]
    sure = sum(each * weight for each, weight in known) / sum(weight for _, weight in known) if known else None
    return {
        "text": text,
        "alternatives": alternatives,
        "tokens": [sum(len(each.tokens) for each in rank) for rank in ranks],
        "confidence": sure,
        "warnings": list(dict.fromkeys(name for each in results for name in each.warnings)),
        "path": next((list(each.path) for each in results if each.path), []),
        "sentences": finite(sentences),
    }


def _sentences(job: TextJob) -> list[Translation]:
    """The translations of the sentences of a text."""
    found = [each for each in job.found.values() if each.translations]
    if len(found) > 1:
        return [_of_sentence(each) for each in found]
    return [job.result] if job.result is not None and job.result.source.strip() else []


def _of_sentence(found: Found) -> Translation:
    """The translation of a sentence, with its spans in place of their placeholders."""
    spans = found.source.spans
    source = with_spans(found.source.text, spans)
    best, *others = (replace(each, source=source, text=with_spans(each.text, spans)) for each in found.translations)
    return replace(best, alternatives=tuple(others))


def _with_tags(result: Translation, unit: Unit) -> Translation:
    """The translation of a unit, with tags in place of their codes."""

    def shown(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(with_codes(each, unit.codes) for each in texts)

    source, text = shown((result.source, result.text))
    return replace(result, source=source, text=text, moved=shown(result.moved), failed=shown(result.failed))
