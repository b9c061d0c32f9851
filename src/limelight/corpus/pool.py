"""Texts through workers that may end or hang at any moment: in order, none lost, none twice.

A thread for each worker gives it one chunk at a time. If the worker ends, or is silent for too long, the thread divides
the chunk among new workers, so that the text that ends its workers is found and left out, with the reason.
"""

import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from multiprocessing import forkserver
from typing import Any, NamedTuple, Protocol

from limelight.child import Child
from limelight.corpus.worker import SETTINGS, Done, Opener, Outcome, WorkerSettings, opened
from limelight.errors import RunError, shown

ENDED = "workers ended at this text"
"""Begins the reason for a text that has ended its workers."""
ALONE = 2
"""Workers that a text may end while it is their only one."""
IN_A_ROW = 40
"""Workers that may end with nothing translated in between: more mean that the fault is not in the text."""
TIMEOUT = 1800.0
"""Seconds for a task: a worker that takes longer hangs."""
AHEAD = 4
"""Chunks for each worker that are read before the first of them is written."""


class WorkerEnded(Exception):  # noqa: N818
    """A worker has ended, or has not answered in time; the text says which."""


class Worker(Protocol):
    """A worker: translates one task at a time."""

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        """The result for each text. Raises `WorkerEnded`."""

    def close(self) -> None:
        """End it, by force if it is at work. Called from any thread."""


Start = Callable[[int], Worker]
"""Starts the worker of a number; called from any thread. Raises `UserError` for an unavailable model, and
`WorkerEnded`."""


def processes(settings: WorkerSettings, *, shares: bool, opener: Opener = opened) -> Start:
    """A function that starts workers that are processes. With `shares` a fork server loads the model once, and all
    workers share its memory; without, as with a GPU, which cannot be forked, each loads it for itself."""
    content = json.dumps(asdict(settings))
    context: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if shares:
        context.set_forkserver_preload(["limelight.corpus.preloaded"])
        former = dict(os.environ)
        os.environ |= {SETTINGS: content, "OMP_NUM_THREADS": "1"}
        try:
            forkserver.ensure_running()  # one that runs already has other modules: then each worker loads the model
        finally:
            os.environ.clear()
            os.environ.update(former)
    return lambda number: Process(context, opener, content, 0 if shares else number)


class Process(Child):
    """A worker in a process of its own."""

    def __init__(self, context: Any, *arguments: Any) -> None:
        try:
            super().__init__(f"{opened.__module__}:answering", *arguments, silence=TIMEOUT, context=context)
        except (EOFError, OSError):  # the fork server has ended, as where the model is too large for the memory
            raise WorkerEnded("its process ended") from None
        self.ask((), 1, TIMEOUT)  # answered when the model is open

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        self.silence = timeout
        try:
            outcomes = self.call({"texts": texts, "first": first})[0]["outcomes"]
        except RunError as error:
            raise WorkerEnded(shown(str(error))) from None
        return [outcome if isinstance(outcome, str) else Done(*outcome) for outcome in outcomes]


class Chunk(NamedTuple):
    """Texts that stand together in a file."""

    texts: Sequence[str]
    first: int
    """The number of the first text in its file, from 1."""
    about: Any = None
    """A value of the caller."""


class Pool:
    """Workers, each with a thread that waits for it.

    Args:
        timeout: seconds after which a worker without an answer is ended.
    """

    def __init__(self, start: Start, workers: int, *, timeout: float) -> None:
        self._start, self._size, self._timeout = start, workers, timeout
        self.ended = 0
        """Workers that died, or were killed because they hung."""
        self._idle = deque(range(workers))  # one for each thread, so that no thread has to wait
        self._workers: dict[int, Worker] = {}
        self._stopping, self._in_a_row = False, 0

    def translated(self, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, list[Outcome]]]:
        """The chunks in their order, with the outcome of each text. Few are read ahead.

        Raises `UserError` and `RunError` of starting a worker, and `RunError` if workers end all the time.
        """
        window: deque[tuple[Chunk, Future[list[Outcome]]]] = deque()
        threads = ThreadPoolExecutor(self._size)
        try:
            for chunk in chunks:
                window.append((chunk, threads.submit(self._outcomes, chunk.texts, chunk.first)))
                while window and (window[0][1].done() or len(window) > AHEAD * self._size):
                    yield window[0][0], window.popleft()[1].result()
            while window:
                yield window[0][0], window.popleft()[1].result()
        finally:
            self._stopping = True
            for worker in list(self._workers.values()):
                worker.close()
            threads.shutdown(cancel_futures=True)

    def _outcomes(self, texts: Sequence[str], first: int) -> list[Outcome]:
        """The outcome of each text. If the worker ends, its texts are divided."""
        if not texts:
            return []
        reason = ""
        for _ in range(ALONE if len(texts) == 1 else 1):
            try:
                return self._ask(texts, first)
            except WorkerEnded as error:
                reason = str(error)
        if len(texts) == 1:
            return [f"{ENDED}, {ALONE} with no other: {reason}"]
        half = len(texts) // 2
        return [*self._outcomes(texts[:half], first), *self._outcomes(texts[half:], first + half)]

    def _ask(self, texts: Sequence[str], first: int) -> list[Outcome]:
        """Give the texts to an idle worker, which is started if there is none. Raises `WorkerEnded`."""
        number = self._idle.popleft()
        try:
            if number not in self._workers:
                self._workers[number] = self._started(number)
                if self._stopping:  # too late to be closed with the others
                    self._workers[number].close()
                    raise RunError("the work was stopped")
            outcomes = self._workers[number].ask(texts, first, self._timeout)
            self._in_a_row = 0
        except WorkerEnded as error:
            self._workers.pop(number).close()
            self.ended += 1
            self._in_a_row += 1
            if self._in_a_row > IN_A_ROW:
                raise RunError(
                    f"{self._in_a_row} workers ended one after the other, with nothing translated in between; the "
                    f"last: {error}. If memory ran out, give fewer --workers. Finished work is kept"
                ) from None
            raise
        finally:
            self._idle.append(number)
        return outcomes

    def _started(self, number: int) -> Worker:
        if self._stopping:
            raise RunError("the work was stopped")
        try:
            return self._start(number)
        except WorkerEnded as error:
            raise RunError(
                f"a worker ended before it had loaded the model ({error}); if memory ran out, give fewer --workers or "
                "end other programs"
            ) from None
