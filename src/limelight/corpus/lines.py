"""One file through processes, line by line, as one process translates it with threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from limelight.corpus.pool import Chunk, Pool
from limelight.corpus.processes import ENDED
from limelight.corpus.translate import TIMEOUT, Engine
from limelight.corpus.worker import Done
from limelight.errors import RunError, UserError

CHUNK = 500
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
    while texts := list(islice(lines, CHUNK)):
        yield Chunk(texts, first)
        first += len(texts)
