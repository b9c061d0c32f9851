"""An engine: a model in a process of its own that works on whole requests. It knows no HTTP.

It takes tasks from an inbox and sends reports. Texts of several requests are decoded in one batch.
"""

from __future__ import annotations

import math
import re
import sys
import threading
import time
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import torch

from limelight.child import Inbox as Frames
from limelight.child import Send
from limelight.config.directions import UNNAMED
from limelight.decoding.ahead import compile_aside
from limelight.decoding.sampling import Sampling
from limelight.errors import RunError, UserError
from limelight.formats.html import Tags, html_units, xml_units
from limelight.formats.markdown import markdown_units
from limelight.formats.translation_memory import (
    JoinedMemory,
    MemoryMatch,
    TranslationMemory,
    WatchedMemory,
    open_memory,
)
from limelight.formats.unit import FormatError, Unit, rewritten, with_codes
from limelight.memory import hold_memory_for_work, rare_collections
from limelight.models.families import choose_device
from limelight.models.interface import eval_mode
from limelight.pipelines.explain import ANSWERS, Question, explain
from limelight.pipelines.explain_text import explain_filled, explain_written, text_head
from limelight.pipelines.generator import Growth, TextGenerator
from limelight.pipelines.job import Text
from limelight.pipelines.load import load
from limelight.pipelines.mask_filler import MaskFiller
from limelight.pipelines.scheduler import Ended, Scheduler
from limelight.pipelines.sentence import Found
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translation import Translation, Word, token_weights
from limelight.pipelines.translator import TextJob, Translator
from limelight.serving.links import LONG, PING, Loading, Report, ReportCallback, Task
from limelight.serving.logs import Log, log_warnings
from limelight.serving.stored import read_terms
from limelight.storage.layout import DETECTOR, find_model
from limelight.storage.tables import read_detector
from limelight.text.checks import is_capitals, is_title
from limelight.text.detection import LanguageDetector
from limelight.text.glossary import Glossary, Term
from limelight.text.judge import foreign_evidence
from limelight.text.marking import MARK, mark_number
from limelight.text.plan import MarkedSentence, Plan
from limelight.tokens.marked import decode_marked, knows_marks

DETECTED = 1000
"""Characters of a text from which its language is detected."""
MAX_OPEN = 100
"""Glossaries and memories of clients that are kept open, of each kind."""
MAX_CODES = 2000
"""Tags within a segment of a request."""
FAILED = "the model could not translate this text"
SWITCH = 1e-5
"""Python's switch interval in seconds: the engine shares the interpreter lock with the thread that reads tasks."""
UNFINISHED = "\0"
"""In place of the sentences that follow in an unfinished text."""
REST = 4
"""After the progress of a request was made, so many times as long passes before it is made again."""
_LAST_WORD = re.compile(r"[^\s\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]*\Z")
"""What may be the beginning of a word; Thai, Lao, Japanese and Chinese have no spaces between words."""
_LINE_BREAK = re.compile(r"(?<=\S)[ \t]*(?:\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*(?=\S)")
"""A single line break, which is a space to a text that is divided across lines."""

Given = TypeVar("Given")


class Engine:
    """The loop of an engine. `send` is called with each report."""

    def __init__(self, send: ReportCallback) -> None:
        self.send = send

    @property
    def busy(self) -> bool:
        """Whether there is work beside new tasks."""
        raise NotImplementedError

    def run(self, inbox: SimpleQueue[Task | None]) -> None:
        """Work until None is taken from the inbox: what is running then is left."""
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


def _waiting(inbox: SimpleQueue[Task | None], *, idle: bool) -> Iterator[Task | None]:
    """All that has come; waits for one if there is nothing else to do."""
    if idle:
        yield inbox.get()
    with suppress(Empty):
        while True:
            yield inbox.get_nowait()


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
    shown: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    """The last progress of each text."""
    settled: dict[tuple[int, int], str] = field(default_factory=dict)
    """What was shown as settled of each sentence, by text and sentence; that cannot be taken back."""


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
        self._memories = OrderedDict[Any, TranslationMemory]()
        self._glossaries = OrderedDict[Any, Glossary]()
        self._questions = SimpleQueue[Task | None]()

    @property
    def busy(self) -> bool:
        return self._scheduler.busy

    def run(self, inbox: SimpleQueue[Task | None]) -> None:
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
        self._scheduler.submit(task.id, self._jobs(request, numbered, asked), long=long, followed=task.stream)

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
            settled = request.shown.get(ended.place, ("", "", ""))[2]
            text = ended.job.result.text
            said = text if text.startswith(settled) else settled
            self._report_progress(request, ended.place, (text, text, said))

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
        searched: dict[int, dict[int, tuple[Sequence[int], Sequence[int]]]] = defaultdict(dict)
        for (place, sentence), ids in self._scheduler.progress(request.task.id).items():
            searched[place][sentence] = ids
        for place, job in enumerate(request.jobs):
            if place not in request.done and job.plan is not None and (searched[place] or job.found):
                self._report_progress(request, place, self._progress(request, place, job.plan, searched[place]))

    def _report_progress(self, request: Request, place: int, progress: tuple[str, str, str]) -> None:
        if progress != request.shown.get(place) and not progress[0].endswith("\ufffd"):
            request.shown[place] = progress
            self.send(Report(request.task.id, "partial", [place, *progress]))

    def _progress(
        self, request: Request, place: int, plan: Plan, searched: Mapping[int, tuple[Sequence[int], Sequence[int]]]
    ) -> tuple[str, str, str]:
        """The beginning of a text, how much of it is certain, and how much was settled by the first searches: guards
        may still change that."""
        done, guards = request.jobs[place].found, request.task.options.get("guards") is not False
        texts, certain, settled = list[str | None](), list[str | None](), list[str | None]()
        sentences = plan.sentences
        for number, sentence in enumerate(sentences):
            ids, sure = searched.get(number, ((), ()))
            known = request.settled.get((place, number), "")
            if number in done:
                ranks = done[number].ranks
                text = ranks[0].repaired.text if ranks else None
                said = text if text is None or text.startswith(known) else self._decoded(plan, sentence, ids)
                texts.append(text)
                certain.append(text)
                settled.append(said)
                continue
            if sentence is not None and not sentence.numbers and not (guards and _in_capitals(sentence.text)):
                known = max(whole_words(self._decoded(plan, sentence, sure)), known, key=len)
            request.settled[place, number] = known
            texts.append(self._decoded(plan, sentence, ids) + UNFINISHED)
            certain.append(("" if guards else known) + UNFINISHED)
            settled.append(known + UNFINISHED)
            break
        rest = [UNFINISHED] * (len(sentences) - len(texts))
        beginning, sure_beginning, settled_beginning = (
            plan.join([*some, *rest])[0].partition(UNFINISHED)[0] for some in (texts, certain, settled)
        )
        return beginning, sure_beginning, settled_beginning

    def _decoded(self, plan: Plan, sentence: MarkedSentence | None, ids: Sequence[int]) -> str:
        """The text of tokens, with the placeholders of its sentence."""
        target = self._translator.tokenizers.target
        if plan.plain is not None:
            return target.decode(ids)
        count = len(sentence.numbers) if sentence is not None else 0
        return MARK.sub(lambda mark: mark[0] if mark_number(mark[0]) < count else "", decode_marked(target, ids))

    # ---- glossaries and memories

    def _glossary(self, options: dict[str, Any]) -> Glossary | None:
        """The terms of a request, and those of the glossaries that it names by their files."""
        files, terms = options.pop("glossaries", ()), [Term(*term) for term in options.pop("terms", ())]
        source, target = options.get("source_lang", ""), options.get("target_lang", "")
        if files:
            key = (tuple(map(tuple, files)), source, target)
            if key not in self._glossaries:
                terms += [Term(*pair) for path, _ in files for pair in read_terms(path, source, target)]
                self._glossaries[key] = Glossary(list(dict.fromkeys(terms)), source or "en")
            _keep_newest(self._glossaries, key)
            return self._glossaries[key]
        return Glossary(terms, source or "en") if terms else None

    def _memory_of(self, named: Sequence[Sequence[str]]) -> WatchedMemory | JoinedMemory | None:
        """The memories of a client, and that of the service. One that was deleted meanwhile is left out."""
        opened = list[tuple[str, TranslationMemory]]()
        for name, path, source, target in named:
            if path not in self._memories:
                with suppress(UserError, OSError):
                    self._memories[path] = open_memory(path, source, target)
            if path in self._memories:
                opened.append((name, self._memories[path]))
        for _, path, *_ in named:
            if path in self._memories:
                for memory in _keep_newest(self._memories, path, max(MAX_OPEN, len(named))):
                    memory.close()
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
            found = ANSWERS[task.kind](self._snapshot(options.get("snapshot")), text, options)
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


Kept = TypeVar("Kept")


def _keep_newest(some: OrderedDict[Any, Kept], key: Any, most: int = MAX_OPEN) -> list[Kept]:
    """Remember that an item was used; returns those that are not kept any longer."""
    some.move_to_end(key)
    return [some.popitem(last=False)[1] for _ in range(len(some) - most)]


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


def _in_capitals(text: str) -> bool:
    """Whether guards search a text again, whose first words are not settled then."""
    return is_capitals(text) or is_title(text)


def whole_words(text: str) -> str:
    """The text without its last word, to which letters may be added; every character of a script without spaces is a
    word."""
    return _LAST_WORD.sub("", text).rstrip()


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
    found = [each for each in job.found.values() if each.ranks]
    if len(found) > 1:
        return [_of_sentence(each) for each in found]
    return [job.result] if job.result is not None and job.result.source.strip() else []


def _of_sentence(found: Found) -> Translation:
    """The translation of a sentence, with its spans in place of their placeholders."""
    spans = found.source.spans
    sent = {mark_number(mark) for mark in MARK.findall(found.source.sent)}

    def shown(text: str) -> str:
        return MARK.sub(
            lambda mark: spans[mark_number(mark[0])].text if mark_number(mark[0]) < len(spans) else "", text
        )

    best, *others = (
        replace(
            rank.translation,
            source=shown(found.source.text),
            text=shown(rank.repaired.text),
            moved=tuple(spans[number].text for number in rank.repaired.moved if number in sent),
            failed=tuple(spans[number].text for number in rank.repaired.failed),
            unused=tuple(match.term.target for match in rank.unused),
        )
        for rank in found.ranks
    )
    return replace(best, alternatives=tuple(others))


def _with_tags(result: Translation, unit: Unit) -> Translation:
    """The translation of a unit, with tags in place of their codes."""

    def shown(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(with_codes(each, unit.codes) for each in texts)

    source, text = shown((result.source, result.text))
    return replace(result, source=source, text=text, moved=shown(result.moved), failed=shown(result.failed))


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
                self.send(Report(writing.task.id, "partial", [0, writing.text, writing.text, writing.text]))
            return
        del self._writing[writing.task.id]
        assert isinstance(self._pipeline, TextGenerator)
        document = finite(explain_written(self._pipeline, growth.done, self._name))
        self.send(Report(writing.task.id, "done", {"text": growth.done.text, "document": document}))


# ---- loading

SENTENCE = "A dog runs to the house."
LONG_SENTENCE = " ".join([SENTENCE[:-1]] * 20)
"""More tokens than the kernels for short sentences take."""
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    (SENTENCE, {}),
    (SENTENCE, {"beam_size": 1}),
    (SENTENCE, {"beam_size": 4, "n_best": 2}),
    (SENTENCE, {"sampling": {"top_k": 5, "seed": 1}}),
    (SENTENCE, {"terms": [("house", "house")], "codes": [[["alone", "x"]]]}),
    (LONG_SENTENCE, {"beam_size": 4, "n_best": 2}),
)
"""Every kind of search, a sentence with a term, and a long one."""


def warm_up(make: Callable[[ReportCallback], Engine], tasks: Sequence[Task]) -> None:
    """Do some tasks before an engine reports that it is ready: kernels are compiled at their first call (up to a minute
    on a slow CPU without a cache of them), and weights are read from disk at their first use. Results are discarded."""
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    left = len(tasks)

    def heard(report: Report) -> None:
        nonlocal left
        left -= report.kind != "partial"
        if not left:
            inbox.put(None)

    for task in tasks:
        inbox.put(task)
    make(heard).run(inbox)


def load_engine(loading: Loading, send: ReportCallback) -> Engine:
    """The engine, which has reported that it is loaded, once it is warm. The calling thread computes with so many
    threads from now on.

    Raises `UserError` for a folder that holds no model, for a classifier, and as `load` does.
    """
    torch.set_num_threads(loading.threads)
    device = choose_device(loading.device or "auto", setting="--device ")
    found = load(loading.folder, device, precision=loading.precision, shortlist=loading.shortlist)
    if isinstance(found, Translator):
        return _translating(found, loading, device, send)
    if not isinstance(found, TextGenerator | MaskFiller):
        raise UserError(f"{loading.folder}: a classifier is not served; use it with `limelight classify`")
    use, options = ("generate", {"max_tokens": 4}) if isinstance(found, TextGenerator) else ("fill", {})
    kind = "write" if use == "generate" else use
    warm_up(lambda heard: TextEngine(found, heard), [Task(1, kind, [SENTENCE], options)])
    send(Report(0, "loaded", {"use": use}))
    return TextEngine(found, send, loading.name)


def _translating(found: Translator, loading: Loading, device: torch.device, send: ReportCallback) -> Engine:
    found.name = loading.name
    detector = read_detector(find_model(loading.folder) / DETECTOR)
    snapshots = Snapshots(loading.folder, loading.name, device)
    memory = WatchedMemory(loading.memory, found.directions, warnings.warn) if loading.memory else None
    source, target = found.directions[0] if found.directions else ("", "")
    languages = {"source_lang": source, "target_lang": target}
    tasks = [Task(number, "translate", [text], {**languages, **more}) for number, (text, more) in enumerate(FORMS, 1)]
    for some in (tasks[:1], tasks[1:]):  # the first one alone, as on a service that has little to do
        warm_up(lambda heard: TranslationEngine(found, heard), some)
    send(Report(0, "loaded", description(found, pivot=loading.pivot, snapshots=len(snapshots.updates))))
    return TranslationEngine(found, send, detector, snapshots, memory)


def description(found: Translator, *, pivot: bool = True, snapshots: int = 0) -> dict[str, Any]:
    """What the service needs to know of a model."""
    return {
        "use": "translate",
        "directions": [list(each) for each in found.directions if each.source != UNNAMED["source"]],
        "pivots": [[pair.source, between, pair.target] for pair, between in (found.pivots.items() if pivot else ())],
        "decoding": found.config.model_dump(mode="json"),
        "snapshots": snapshots,
        "formality": [each.target for each in found.directions if found.has_formality(each.target)],
    }


class _Tasks(SimpleQueue[Task | None]):
    """The messages of the service as tasks."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    def get(self, block: bool = True, timeout: float | None = None) -> Task | None:
        """See `SimpleQueue.get`."""
        task = self._frames.get(block, timeout)[0]["task"]
        return None if task is None else Task(*task)

    def get_nowait(self) -> Task | None:
        """See `SimpleQueue.get_nowait`."""
        return self.get(block=False)


def work(frames: Frames, send: Send, loading: dict[str, Any]) -> None:
    """In the process of an engine: serve one model until the service says that it is to end."""

    def report(report: Report) -> None:
        send({"report": report})

    hold_memory_for_work()
    sys.setswitchinterval(SWITCH)
    log, given = Log(), Loading(**loading)
    log_warnings(log)
    if given.device in (None, "auto", "cpu"):
        compile_aside(lambda message: log("compiling", message=message))
    try:
        engine = load_engine(given, report)
        with rare_collections():
            engine.run(_Tasks(frames))
    except (UserError, RunError) as error:
        report(Report(0, "closed", str(error)))
    except Exception as error:
        report(Report(0, "closed", f"{type(error).__name__}: {error}"))
