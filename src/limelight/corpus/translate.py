"""Files, or the lines of one file, through a pool of workers. Files go into a folder, and a call that was interrupted
is resumed by the same call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from limelight.corpus.pool import ENDED, Chunk, Pool, Tally, Worker
from limelight.corpus.results import AGAIN, REPORT, Counts, Results, open_results
from limelight.corpus.shards import Form, Item, Shard, find_shards, read_items, require_text_kept
from limelight.corpus.worker import Done
from limelight.errors import RunError, UserError, counted
from limelight.files import as_json, write_whole, writing
from limelight.pipelines.translation import LOW_CONFIDENCE
from limelight.text.pair import BadLine

CHUNK = 1000
"""Lines of a task, and between two commits. Those of a task are batched by length, so fewer would be slower."""
TIMEOUT = 1800.0
"""Seconds for a task: a worker that takes longer hangs."""


@runtime_checkable
class Engine(Protocol):
    """A source of workers."""

    def start(self, number: int) -> Worker:
        """A new worker, for any thread that asks."""

    def close(self) -> None:
        """End them all."""


@dataclass(frozen=True, slots=True)
class CorpusJob:
    """The options of a corpus translation."""

    inputs: tuple[str, ...]
    output: Path
    made_of: Mapping[str, Any]
    """All that the results depend on besides the text: for the manifest."""
    form: Form = field(default_factory=Form)
    workers: int = 1
    part: tuple[int, int] = (1, 1)
    timeout: float = TIMEOUT
    chunk: int = CHUNK


@dataclass(slots=True)
class Report:
    """The outcome for a corpus."""

    files: int = 0
    former: int = 0
    """Files that an earlier start had finished."""
    counts: Counts = field(default_factory=Counts)
    new: int = 0
    """Lines that this start has read."""
    seconds: float = 0.0
    workers: Tally = field(default_factory=Tally)
    faults: list[str] = field(default_factory=list)
    """Files that cannot be read to their end, and why."""

    @property
    def lines_per_second(self) -> float:
        """Lines per second of this start."""
        return self.new / self.seconds if self.seconds else 0.0

    def lines(self) -> Iterator[str]:
        """For people."""
        counts = self.counts
        sums = f"{counted(counts.read, 'line')} read = {counts.written:,} written + {counts.skipped:,} skipped"
        yield f"{counted(self.files, 'file')}, {sums}"
        for reason, count in sorted(counts.reasons.items(), key=lambda each: -each[1]):
            yield f"  skipped {count:,}: {reason}"
        if self.former:
            yield f"  {counted(self.former, 'file')} finished before"
        if self.workers.ended:
            yield f"  {counted(self.workers.ended, 'worker')} ended early; what they had was translated by others"
        if counts.warnings:
            named = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.warnings.items()))
            yield f"  warnings, in lines: {named}"
        if counts.unsure:
            yield f"  {counted(counts.unsure, 'line')} unsure (confidence below {LOW_CONFIDENCE})"
        yield f"  {counted(self.new, 'line')} in {self.seconds:.1f} s: {self.lines_per_second:,.0f} lines/s"
        yield from (f"  not finished: {fault}" for fault in self.faults)


Show = Callable[[Report, int], None]
"""Called with the report so far and the number of all files, after each chunk."""


def translate_corpus(job: CorpusJob, engine: Engine, show: Show = lambda report, files: None) -> Report:
    """Translate all files that are not finished. A file that cannot be read stops nothing; the report names it.

    Raises `UserError` for inputs that are not there, for a folder with results of other settings, and for a model or
    options that are not available; `RunError` if nothing can be written, or workers end repeatedly.
    """
    shards = find_shards(job.inputs, job.part)
    output = job.output.resolve()
    for shard in shards:
        if "://" not in shard.path and output in Path(shard.path).resolve().parents:
            raise UserError(f"{job.output}: {shard.path} is in it; give -o another folder")
    require_text_kept(shards, job.form)
    open_results(job.output, {**job.made_of, "form": asdict(job.form)})
    work = _Work(job, shards)
    pool = Pool(engine.start, job.workers, timeout=job.timeout)
    work.report.workers = pool.tally
    began = time.monotonic()
    translated = pool.translated(work.chunks())
    try:
        for chunk in translated:
            work.write(chunk)
            work.report.seconds = time.monotonic() - began
            show(work.report, len(shards))
    finally:
        translated.close()
        work.close()
        engine.close()
    return _checked(job, work.report)


def _checked(job: CorpusJob, report: Report) -> Report:
    counts = report.counts
    if counts.read != counts.written + counts.skipped:
        raise RunError(f"{counts.read:,} lines were read, {counts.written:,} written and {counts.skipped:,} skipped")
    name = REPORT if job.part == (1, 1) else f"report-{job.part[0]}-of-{job.part[1]}.json"
    with writing(job.output / name, AGAIN):
        write_whole(job.output / name, as_json(asdict(report), indent=1) + "\n")
    return report


@dataclass(eq=False, slots=True)
class _About:
    """The origin of a chunk."""

    results: Results
    items: Sequence[Item | BadLine]
    last: bool


class _Work:
    """The files under way: those that are read, and those whose results are still to come."""

    def __init__(self, job: CorpusJob, shards: Sequence[Shard]) -> None:
        self._job, self._shards = job, shards
        self._open: list[Results] = []
        self.report = Report()

    def chunks(self) -> Iterator[Chunk]:
        """All that is to be translated, file by file."""
        for shard in self._shards:
            results = Results(self._job.output, shard, self._job.form)
            if results.finished:
                self._count(results)
                self.report.former += 1
                continue
            self._open.append(results)
            done = results.begin()
            try:
                yield from self._of(results, done)
            except UserError as error:  # of this file alone
                self.report.faults.append(str(error))

    def _of(self, results: Results, done: int) -> Iterator[Chunk]:
        lines = islice(read_items(results.shard, self._job.form), done, None)
        ended = False
        while not ended:
            items = list(islice(lines, self._job.chunk))
            ended = len(items) < self._job.chunk
            if items and isinstance(items[-1], BadLine) and items[-1].fatal:
                raise UserError(str(items[-1]))
            first = done + 1
            done += len(items)
            texts = [item.text for item in items if isinstance(item, Item)]
            yield Chunk(texts, first, _About(results, items, ended))

    def write(self, chunk: Chunk) -> None:
        """Commit the results of a chunk; after the last one of a file, finish it."""
        about: _About = chunk.about
        if about.items:
            about.results.commit(about.items, [each for each in chunk.outcomes if each is not None])
            self.report.new += len(about.items)
        if about.last:
            about.results.finish()
            self._open.remove(about.results)
            self._count(about.results)

    def close(self) -> None:
        """Leave what is not finished for a later start."""
        for results in self._open:
            results.close()

    def _count(self, results: Results) -> None:
        self.report.files += 1
        self.report.counts.add(results.counts)


LINES_OF_A_TASK = 500
"""Lines of a task: a few tasks for each worker of the shortest file that is worth processes."""


def translate_lines(lines: Iterable[str | None], engine: Engine, workers: int) -> Iterator[Done]:
    """What each line became, in their order.

    Raises `UserError` for a line that the model does not take, `RunError` for one that ends its workers.
    """
    pool = Pool(engine.start, workers, timeout=TIMEOUT)
    translated = pool.translated(_chunks(line for line in lines if line is not None))
    try:
        for chunk in translated:
            for number, outcome in enumerate(chunk.outcomes, start=chunk.first):
                if isinstance(outcome, str):
                    raise (RunError(f"line {number}: {outcome}") if outcome.startswith(ENDED) else UserError(outcome))
                if outcome is not None:
                    yield outcome
    finally:
        translated.close()
        engine.close()


def _chunks(lines: Iterator[str]) -> Iterator[Chunk]:
    first = 1
    while texts := list(islice(lines, LINES_OF_A_TASK)):
        yield Chunk(texts, first)
        first += len(texts)
