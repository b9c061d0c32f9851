"""Texts through workers that may end or hang at any moment: in order, none lost, none twice.

A chunk goes to a worker as one task. Where the worker ends or is silent for too long, the task is divided and its parts
go to others, so that what ends a worker is found by halving, while all else is translated. A text that has been alone
with two workers when they ended is left out, with the reason.

`Processes` is the driver's side of workers that are processes of this machine.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Protocol, runtime_checkable

from limelight.child import await_end, environment, read_frame, write_frame
from limelight.corpus.worker import FORK, NUMBER, SERVE, Done, Outcome, WorkerSettings
from limelight.errors import RunError, UserError

PROGRAM = "limelight.corpus.worker"
ENDED = "its worker "
"""Begins the reason if a worker has ended."""
STARTS = 3
"""Times in a row that loading may end before the model is there."""


class WorkerEnded(Exception):  # noqa: N818
    """A worker is gone, or has not answered in time; its text says which."""


@runtime_checkable
class Worker(Protocol):
    """A worker: translates one task at a time."""

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        """The result for each text. Raises `WorkerEnded`."""

    def close(self) -> None:
        """Let it end, by force where it is at work."""


class Processes:
    """Starts workers, from any thread. With `forks` they share one process that has loaded the model; without, as with
    a GPU, each loads it for itself."""

    def __init__(self, settings: WorkerSettings, *, forks: bool) -> None:
        if not hasattr(socket, "send_fds"):
            raise UserError("processes that translate need Linux or macOS; give --workers 1")
        self._settings, self._forks = settings, forks
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._loaders: list[subprocess.Popen[bytes]] = []

    def start(self, number: int) -> Worker:
        """A new worker. Raises `UserError` for an unavailable model, `RunError` if the process ends while loading."""
        last = ""
        mine, theirs = socket.socketpair()
        with self._lock if self._forks else nullcontext(), theirs:
            for _ in range(STARTS):
                try:
                    return _Process(mine, self._hand_over(theirs, number))
                except (OSError, EOFError) as error:
                    last = f" ({error})" if str(error) else ""
                    self._drop_loader()
                except BaseException:
                    mine.close()
                    raise
        mine.close()
        raise RunError(
            f"the process that loads the model ended {STARTS} times before it was there{last}; if memory ran out, give "
            "fewer --workers or end other programs"
        )

    def close(self) -> None:
        """End what is left of the processes."""
        with self._lock:
            self._drop_loader()
            for loader in self._loaders:
                if not self._forks:
                    loader.kill()
                loader.wait()
            self._loaders.clear()

    def _drop_loader(self) -> None:
        """The pool is closed, or is closing with its workers."""
        if self._control is not None:
            self._control.close()
        self._control = None

    def _hand_over(self, link: socket.socket, number: int) -> int:
        """Give a socket to a process that serves it; returns which one that is."""
        if not self._forks:
            control, pid = self._load(number)
            with control:
                socket.send_fds(control, [SERVE], [link.fileno()])
            return pid
        if self._control is None:
            self._control, _ = self._load(number)
        socket.send_fds(self._control, [FORK], [link.fileno()])
        answer = self._control.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(answer) < NUMBER.size:
            raise EOFError
        return int(NUMBER.unpack(answer)[0])

    def _load(self, number: int) -> tuple[socket.socket, int]:
        """A process that has loaded the model, and its number."""
        mine, theirs = socket.socketpair()
        words = json.dumps({"settings": asdict(self._settings), "number": number})
        one = {"OMP_NUM_THREADS": "1"} if self._forks else {}
        with theirs:
            command = [sys.executable, "-m", PROGRAM, words, str(theirs.fileno())]
            loader = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2,
                env=environment() | one,
            )  # fmt: skip
        self._loaders = [each for each in self._loaders if each.poll() is None] + [loader]
        with mine.makefile("rb") as told:
            frame = read_frame(told)
        if frame is None or "error" in frame[0]:
            mine.close()
            raise EOFError(await_end(loader)) if frame is None else UserError(frame[0]["error"])
        return mine, loader.pid


class _Process:
    """A worker, at the other end of a socket."""

    def __init__(self, link: socket.socket, pid: int) -> None:
        self._link, self.pid, self._hangs = link, pid, False
        self._frames = link.makefile("rwb")

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        try:
            self._link.settimeout(timeout)
            write_frame(self._frames, {"first": first}, json.dumps(list(texts)).encode("ascii"))
            frame = read_frame(self._frames)
        except TimeoutError:
            self._hangs = True
            raise WorkerEnded(f"{ENDED}had no answer after {timeout:g} s") from None
        except OSError:
            frame = None
        if frame is None:
            raise WorkerEnded(f"{ENDED}ended")
        return [each if isinstance(each, str) else Done(*each) for each in json.loads(frame[1])]

    def close(self) -> None:
        if self._hangs:  # so it is there, and the number is its own
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        for each in (self._frames, self._link):
            with suppress(OSError):
                each.close()


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
    """The outcome of each text; None while it is unknown."""
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
    """Counts of events of workers."""

    started: int = 0
    ended: int = 0
    """Workers that died, or were killed because they hung."""
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
                f"{reason}. If memory ran out, give fewer --workers. Finished work is kept"
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
        """Yield one worker after the other while there are tasks."""
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
