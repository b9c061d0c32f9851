"""The owner of engines: hands them the requests of jobs, and the jobs their hypotheses.

`run` works on given jobs to their end, the longest requests of a window first. A `Scheduler` is for a service, whose
tasks come and go. In both, the next search of a sentence joins the running batch: of a service before all requests that
wait, so that its text is complete soon; in `run` after them, so that those of several sentences are decoded together.

With several engines each works in a thread of its own. Two engines with one thread each are up to 1.5 times as fast as
one with two threads: the matrix products of a step are too small to be divided. More than a few engines wait for one
another, because Python runs one thread at a time. A single sentence is decoded in one thread.

The number of torch's threads is a setting of the process, so `threads` is for its owner: the command line, a training
run, a server.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import torch

from limelight.decoding.engine import Engine
from limelight.pipelines.job import Ask, Job

MAX_ENGINES = 4
SENTENCES_EACH = 32
"""Minimum number of sentences for each engine, so that its batch is full."""
WINDOW = 4096
"""Requests that are made at a time; the longest of them come first, so that a lack of memory shows early."""
AHEAD = 128
"""Requests that wait in an engine."""
LAST = 16
"""Towards the end, an engine takes half of its share of what is left, but at least this number, so that all engines end
at about the same time."""
SWITCH = 1e-3
"""Python's switch interval in seconds while several engines work, also in a service. With the default of five
milliseconds a thread holds the interpreter lock while others could begin their next product; with ten microseconds,
threads interrupt one another too often."""

AT_A_TIME = 16
"""Sentences of one task that a scheduler's engine has at a time."""
RECEIVING_SECONDS = 0.01
"""Time after which a scheduler looks for other work: a repair may take a second."""

_OWNER = Lock()
"""Held while torch's number of threads and the switch interval, which belong to the process, are changed."""

AnyJob = Job[Any, Any]


def run(
    jobs: Iterable[AnyJob],
    new_engine: Callable[[], Engine],
    *,
    device: torch.device | None = None,
    threads: int | None = None,
) -> None:
    """Work until each job has a result or an error. Raises the error of a request that fails or is invalid.

    Args:
        jobs: made on demand, a window at a time.
        device: of the engines; more than one of them work only on a CPU.
        threads: number of threads that the engines share, given by the owner of the process: torch's number of threads
            and Python's switch interval are changed for the call, and another call with `threads` waits for that.
            Without it one engine works in the caller's thread, and no settings are changed.
    """
    queue = Queue(jobs)
    if threads is None:
        _work(new_engine(), queue)
        return
    size = queue.fill()
    bound = MAX_ENGINES if device is None or device.type == "cpu" else 1
    queue.engines = count = max(1, min(threads, size // SENTENCES_EACH, bound))
    with _OWNER, settings_put_back():
        torch.set_num_threads(threads // count if size > 1 else 1)
        if count == 1:
            _work(new_engine(), queue)
            return
        sys.setswitchinterval(SWITCH)
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(threads // count,)) as pool:
            try:
                for future in as_completed([pool.submit(_work, new_engine(), queue) for _ in range(count)]):
                    future.result()
            finally:
                queue.stopped = True


class Queue:
    """Requests of jobs that no engine has yet. Used by all threads."""

    def __init__(self, jobs: Iterable[AnyJob]) -> None:
        self._coming, self._lock = _requests_of(jobs), Lock()
        self._waiting = deque[tuple[AnyJob, Ask]]()
        self._complete = False
        self.engines = 1
        self.stopped = False

    def fill(self) -> int:
        """Make the requests of the next window; returns their number."""
        window = list(islice(self._coming, WINDOW))
        self._complete = len(window) < WINDOW
        self._waiting += sorted(window, key=lambda waiting: -len(waiting[1].request.source))
        return len(window)

    def take(self, most: int, *, wait: bool) -> list[tuple[AnyJob, Ask]]:
        """At most `most` requests. Without `wait` none if another engine takes some at this moment."""
        if not self._lock.acquire(blocking=wait):
            return []
        try:
            if not self._waiting:
                self.fill()
            if self.engines > 1 and self._complete:
                most = min(most, max(LAST, len(self._waiting) // (2 * self.engines)))
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        finally:
            self._lock.release()


def _requests_of(jobs: Iterable[AnyJob]) -> Iterator[tuple[AnyJob, Ask]]:
    for job in jobs:
        while asks := job.take(WINDOW):
            yield from ((job, ask) for ask in asks)


@contextmanager
def settings_put_back() -> Iterator[None]:
    """Restore torch's number of threads and Python's switch interval on exit, also for new threads. For owners of the
    process: these are settings of the whole process."""
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)


def _work(engine: Engine, queue: Queue) -> None:
    """Work with one engine until nothing is left to do."""
    requests = Requests(engine)
    while not queue.stopped:
        if 2 * engine.waiting < AHEAD:
            for job, ask in queue.take(AHEAD - engine.waiting, wait=not engine.busy):
                requests.submit(job, ask)
        if not engine.busy:
            return
        for _, error in requests.step(first=False):
            if error is not None:
                raise error


class Requests:
    """The requests of jobs that an engine has, by their owners."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: dict[int, tuple[AnyJob, Ask, int]] = {}

    def submit(self, job: AnyJob, ask: Ask, owner: int = 0, *, first: bool = False) -> None:
        """Hand the engine a request of a job."""
        self._asked[self._engine.submit(ask.request, first=first)] = job, ask, owner

    def count(self, owner: int) -> int:
        """The number of requests of an owner."""
        return sum(entry[-1] == owner for entry in self._asked.values())

    def cancel(self, owner: int) -> None:
        """Take all requests of an owner back."""
        for number in [number for number, entry in self._asked.items() if entry[-1] == owner]:
            del self._asked[number]
            self._engine.cancel(number)

    def step(self, *, first: bool) -> Iterator[tuple[int, Exception | None]]:
        """A step of the engine; yields the owner of each request that has ended, and its error. Jobs receive
        hypotheses, and their next requests are submitted, `first` before those that wait."""
        for outcome in self._engine.step():
            if outcome.id not in self._asked:
                continue
            job, ask, owner = self._asked.pop(outcome.id)
            try:
                if outcome.error is not None:
                    job.fail(outcome.error)
                elif (following := job.receive(ask, outcome.hypotheses)) is not None:
                    self.submit(job, following, owner, first=first)
            except Exception as error:
                job.fail(error)
            yield owner, outcome.error


Task = tuple[Iterator[AnyJob], list[AnyJob]]
"""A task of a scheduler: jobs that have not begun, and jobs that have."""


class Ended(NamedTuple):
    """A job that has ended; without a job, the whole task."""

    number: int
    job: AnyJob | None = None


class Scheduler:
    """Works on tasks that come and go, in the calling thread. Tasks are known by their numbers; each is a series of
    jobs, of which the engine has `AT_A_TIME` sentences.

    Args:
        engine: has no requests of others.
    """

    def __init__(self, engine: Engine) -> None:
        self._requests = Requests(engine)
        self._tasks: dict[int, Task] = {}
        self._changed = dict[int, None]()
        """Tasks that are new, or whose requests have ended."""
        self._outcomes: Iterator[tuple[int, Exception | None]] = iter(())
        """Of the last step of the engine, those that no job has received."""

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._tasks)

    def submit(self, number: int, jobs: Iterable[AnyJob]) -> None:
        """Begin with a task at the next step."""
        self._tasks[number] = iter(jobs), []
        self._changed[number] = None

    def cancel(self, number: int) -> None:
        """Leave a task undone; nothing if no task has this number."""
        self._tasks.pop(number, None)
        self._requests.cancel(number)

    def step(self) -> list[Ended]:
        """Let jobs receive outcomes, after a step of the engine if none are left; returns what has ended. A job that
        fails ends its task."""
        ended = self._advance()
        if not self._receive():
            self._outcomes = self._requests.step(first=True)
            self._receive()
        return ended + self._advance()

    def _receive(self) -> bool:
        """Let jobs receive outcomes, for `RECEIVING_SECONDS`; returns whether there were any."""
        end, received = time.monotonic() + RECEIVING_SECONDS, False
        for owner, _ in self._outcomes:
            self._changed[owner], received = None, True
            if time.monotonic() > end:
                break
        return received

    def _room(self, number: int) -> int:
        """The number of further requests that a task may have in the engine."""
        return max(0, AT_A_TIME - self._requests.count(number))

    def _advance(self) -> list[Ended]:
        """Hand the engine the next requests of the changed tasks; returns what has ended."""
        changed, self._changed = self._changed, {}
        return [ended for number in changed if number in self._tasks for ended in self._advance_task(number)]

    def _advance_task(self, number: int) -> Iterator[Ended]:
        coming, begun = self._tasks[number]
        while True:
            for job in list(begun):
                try:
                    for ask in job.take(self._room(number)):
                        self._requests.submit(job, ask, number)
                except Exception as error:
                    job.fail(error)
                if job.done:
                    begun.remove(job)
                    yield Ended(number, job)
                if job.error is not None:
                    self.cancel(number)
                    return
            if not self._room(number):
                return
            further = next(coming, None)
            if further is None:
                break
            begun.append(further)
        if not begun:
            self.cancel(number)
            yield Ended(number)
