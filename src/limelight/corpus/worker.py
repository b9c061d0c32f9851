"""A worker of a corpus: opens a model and translates chunks of text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from limelight.child import Frame, Handler, Header
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.pipelines.options import Options
    from limelight.pipelines.translation import Translation
    from limelight.pipelines.translator import TextJob

SETTINGS = "LIMELIGHT_WORKER"
"""Environment variable with the settings for `preloaded`."""


class Done(NamedTuple):
    """The outcome of a text."""

    lines: Sequence[str]
    """Lines of the output."""
    warnings: Sequence[str] = ()
    confidence: float | None = None


Outcome = str | Done
"""The translation of a text, or the reason why the model refuses it."""

Translate = Callable[[Sequence[str], int], list[Outcome]]
"""Translates texts; also given is the number of the first in its file."""
Opener = Callable[[str, int], Translate]
"""Opens a model with settings as JSON, for the worker of a number."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker opens the model, and the options of its work, as plain values for JSON."""

    folders: list[str]
    options: dict[str, Any]
    """Options of `Translator.translate`; `sampling` as a mapping."""
    device: str | None = None
    threads: int = 1
    precision: str | None = None
    shortlist: bool = False
    glossary: Sequence[str] = ()
    """The arguments of `read_glossary`."""
    form: str = "text"
    """Form of the lines: see `shown`."""
    memory: Sequence[tuple[str, str]] = ()
    """The indexes of a translation memory, each with the name of its file."""


def open_texts(settings: WorkerSettings, number: int) -> Translate:
    """Load the model, for a process of its own. With several GPUs each worker has one, by its `number`.

    Raises `UserError` for a model or options that are not available.
    """
    from limelight.memory import hold_memory_for_work

    hold_memory_for_work()
    import torch

    from limelight.decoding.ahead import compile_here
    from limelight.formats.glossaries import read_glossary
    from limelight.formats.translation_memory import Index, TranslationMemory
    from limelight.inference.prepare import slow_precision
    from limelight.models.families import choose_device
    from limelight.pipelines.job import Text
    from limelight.pipelines.load import load_translator

    compile_here()
    torch.set_num_threads(1)  # a process that has threads of its own cannot be forked
    device = choose_device(settings.device or "auto")
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", number % torch.cuda.device_count())
    translator = load_translator(
        settings.folders, device, precision=settings.precision, shortlist=settings.shortlist, threads=None
    )
    slow = slow_precision(settings.precision, device) if settings.precision and not number else None
    if slow:
        print(f"limelight: {slow}", file=sys.stderr, flush=True)
    search = dict(settings.options)
    batch_tokens = search.pop("batch_tokens")
    if settings.glossary:
        search["glossary"] = read_glossary(*settings.glossary)
    options = translator.options(**search)

    def work(texts: Sequence[str], first: int, options: Options) -> list[Outcome]:
        jobs = list(translator.jobs((Text(text, number) for number, text in enumerate(texts, start=first)), options))
        translator.work(jobs, batch_tokens)
        return [_outcome(job, number, settings.form) for number, job in enumerate(jobs, start=first)]

    @cache
    def complete() -> Options:
        """At the first task of a worker: it has a thread count, and a database must not be used after a fork."""
        torch.set_num_threads(settings.threads)
        if not settings.memory:
            return options
        return replace(options, memory=TranslationMemory(Index(Path(path), name) for path, name in settings.memory))

    work(["a"], 1, options)  # what is made at first use is made once, before the workers are forked
    return lambda texts, first: work(texts, first, complete())


def _outcome(job: TextJob, number: int, form: str) -> Outcome:
    if isinstance(job.error, UserError):
        return str(job.error)
    if job.error is not None:
        raise job.error
    translation = cast("Translation", job.result)
    return Done(shown(translation, number - 1, form), sorted(set(translation.warnings)), translation.confidence)


@cache
def opened(settings: str, number: int) -> Translate:
    """`open_texts` for settings as JSON, once in a process and in those that are forked from it."""
    return open_texts(WorkerSettings(**json.loads(settings)), number)


def answering(opener: Opener, settings: str, number: int) -> Handler:
    """What a worker answers with, once its model is open: the outcome of each text."""
    translate = opener(settings, number)

    def handle(header: Header, payload: bytes) -> Frame:
        texts = header["texts"]
        return {"outcomes": translate(texts, header["first"]) if texts else []}, b""

    return handle


FORMAT = 1
"""Version of the JSON objects."""


def shown(translation: Translation, number: int, form: str) -> list[str]:
    """The lines of `text`, `json` or `n-best`; `number` counts from 0."""
    if form == "json":
        return [json.dumps({"format": FORMAT, **asdict(translation)}, ensure_ascii=False)]
    if form == "n-best":
        return [
            f"{number} ||| {candidate.text} ||| {candidate.score:.4f}"
            for candidate in (translation, *translation.alternatives)
        ]
    return [translation.text]
