"""The options of `limelight translate` for many files, or one file with several processes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from limelight.cli.arguments import argument, decimal, option, whole_number
from limelight.cli.models import Machine, made_with, resolved_precision
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.corpus.translate import Engine, Report
    from limelight.corpus.worker import Done, WorkerSettings
    from limelight.formats.translation_memory import TranslationMemory
    from limelight.text.glossary import Glossary

ENOUGH = 4000
"""Minimum lines of a file for which processes are faster than threads, including their start (docs/corpus.md)."""

CORPORA = "Many files, or one by several processes"


Inputs = Annotated[
    list[str] | None,
    argument(
        "A file (also .gz, .xz, .zst) or text to translate. Default: standard input. Several files, and folders "
        "with --workers, are translated into a folder.",
        "FILE|TEXT",
    ),
]
Output = Annotated[
    str | None,
    option("--output -o", "Output file, or OUT/ for many. Default: standard output.", "FILE")
]  # fmt: skip
Workers = Annotated[
    int | None,
    option(
        "--workers",
        f"Processes. Default: one per core for many files, and for a file of {ENOUGH} lines on a CPU; else 1.",
        "N",
        whole_number(1, 4096),
        panel=CORPORA,
    ),
]
EngineOption = Annotated[
    Literal["processes", "ray"] | None,
    option(
        "--engine",
        "Where the workers are: [bold]processes[/bold] of this machine (default), or actors of [bold]ray[/bold].",
        "NAME",
        panel=CORPORA,
    ),
]
Part = Annotated[
    str | None,
    option("--shard", "Translate only the I-th of every N files, for several machines.", "I/N", panel=CORPORA)
]  # fmt: skip
Field = Annotated[
    str | None,
    option("--field", "Field of the text in JSONL and Parquet. Default: text, else source.", "NAME", panel=CORPORA)
]  # fmt: skip
Pairs = Annotated[
    Literal["source", "target"] | None,
    option(
        "--pairs", "Write pairs to train on, with the translation as their source or target.", "SIDE", panel=CORPORA
    ),
]
Timeout = Annotated[
    float | None,
    option(
        "--timeout",
        "End a worker that takes longer for 1,000 lines. Default: 1800.",
        "SECONDS",
        decimal(above=0.0),
        panel=CORPORA,
    ),
]


class Many(NamedTuple):
    """The given options of this module."""

    inputs: Sequence[str]
    output: str | None
    workers: int | None
    engine: str | None
    part: str | None
    field: str | None
    pairs: str | None
    timeout: float | None

    @property
    def is_corpus(self) -> bool:
        """Whether results go into a folder, file by file. A folder without any of these options contains documents."""
        given = any(option is not None for option in self[3:])
        if given or len(self.inputs) != 1:
            return given or len(self.inputs) > 1
        if _is(Path.is_dir, self.inputs[0]):
            return self.workers is not None
        into = self.output is not None and (self.output.endswith(("/", os.sep)) or Path(self.output).is_dir())
        return re.match(r"\w+://\S+$", self.inputs[0]) is not None or (into and _is_lines(self.inputs[0]))

    @property
    def argument(self) -> str | None:
        """The only input; None if there is not exactly one."""
        return self.inputs[0] if self.inputs else None

    @property
    def file(self) -> Path | None:
        """The output as a file."""
        return None if self.output is None else Path(self.output)


class TranslateOptions(NamedTuple):
    """The options on which translations depend."""

    folders: list[str]
    machine: Machine
    precision: str | None
    shortlist: bool
    options: Mapping[str, Any]
    """Options of `Translator.translate`, without the glossary and the memory."""
    glossary: Path | None
    memory: TranslationMemory | None

    def terms(self) -> Glossary | None:
        """The glossary. Raises `UserError` if it cannot be read."""
        if self.glossary is None:
            return None
        from limelight.formats.glossaries import read_glossary

        return read_glossary(self.glossary, self.options["source_lang"], self.options["target_lang"])

    def plain(self) -> dict[str, Any]:
        """The given options as plain values for JSON."""
        options = {name: value for name, value in self.options.items() if value is not None}
        sampling = self.options["sampling"]
        return options if sampling is None else {**options, "sampling": asdict(sampling)}

    def made_of(self) -> dict[str, Any]:
        """What translations depend on besides the text, as plain values for JSON, with the content of files."""
        from limelight.files import sha256

        return made_with(self.folders, self.machine, self.precision, shortlist=self.shortlist) | {
            "options": {name: value for name, value in self.plain().items() if name != "batch_tokens"},
            "shortlist": self.shortlist,
            "glossary": sha256(self.glossary) if self.glossary else "",
            "memory": sha256(Path(self.memory.name)) if self.memory is not None else "",
        }


def translate_corpus(many: Many, asked: TranslateOptions, form: str) -> None:
    """Translate the files into a folder. Raises `RunError` if some could not be read to their end."""
    from limelight.cli.output import text_progress
    from limelight.corpus.shards import Form
    from limelight.corpus.translate import TIMEOUT, CorpusJob
    from limelight.corpus.translate import translate_corpus as translate_files

    if not many.inputs:
        raise UserError("which files? Name files, folders or URLs, and -o OUT/ for their translations")
    if many.output is None:
        raise UserError(
            f"{counted(len(many.inputs), 'input')}: name the folder for their translations, -o OUT/; a text of "
            "several words is written in quotes"
        )
    if "://" in many.output:
        raise UserError(f"-o {many.output}: results are written to a local folder; name one, and copy it afterwards")
    if Path(many.output).is_file():
        raise UserError(f"-o {many.output}: is a file; name the folder for the translations of all inputs")
    if form != "text":
        raise UserError(
            "--json and --n-best are for one file: of many the translations are written, in their own format"
        )
    sampling = asked.options["sampling"]
    if sampling is not None and sampling.seed is None:
        raise UserError("--sample over many files needs --seed N")
    workers, settings = _settings(many.workers, asked, form="text")
    machine = Machine(settings.device)
    precision, _ = resolved_precision(asked.folders[0], machine, asked.precision)
    settings = replace(settings, precision=precision)  # on all workers, whatever their machines have
    job = CorpusJob(
        tuple(many.inputs), Path(many.output), asked._replace(machine=machine, precision=precision).made_of(),
        Form(many.field or "", many.pairs or ""), workers, _part(many.part), many.timeout or TIMEOUT,
    )  # fmt: skip
    with text_progress() as progress:

        def show(report: Report, files: int) -> None:
            progress.show("file", report.files, files, f"{report.new:,} lines  {report.lines_per_second:,.0f} lines/s")

        report = translate_files(job, _engine(many.engine, settings, workers), show)
    for line in report.lines():
        typer.echo(f"limelight: {line}", err=True)
    if report.faults:
        raise RunError(f"{counted(len(report.faults), 'file')} could not be read to the end; all others are finished")


def by_processes(
    lines: Iterator[str | None], many: Many, asked: TranslateOptions, form: str, *, file: Path | None
) -> tuple[Iterator[str | None], Iterator[Done] | None]:
    """What each line became, translated by several processes; None if one process should do it: for
    short text, pipes, or a GPU. Also returns the lines, as some may have been read."""
    alone = asked.options["protect"] or asked.glossary or asked.memory is not None or asked.options["sampling"]
    if many.workers == 1 or (many.workers is None and (file is None or not file.is_file() or alone)):
        return lines, None
    if many.workers is None:
        if not _forks(asked.machine.device) or _cores() < 2:
            return lines, None
        some = list(islice(lines, ENOUGH))
        lines = chain(some, lines)
        if len(some) < ENOUGH:
            return lines, None
    from limelight.corpus.translate import translate_lines

    workers, settings = _settings(many.workers, asked, form=form)
    return lines, translate_lines(lines, _engine(None, settings, workers), workers)


def _settings(workers: int | None, asked: TranslateOptions, *, form: str) -> tuple[int, WorkerSettings]:
    """The number of workers, and how each opens the model."""
    from limelight.corpus.worker import WorkerSettings

    gpus = _gpus(asked.machine.device)
    workers = workers or gpus or max(1, _cores() // (asked.machine.threads or 1))
    device = "cpu" if _forks(asked.machine.device) else asked.machine.device
    threads = asked.machine.threads or max(1, _cores() // workers)
    return workers, WorkerSettings(
        asked.folders, asked.plain(), device, threads, asked.precision, asked.shortlist,
        str(asked.glossary or ""), form, (str(asked.memory.index), asked.memory.name) if asked.memory else (),
    )  # fmt: skip


def _engine(name: str | None, settings: WorkerSettings, workers: int) -> Engine:
    if name != "ray":
        from limelight.corpus.pool import Processes

        return Processes(settings, shares=settings.device == "cpu" and sys.platform == "linux")
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise UserError(
            "--engine ray needs Ray: pip install 'limelight[ray]'; on one machine --workers N needs nothing"
        )
    from limelight.corpus.ray_actors import Actors

    return Actors(settings, workers=workers, gpus=1 if _gpus(settings.device) else 0)


def _part(text: str | None) -> tuple[int, int]:
    """Parse `2/8`. Raises `UserError` for anything else."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text or "1/1")
    part = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= part[0] <= part[1]:
        raise UserError(f"--shard {text}: give I/N, the I-th of every N files, with I from 1 to N, as 2/8")
    return part


def _is_lines(name: str) -> bool:
    from limelight.formats.opening import DOCUMENT_SUFFIXES

    return _is(Path.is_file, name) and Path(name).suffix.lower() not in DOCUMENT_SUFFIXES


def _is(test: Callable[[Path], bool], name: str) -> bool:
    """Whether `name` passes `test` as a path. A text may be too long for a path, or have invalid characters."""
    try:
        return test(Path(name))
    except (OSError, ValueError):
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forks(device: str | None) -> bool:
    """Whether workers are forked: on a CPU under Linux. GPUs are detected by device files, because importing torch
    takes seconds."""
    return sys.platform == "linux" and (device == "cpu" or (device in (None, "auto") and not _gpus(device)))


def _gpus(device: str | None) -> int:
    if device not in (None, "auto", "cuda"):
        return 0
    return len(list(Path("/dev").glob("nvidia[0-9]*"))) or int(Path("/dev/kfd").exists())
