"""Files, or the lines of one file, through a pool of workers. Files go into a folder, and a call that was interrupted
is resumed by the same call."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from limelight.corpus.pool import ENDED, TIMEOUT, Chunk, Pool, Start
from limelight.corpus.results import REPORT, Counts, Results
from limelight.corpus.shards import Shard, find_shards, read_items
from limelight.corpus.worker import Done
from limelight.documents.parts import AGAIN
from limelight.errors import RunError, UserError, counted
from limelight.files import as_json, cause, sha256, write_whole, writing
from limelight.formats.lines import chunks

CHUNK = 1000
"""Lines of a task and of a part of the results. Those of a task are batched by length, so fewer would be slower."""
LINE_CHARACTERS = 1000
"""Characters that count as one line: of a thousand lines of a megabyte each, a task would take hours."""


@dataclass(frozen=True, slots=True)
class CorpusJob:
    """The options of a corpus translation."""

    inputs: tuple[str, ...]
    output: Path
    made_of: Mapping[str, Any]
    """All that the results depend on besides the text."""
    field: str = ""
    """The field of an object with the text; empty takes the first known one that is there."""
    workers: int = 1
    timeout: float = TIMEOUT
    chunk: int = CHUNK


@dataclass
class Report:
    """The outcome for a corpus."""

    files: int = 0
    former: int = 0
    """Files that an earlier start had finished."""
    counts: Counts = field(default_factory=Counts)
    new: int = 0
    """Lines that this start has read."""
    seconds: float = 0.0
    ended: int = 0
    """Workers that died, or were killed because they hung."""
    faults: list[str] = field(default_factory=list)
    """Files that cannot be read to their end, and why."""

    @property
    def lines_per_second(self) -> float:
        """Lines per second of this start."""
        return self.new / self.seconds if self.seconds else 0.0

    def add(self, results: Results) -> None:
        """Count a finished file."""
        self.files += 1
        self.counts.update(results.counts)

    def lines(self) -> Iterator[str]:
        """For people."""
        counts = self.counts
        sums = f"{counted(counts['read'], 'line')} read = {counts['written']:,} written + {counts['skipped']:,} skipped"
        yield f"{counted(self.files, 'file')}, {sums}"
        yield from (f"  {name}, in {counted(count, 'line')}" for name, count in counts.most_common() if ": " in name)
        if self.former:
            yield f"  {counted(self.former, 'file')} finished before"
        if self.ended:
            yield f"  {counted(self.ended, 'worker')} ended early; what they had was translated by others"
        yield f"  {counted(self.new, 'line')} in {self.seconds:.1f} s: {self.lines_per_second:,.0f} lines/s"
        yield from (f"  not finished: {fault}" for fault in self.faults)


Show = Callable[[Report, int], None]
"""Called with the report so far and the number of all files, after each chunk."""


def translate_corpus(job: CorpusJob, start: Start, show: Show = lambda report, files: None) -> Report:
    """Translate all files that are not finished. A file that cannot be read stops nothing; the report names it.

    Raises `UserError` for inputs that are not there, for results of other settings, and for a model or options that are
    not available; `RunError` if nothing can be written, or workers end repeatedly.
    """
    shards = find_shards(job.inputs)
    for shard in shards:
        if job.output.resolve() in shard.path.resolve().parents:
            raise UserError(f"{job.output}: {shard.path} is in it; give -o another folder")
    for name in job.inputs:
        if job.output.resolve().is_relative_to(Path(name).resolve()):  # its files would be inputs of the next call
            raise UserError(f"{job.output}: is in the input {name}; give -o another folder")
    with writing(job.output, AGAIN):
        job.output.mkdir(parents=True, exist_ok=True)
    pool, began = Pool(start, job.workers, timeout=job.timeout), time.monotonic()
    report = Report()
    with ExitStack() as leave:
        tasks = _tasks(job, shards, report, leave)
        for chunk, outcomes in leave.enter_context(closing(pool.translated(tasks))):
            results, items, is_last = chunk.about
            if items:
                results.add(items, outcomes)
                report.new += len(items)
            if is_last:
                results.finish()
                report.add(results)
            report.seconds, report.ended = time.monotonic() - began, pool.ended
            show(report, len(shards))
    with writing(job.output / REPORT, AGAIN):
        write_whole(job.output / REPORT, as_json(vars(report), indent=1) + "\n")
    return report


def _tasks(job: CorpusJob, shards: Sequence[Shard], report: Report, leave: ExitStack) -> Iterator[Chunk]:
    """All that is to be translated, file by file; `about` has the results, the items and whether they are the last."""
    made_of = {**job.made_of, "field": job.field}
    for shard in shards:
        try:
            digest = sha256(shard.path)
        except OSError as error:
            report.faults.append(f"{shard.path}: cannot be read: {cause(error).lower()}")
            continue
        results = Results(job.output, shard, {**made_of, "SHA-256 of the input": digest}, job.chunk)
        if results.finished:
            report.add(results)
            report.former += 1
            continue
        leave.callback(results.begin().close)
        done = results.counts["read"]
        try:
            lines = islice(read_items(shard, job.field), done, None)
            for items in chunks(lines, job.chunk, lambda item: _weight(item.text)):
                yield Chunk([item.text for item in items], done + 1, (results, items, False))
                done += len(items)
            yield Chunk((), done + 1, (results, (), True))
        except UserError as error:  # of this file alone
            report.faults.append(str(error))


def _weight(text: str) -> int:
    """The number of lines that a text counts for."""
    return max(1, len(text) // LINE_CHARACTERS)


LINES_OF_A_TASK = 500
"""Lines of a task: a few tasks for each worker of the shortest file that is worth processes."""


def translate_lines(lines: Iterable[str | None], start: Start, workers: int) -> Iterator[Done]:
    """What each line became, in their order.

    Raises `UserError` for a line that the model does not take, `RunError` for one that ends its workers.
    """

    def tasks() -> Iterator[Chunk]:
        first = 1
        for texts in chunks((line for line in lines if line is not None), LINES_OF_A_TASK, _weight):
            yield Chunk(texts, first)
            first += len(texts)

    with closing(Pool(start, workers, timeout=TIMEOUT).translated(tasks())) as translated:
        for chunk, outcomes in translated:
            for number, outcome in enumerate(outcomes, start=chunk.first):
                if isinstance(outcome, str):
                    raise (RunError(f"line {number}: {outcome}") if outcome.startswith(ENDED) else UserError(outcome))
                yield outcome
