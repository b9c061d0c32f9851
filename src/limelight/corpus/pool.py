"""Texts through workers that may end or hang at any moment: in order, none lost, none twice.

Each worker has a thread that gives it one chunk at a time. If the worker ends, or is silent for too long, the thread
divides the chunk among new workers, so that the text that ends its workers is found and left out, with the reason.

`Processes` starts workers that are processes of this machine.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from limelight.corpus.worker import SETTINGS, Opener, Outcome, WorkerSettings, opened, serve
from limelight.errors import RunError

ENDED = "workers ended at this text"
"""Begins the reason for a text that has ended its workers."""
STARTS = 3
"""Times in a row that a worker may end before it has loaded the model."""
PARTS = 8
"""Number of parts into which a chunk is divided when its worker has ended."""
ALONE = 2
"""Workers that a text may end while it is their only one."""
IN_A_ROW = 40
"""Workers that may end with nothing translated in between: more mean that the fault is not in the text."""
AHEAD = 4
"""Chunks for each worker that are read before the first of them is written."""


class WorkerEnded(Exception):  # noqa: N818
    """A worker has ended, or has not answered in time; the text says which."""


class Worker(Protocol):
    """A worker: translates one task at a time."""

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        """The result for each text. Raises `WorkerEnded`."""

    def close(self) -> None:
        """End it, by force where it is at work. Called from any thread."""


class Processes:
    """Starts workers that are processes. With `shares` a fork server loads the model once, and all workers share its
    memory; without, as with a GPU, which cannot be forked, each loads it for itself."""

    def __init__(self, settings: WorkerSettings, *, shares: bool, opener: Opener = opened) -> None:
        self._settings, self._opener, self._shares = json.dumps(asdict(settings)), opener, shares
        self._context: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
        if shares:
            self._context.set_forkserver_preload(["limelight.corpus.preloaded"])
            path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
            with _environment({SETTINGS: self._settings, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}):
                forkserver.ensure_running()  # one that runs already has other modules: then each worker loads the model

    def start(self, number: int) -> Worker:
        """A new worker. Raises `UserError` for an unavailable model, and `WorkerEnded`."""
        return _Process(self._context, (self._opener, self._settings, 0 if self._shares else number))

    def close(self) -> None:
        """End what was started for all workers."""


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """A context with these environment variables, for processes that start in it."""
    former = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        os.environ[name] = value
    try:
        yield
    finally:
        for name, before in former.items():
            del os.environ[name]
            if before is not None:
                os.environ[name] = before


class _Process:
    """A worker at the other end of a pipe. It ends when the pipe is closed."""

    def __init__(self, context: Any, arguments: tuple[Any, ...]) -> None:
        self._link, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *arguments), daemon=True)
        try:
            self._process.start()
        except (OSError, EOFError) as error:
            raise WorkerEnded(f"the process that loads the model ended {error}".strip()) from None
        finally:
            theirs.close()
        self.pid = self._process.pid
        self._receive(None)

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        try:
            self._link.send((list(texts), first))
        except OSError:
            raise self._ended() from None
        found: list[Outcome] = self._receive(timeout)
        return found

    def close(self) -> None:
        self._process.kill()

    def _receive(self, timeout: float | None) -> Any:
        try:
            if not self._link.poll(timeout):
                self.close()
                raise WorkerEnded(f"no answer after {timeout:g} s")
            answer = self._link.recv()
        except (OSError, EOFError):
            raise self._ended() from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _ended(self) -> WorkerEnded:
        self._process.join(5.0)
        self._process.kill()
        code = self._process.exitcode
        return WorkerEnded(f"ended by signal {-code}" if code and code < 0 else f"exit code {code}")


class Chunk(NamedTuple):
    """Texts that stand together in a file."""

    texts: Sequence[str]
    first: int
    """The number of the first text in its file, from 1."""
    about: Any = None
    """A value of the caller."""


@dataclass(slots=True)
class Tally:
    """Counts of events of workers."""

    started: int = 0
    ended: int = 0
    """Workers that died, or were killed because they hung."""
    reasons: list[str] = field(default_factory=list)


class Pool:
    """Workers, each with a thread that waits for it.

    Args:
        start: starts the worker of a number; called from any thread.
        timeout: seconds after which a worker without an answer is ended.
    """

    def __init__(self, start: Callable[[int], Worker], workers: int, *, timeout: float) -> None:
        self._start, self._size, self._timeout = start, workers, timeout
        self.tally = Tally()
        self._numbers, self._own = count(), threading.local()
        self._workers: dict[int, Worker] = {}
        self._stopping, self._in_a_row = False, 0

    def translated(self, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, list[Outcome]]]:
        """The chunks in their order, with the outcome of each text. Few are read ahead.

        Raises `UserError` and `RunError` of starting a worker, and `RunError` where workers end all the time.
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
        """In the thread of a worker: the outcome of each text, whatever ends."""
        for _ in range(ALONE if len(texts) == 1 else min(1, len(texts))):
            worker = self._worker()
            try:
                found = worker.ask(texts, first, self._timeout)
            except WorkerEnded as error:
                reason = self._ended(worker, error)
                continue
            self._in_a_row = 0
            if len(found) != len(texts):
                raise RunError(f"a worker gave {len(found)} translations of {len(texts)} texts")
            return found
        if len(texts) == 1:
            return [f"{ENDED}, {ALONE} with no other: {reason}"]
        step = max(1, -(-len(texts) // PARTS))
        parts = range(0, len(texts), step)
        return [each for begin in parts for each in self._outcomes(texts[begin : begin + step], first + begin)]

    def _worker(self) -> Worker:
        """The worker of this thread, started if there is none."""
        if not hasattr(self._own, "number"):
            self._own.number = next(self._numbers)
        number = self._own.number
        for _ in range(STARTS):
            if self._stopping:
                raise RunError("the work was stopped")
            if number in self._workers:
                return self._workers[number]
            try:
                self._workers[number] = self._start(number)
                self.tally.started += 1
            except WorkerEnded as error:
                last = error
        if number in self._workers:
            return self._workers[number]
        raise RunError(
            f"a worker ended {STARTS} times before it had loaded the model ({last}); if memory ran out, give fewer "
            "--workers or end other programs"
        )

    def _ended(self, worker: Worker, error: WorkerEnded) -> str:
        """Count a worker that has ended; returns how."""
        worker.close()
        del self._workers[self._own.number]
        self.tally.ended += 1
        self.tally.reasons.append(str(error))
        self._in_a_row += 1
        if self._in_a_row > IN_A_ROW:
            raise RunError(
                f"{self._in_a_row} workers ended one after the other, with nothing translated in between; the last: "
                f"{error}. If memory ran out, give fewer --workers. Finished work is kept"
            )
        return str(error)
