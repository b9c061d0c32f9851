"""Texts through workers that may end or hang at any moment: in order, none lost, none twice.

A chunk goes to a worker as one task. Where the worker ends or is silent for too long, the task is divided and its parts
go to others, so that what ends a worker is found by halving, while all else is translated. A text that has been alone
with two workers when they ended is left out, with the reason.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from limelight.corpus.processes import Worker, WorkerEnded
from limelight.corpus.worker import Outcome
from limelight.errors import RunError

PARTS = 8
"""Into how many a task is divided whose worker has ended."""
ALONE = 2
"""Workers that a text may end while it is their only one."""
IN_A_ROW = 40
"""Workers that may end with no task done in between: more mean that the fault is not in the text."""
AHEAD = 4
"""Chunks that are read, for each worker, before the first of them is written."""


@dataclass(eq=False, slots=True)
class Chunk:
    """Texts that stand together in a file."""

    texts: list[str]
    first: int
    """The number of the first text in its file, from 1."""
    about: Any = None
    """The caller's own."""
    outcomes: list[Outcome | None] = field(default_factory=list)
    """What each text became; None while it is not known."""
    left: int = 0


@dataclass(eq=False, slots=True)
class _Task:
    chunk: Chunk
    begin: int
    end: int
    deaths: int = 0
    """Workers that ended while this was all they had."""


@dataclass(slots=True)
class Tally:
    """What happened to workers."""

    started: int = 0
    ended: int = 0
    """That died or were killed because they hung."""
    reasons: list[str] = field(default_factory=list)


class Pool:
    """Workers, each with a thread that waits for it.

    Args:
        start: makes a worker of a number; called from any thread.
        timeout: seconds after which a worker without an answer is ended.
    """

    def __init__(self, start: Callable[[int], Worker], workers: int, *, timeout: float) -> None:
        self._start, self._size, self._timeout = start, workers, timeout
        self.tally = Tally()
        self._tasks: queue.PriorityQueue[tuple[int, int, _Task | None]] = queue.PriorityQueue()
        self._done: queue.SimpleQueue[tuple[_Task | None, Any]] = queue.SimpleQueue()
        self._numbers = count()
        self._workers: dict[int, Worker] = {}
        self._stopping = threading.Event()
        self._in_a_row = 0

    def translated(self, chunks: Iterable[Chunk]) -> Generator[Chunk]:
        """The chunks in their order, each when all its texts have become something. Few are read ahead.

        Raises `UserError` and `RunError` of starting a worker, and `RunError` where workers end all the time.
        """
        threads = [threading.Thread(target=self._serve, args=(number,), daemon=True) for number in range(self._size)]
        window: deque[Chunk] = deque()
        try:
            for place, chunk in enumerate(chunks):
                if not place:
                    for thread in threads:
                        thread.start()
                chunk.outcomes, chunk.left = [None] * len(chunk.texts), len(chunk.texts)
                window.append(chunk)
                if chunk.texts:
                    self._put(place, _Task(chunk, 0, len(chunk.texts)))
                while not self._done.empty():
                    self._receive(*self._done.get())
                while window and (not window[0].left or len(window) > AHEAD * self._size):
                    yield from self._first_of(window)
            while window:
                yield from self._first_of(window)
        finally:
            self._close([thread for thread in threads if thread.is_alive()])

    def _first_of(self, window: deque[Chunk]) -> Iterator[Chunk]:
        while window[0].left:
            self._receive(*self._done.get())
        yield window.popleft()

    def _put(self, place: int, task: _Task) -> None:
        self._tasks.put((place, next(self._numbers), task))

    def _receive(self, task: _Task | None, answer: Any) -> None:
        if isinstance(answer, WorkerEnded):
            assert task is not None
            self._ended(task, str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            assert task is not None
            self._in_a_row = 0
            self._fill(task, answer)

    def _fill(self, task: _Task, answer: list[Outcome]) -> None:
        if len(answer) != task.end - task.begin:
            raise RunError(f"a worker gave {len(answer)} translations of {task.end - task.begin} texts")
        task.chunk.outcomes[task.begin : task.end] = answer
        task.chunk.left -= len(answer)

    def _ended(self, task: _Task, reason: str) -> None:
        self.tally.ended += 1
        self.tally.reasons.append(reason)
        self._in_a_row += 1
        if self._in_a_row > IN_A_ROW:
            raise RunError(
                f"{self._in_a_row} workers ended one after the other, with nothing translated in between; the last: "
                f"{reason}. Finished work is kept"
            )
        size = task.end - task.begin
        if size > 1:
            step = -(-size // PARTS)
            for begin in range(task.begin, task.end, step):
                self._put(-1, _Task(task.chunk, begin, min(begin + step, task.end)))
        elif task.deaths + 1 < ALONE:
            self._put(-1, _Task(task.chunk, task.begin, task.end, task.deaths + 1))
        else:
            self._fill(task, [f"{reason} when this was all it had, {ALONE} times"])

    def _serve(self, number: int) -> None:
        """One worker after the other, as long as there are tasks."""
        worker: Worker | None = None
        while (task := self._tasks.get()[2]) is not None and not self._stopping.is_set():
            try:
                if worker is None:
                    worker = self._workers[number] = self._start(number)
                    self.tally.started += 1
                if self._stopping.is_set():
                    break
                texts = task.chunk.texts[task.begin : task.end]
                answer: Any = worker.ask(texts, task.chunk.first + task.begin, self._timeout)
            except WorkerEnded as error:
                answer = error
                if worker is not None:
                    worker.close()
                worker = None
            except BaseException as error:
                answer = error
            self._done.put((task, answer))
        if worker is not None:
            worker.close()

    def _close(self, threads: list[threading.Thread]) -> None:
        self._stopping.set()
        for _ in threads:
            self._tasks.put((-2, next(self._numbers), None))
        for worker in list(self._workers.values()):
            worker.close()
        for thread in threads:
            thread.join(60)
