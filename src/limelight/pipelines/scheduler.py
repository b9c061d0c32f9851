"""The owner of engines: hands them the requests of jobs, the longest first, and the jobs what was found.

The next search of a sentence joins the running batch before all requests that wait.

With several engines each works in a thread of its own. Two engines with one thread each are up to 1.5 times as fast as
one with two threads: the matrix products of a step are too small to be divided. More than a few engines wait for one
another, because Python runs one thread at a time. A single sentence is decoded in one thread.

The number of torch's threads is a setting of the process, so `threads` is for its owner: the command line, a training
run, a server.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

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
SWITCH = 1e-5
"""Python's switch interval in seconds. With the default of five milliseconds a thread would hold the interpreter lock
while others could begin their next product; with this value two engines are up to a fifth faster."""

_OWNER = Lock()
"""Held while torch's number of threads and the switch interval, which belong to the process, are changed."""

AnyJob = Job[Any, Any]


def run(
    jobs: Sequence[AnyJob],
    new_engine: Callable[[], Engine],
    *,
    device: torch.device | None = None,
    threads: int | None = None,
) -> None:
    """Work until each job has a result or an error. Raises the error of a request that fails or is invalid.

    Args:
        device: of the engines; more than one of them work only on a CPU.
        threads: number of threads that the engines share, given by the owner of the process: torch's number of threads
            and Python's switch interval are changed for the call, and another call with `threads` waits for that.
            Without it one engine works in the caller's thread, and no settings are changed.
    """
    shelf = Shelf(jobs)
    if threads is None:
        _work(new_engine(), shelf, 0, Event())
        return
    count = engines_for(shelf.size, device, threads)
    shelf.divide(count)
    with _OWNER, settings_put_back():
        if count > 1:
            _side_by_side(shelf, new_engine, count, threads // count)
        else:
            torch.set_num_threads(threads if shelf.size > 1 else 1)
            _work(new_engine(), shelf, 0, Event())


class Shelf:
    """Requests of jobs that no engine has yet, made in order, the longest of a window first. Used by all threads."""

    def __init__(self, jobs: Sequence[AnyJob]) -> None:
        self._jobs, self._lock = deque(jobs), Lock()
        self._shares: list[deque[tuple[AnyJob, Ask]]] = [deque()]
        """Of each engine."""
        self._fill()

    @property
    def size(self) -> int:
        """The number of requests that are made."""
        return sum(map(len, self._shares))

    def divide(self, count: int) -> None:
        """Divide the requests among so many engines, each with long and short ones."""
        asks = [each for share in self._shares for each in share]
        self._shares = [deque(asks[number::count]) for number in range(count)]

    def take(self, engine: int, most: int) -> list[tuple[AnyJob, Ask]]:
        """At most so many requests of the share of an engine; once that is empty, of the largest one."""
        with self._lock:
            if not self._shares[engine]:
                self._fill()
                self._shares[engine] = self._shares[engine] or self._half_of(max(self._shares, key=len))
            share = self._shares[engine]
            return [share.popleft() for _ in range(min(most, len(share)))]

    def _half_of(self, share: deque[tuple[AnyJob, Ask]]) -> deque[tuple[AnyJob, Ask]]:
        return deque(share.pop() for _ in range(len(share) - len(share) // 2))

    def _fill(self) -> None:
        """Make further requests if there are none."""
        found: list[tuple[AnyJob, Ask]] = []
        while not self.size and self._jobs and len(found) < WINDOW:
            asks = self._jobs[0].take(WINDOW - len(found))
            found += [(self._jobs[0], ask) for ask in asks]
            if not asks:
                self._jobs.popleft()
        found.sort(key=lambda each: -len(each[1].request.source))
        for number, share in enumerate(self._shares):
            share.extend(found[number :: len(self._shares)])


def engines_for(requests: int, device: torch.device | None, threads: int | None) -> int:
    """The number of engines to use: one for a GPU, and one without `threads`."""
    if threads is None or (device is not None and device.type != "cpu"):
        return 1
    return max(1, min(threads, requests // SENTENCES_EACH, MAX_ENGINES))


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


def _side_by_side(shelf: Shelf, new_engine: Callable[[], Engine], count: int, threads: int) -> None:
    """Work with several engines, which share the requests and have so many `threads` each."""
    stop = Event()

    def share(number: int) -> None:
        torch.set_num_threads(threads)
        try:
            _work(new_engine(), shelf, number, stop)
        except BaseException:
            stop.set()  # raised to the caller when the preceding threads have ended
            raise

    sys.setswitchinterval(SWITCH)
    with ThreadPoolExecutor(count) as pool:
        try:
            for _ in pool.map(share, range(count)):
                pass
        except BaseException:
            stop.set()
            raise


def _work(engine: Engine, shelf: Shelf, number: int, stop: Event) -> None:
    """Work with one engine until it has nothing left to do."""
    asked: dict[int, tuple[AnyJob, Ask]] = {}
    while not stop.is_set():
        if 2 * engine.waiting < AHEAD:
            for job, ask in shelf.take(number, AHEAD - engine.waiting):
                asked[engine.submit(ask.request)] = job, ask
        if not engine.busy:
            return
        for outcome in engine.step():
            job, ask = asked.pop(outcome.id)
            if outcome.error is not None:
                raise outcome.error
            following = job.receive(ask, outcome.hypotheses)
            if following is not None:
                asked[engine.submit(following.request, first=True)] = job, following
