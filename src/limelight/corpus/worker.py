"""`python -m limelight.corpus.worker OPENING SOCKET`: loads a model once, then forks workers that share its memory.

The driver sends a socket for each worker that it wants. On a CPU under Linux the process forks: a worker is there in
milliseconds, and model, packed weights and compiled loops exist once for all of them. Elsewhere, as with a GPU, whose
driver cannot be forked, it becomes the worker itself. Tasks and answers are frames of `child.py`. All end with the
driver.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from limelight.child import Header, read_frame, write_frame
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.pipelines.options import Options
    from limelight.pipelines.translation import Translation
    from limelight.pipelines.translator import TextJob, Translator

FORK, SERVE = b"f", b"s"
NUMBER = struct.Struct("q")


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
    glossary: str = ""
    form: str = "text"
    """Form of the lines: see `shown`."""
    memory: Sequence[str] = ()
    """The index of a translation memory and the name of its file."""


def open_texts(settings: WorkerSettings, number: int = 0) -> Translate:
    """Load the model, for a process of its own. With several GPUs each worker has one, by its `number`.

    Raises `UserError` for a model or options that are not available.
    """
    from limelight.memory import hold_memory_for_work

    hold_memory_for_work()
    import torch

    from limelight.decoding.ahead import compile_here
    from limelight.decoding.sampling import Sampling
    from limelight.inference.prepare import slow_precision
    from limelight.models.families import choose_device
    from limelight.pipelines.load import load_translator

    compile_here()
    torch.set_num_threads(1)  # a process that has threads of its own cannot be forked
    device = choose_device(settings.device or "auto", setting="--device ")
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", number % torch.cuda.device_count())
    translator = load_translator(
        settings.folders, device, precision=settings.precision, shortlist=settings.shortlist, threads=None
    )
    slow = slow_precision(settings.precision, device) if settings.precision and not number else None
    if slow:
        print(f"limelight: {slow}", file=sys.stderr, flush=True)
    options = dict(settings.options)
    if options.get("sampling") is not None:
        options["sampling"] = Sampling(**options["sampling"])
    translate = _translating(settings, translator, options)

    def with_threads(texts: Sequence[str], first: int) -> list[Outcome]:
        torch.set_num_threads(settings.threads)
        return translate(texts, first)

    return with_threads


def _translating(settings: WorkerSettings, translator: Translator, asked: dict[str, Any]) -> Translate:
    from limelight.formats.glossaries import read_glossary
    from limelight.formats.translation_memory import TranslationMemory
    from limelight.pipelines.job import Text

    batch_tokens = asked.pop("batch_tokens")
    if settings.glossary:
        languages = asked.get("source_lang") or "", asked.get("target_lang") or ""
        asked["glossary"] = read_glossary(settings.glossary, *languages)
    options = translator.options(**asked)

    def translate(texts: Sequence[str], first: int, options: Options = options) -> list[Outcome]:
        given = (Text(text, number) for number, text in enumerate(texts, start=first))
        jobs = list(translator.jobs(given, options))
        translator.work(jobs, batch_tokens)
        return [_outcome(job, number) for number, job in enumerate(jobs, start=first)]

    def _outcome(job: TextJob, number: int) -> Outcome:
        if isinstance(job.error, UserError):
            return str(job.error)
        if job.error is not None:
            raise job.error
        found = cast("Translation", job.result)
        return Done(shown(found, number - 1, settings.form), sorted(set(found.warnings)), found.confidence)

    translate(["a"], 1)  # what is made at first use is made once, before the workers are forked
    if not settings.memory:
        return translate

    @cache
    def with_memory() -> Options:
        index, name = settings.memory
        return replace(options, memory=TranslationMemory(Path(index), name))

    # Each worker opens the memory at its first task: a connection to a database must not be used after a fork.
    return lambda texts, first: translate(texts, first, with_memory())


def main(load: Callable[[WorkerSettings, int], Translate] = open_texts) -> None:
    """Load, then make workers until the driver is gone. `load` is another one in tests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # sent to all processes of a terminal; the driver decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    words = json.loads(sys.argv[1])
    settings, number = WorkerSettings(**words["settings"]), words["number"]
    control = socket.socket(fileno=int(sys.argv[2]))
    try:
        translate = load(settings, number)
    except UserError as error:
        _tell(control, {"error": str(error)})
        return
    gc.freeze()
    _tell(control, {})
    children: set[int] = set()
    while True:
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            break
        link = socket.socket(fileno=handles[0])
        if message == SERVE:
            control.close()
            _serve(link, translate)
            break
        children = {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}
        child = os.fork()
        if child == 0:
            control.close()
            _serve(link, translate)
            os._exit(0)
        link.close()
        children.add(child)
        control.sendall(NUMBER.pack(child))
    for child in children:
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)
    os._exit(0)


def _tell(control: socket.socket, header: Header) -> None:
    with control.makefile("wb") as frames:
        write_frame(frames, header)


def _serve(link: socket.socket, translate: Translate) -> None:
    """Answer tasks until there are no more."""
    with suppress(OSError), link.makefile("rwb") as frames:
        while (frame := read_frame(frames)) is not None:
            found = translate(json.loads(frame[1]), frame[0]["first"])
            write_frame(frames, {}, json.dumps(found).encode("ascii"))


FORMAT = 1
"""Version of the JSON objects."""


def shown(translation: Translation, number: int, form: str) -> list[str]:
    """The lines of `text`, `json` or `n-best`; `number` counts from 0."""
    if form == "json":
        return [json.dumps({"format": FORMAT, **asdict(translation)}, ensure_ascii=False)]
    if form == "n-best":
        return [f"{number} ||| {each.text} ||| {each.score:.4f}" for each in (translation, *translation.alternatives)]
    return [translation.text]


if __name__ == "__main__":
    main()
