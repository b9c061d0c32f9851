"""`limelight translate` for many files, or one file with several processes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.models import resolved_precision
from limelight.cli.outcome import note
from limelight.errors import RunError, UserError, counted
from limelight.screen import Display

if TYPE_CHECKING:
    from limelight.cli.job import Job
    from limelight.corpus.pool import Engine
    from limelight.corpus.translate import Report
    from limelight.corpus.worker import Done, WorkerSettings

ENOUGH = 4000
"""Minimum lines of a file for which processes are faster than threads, including their start (docs/corpus.md)."""


def translate_corpus(job: Job) -> None:
    """Translate the files into a folder. Raises `RunError` if some could not be read to their end."""
    from limelight.corpus.pool import TIMEOUT
    from limelight.corpus.translate import CorpusJob
    from limelight.corpus.translate import translate_corpus as translate_files

    output = job.output or ""
    if not job.inputs or not output or "://" in output or Path(output).is_file():
        raise UserError(
            f"{counted(len(job.inputs or ()), 'input')} and -o {output or '(none)'}: many files need inputs (files, "
            "folders or URLs) and a local folder for their translations, -o OUT/; a text of several words is written "
            "in quotes"
        )
    if job.form != "text":
        raise UserError(
            "--json and --n-best are for one file: of many the translations are written, in their own format"
        )
    if job.sample and job.drawing.seed is None:
        raise UserError("--sample over many files needs --seed N")
    workers, settings = _settings(job)
    machine = replace(job.machine, device=settings.device, threads=None)
    precision, _ = resolved_precision(job.found[0][0], machine, job.precision)
    settings = replace(settings, precision=precision)  # on all workers, whatever their machines have
    made_of = replace(job, machine=machine, precision=precision).made_of()  # type: ignore[arg-type]  # one of them
    inputs, part = tuple(job.inputs), _part(job.shard)
    files = CorpusJob(inputs, Path(output), made_of, job.field or "", workers, part, job.timeout or TIMEOUT)
    with Display() as display:

        def show(report: Report, count: int) -> None:
            speed = f"{report.new:,} lines  {report.lines_per_second:,.0f} lines/s"
            display.count("file", report.files, count, speed)

        report = translate_files(files, _engine(job.engine, settings, workers), show)
    for line in report.lines():
        note(line)
    if report.faults:
        raise RunError(f"{counted(len(report.faults), 'file')} could not be read to the end; all others are finished")


def by_processes(
    lines: Iterator[str | None], job: Job, file: Path | None
) -> tuple[Iterator[str | None], Iterator[Done] | None]:
    """What each line became, translated by several processes; None if one process should do it: for
    short text, pipes, or a GPU. Also returns the lines, as some may have been read."""
    if job.workers is None:
        alone = job.protect or job.glossary or job.memory or job.sample
        if alone or file is None or not file.is_file() or not _forks(job.machine.device) or _cores() < 2:
            return lines, None
        some = list(islice(lines, ENOUGH))
        lines = chain(some, lines)
        if len(some) < ENOUGH:
            return lines, None
    from limelight.corpus.translate import translate_lines

    workers, settings = _settings(job)
    return lines, translate_lines(lines, _engine(None, settings, workers), workers)


def _settings(job: Job) -> tuple[int, WorkerSettings]:
    """The number of workers, and how each opens the model."""
    from limelight.corpus.worker import WorkerSettings

    machine = job.machine
    workers = job.workers or _gpus(machine.device) or max(1, _cores() // (machine.threads or 1))
    device = "cpu" if _forks(machine.device) else machine.device
    threads = machine.threads or max(1, _cores() // workers)
    memory = next(((str(each.path), each.name) for each in job.segments.indexes), ()) if job.segments else ()
    return workers, WorkerSettings(
        job.found[0], job.plain(), device, threads, job.precision, job.shortlist, str(job.glossary or ""), job.form,
        memory,
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
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"--shard {text}: give I/N, the I-th of every N files, with I from 1 to N, as 2/8")
    return int(match[1]), int(match[2])


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
