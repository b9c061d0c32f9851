"""The owner of engines: hands them the requests of jobs, and the jobs what was found.

`run` works on given jobs to their end, the longest requests first, while further jobs are made. A `Scheduler` is for a
service, whose jobs come and go. In both, the next search of a sentence joins the running
batch: of a service before all requests that wait, so that its text is complete soon; in `run` after them, so that those
of several sentences are decoded together.

With several engines each works in a thread of its own. Two engines with one thread each are up to 1.5 times as fast as
one with two threads: the matrix products of a step are too small to be divided. More than a few engines wait for one
another, because Python runs one thread at a time. A single sentence is decoded in one thread.

The number of torch's threads is a setting of the process, so `threads` is for its owner: the command line, a training
run, a server.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Event, Lock
from typing import Any, NamedTuple

import torch

from limelight.decoding.engine import Engine, Outcome
from limelight.decoding.request import Hypothesis
from limelight.pipelines.job import Ask, Job, failed

MAX_ENGINES = 4
SENTENCES_EACH = 32
"""Minimum number of sentences for each engine, so that its batch is full."""
WINDOW = 4096
"""Requests that are made at a time; the longest of them come first, so that a lack of memory shows early."""
AHEAD = 128
"""Requests that wait in an engine."""
LAST = 16
"""Towards the end, an engine takes half of its share of what is left, but at least so many, so that all engines end at
about the same time."""
SWITCH = 1e-3
"""Python's switch interval in seconds while several engines work. With the default of five milliseconds a thread holds
the interpreter lock while others could begin their next product; with ten microseconds, threads that handle results
interrupt one another too often."""

AT_A_TIME = 16
"""Sentences of one task that a scheduler's engine has at a time."""
BESIDE = 4
"""Sentences of all long tasks that it has while short ones come; at least one of each task."""
SHORT_SECONDS = 5.0
"""After the last short task, seconds in which another one is expected."""

_OWNER = Lock()
"""Held while torch's number of threads and the switch interval, which belong to the process, are changed."""

AnyJob = Job[Any, Any]
Sentence = tuple[int, int]
"""The place of a job in its task, and the number of a sentence in the job."""


def run(
    jobs: Sequence[AnyJob],
    new_engine: Callable[[], Engine],
    *,
    further: Iterable[AnyJob] = (),
    device: torch.device | None = None,
    threads: int | None = None,
) -> None:
    """Work until each job has a result or an error. Raises the error of a request that fails or is invalid.

    Args:
        further: jobs after these, made while engines work if `jobs` have enough requests for all engines, which are
            several; else before.
        device: of the engines; more than one of them work only on a CPU.
        threads: number of threads that the engines share, given by the owner of the process: torch's number of threads
            and Python's switch interval are changed for the call, and another call with `threads` waits for that.
            Without it one engine works in the caller's thread, and no settings are changed.
    """
    shelf, further = Shelf(jobs), iter(further)
    count = engines_for(shelf.size, device, threads)
    if count == 1 or count < engines_for(MAX_ENGINES * SENTENCES_EACH, device, threads):
        shelf.receive(further)
        shelf.fill()
        count = engines_for(shelf.size, device, threads)
    if threads is None:
        _work(new_engine(), shelf, 0, Event())
        return
    shelf.divide(count)
    with _OWNER, settings_put_back():
        if count > 1:
            _side_by_side(shelf, further, new_engine, count, threads // count)
        else:
            torch.set_num_threads(threads if shelf.size > 1 else 1)
            _work(new_engine(), shelf, 0, Event())


class Shelf:
    """Requests of jobs that no engine has yet, made in order, the longest of a window first. Used by all threads."""

    def __init__(self, jobs: Sequence[AnyJob]) -> None:
        self._jobs, self._changed = deque(jobs), Condition()
        self._complete = False
        self._shares: list[deque[tuple[AnyJob, Ask]]] = [deque()]
        """Waiting requests of each engine, with their jobs."""
        self.fill()

    @property
    def size(self) -> int:
        """The number of requests that are made."""
        return sum(map(len, self._shares))

    def divide(self, count: int) -> None:
        """Divide the requests among so many engines, each with long and short ones."""
        asks = [each for share in self._shares for each in share]
        self._shares = [deque(asks[number::count]) for number in range(count)]

    def receive(self, jobs: Iterable[AnyJob], stop: Event | None = None) -> None:
        """Add jobs as they are made, until that is to `stop`. After them, none come."""
        try:
            for job in jobs:
                with self._changed:
                    self._jobs.append(job)
                    self._changed.notify_all()
                if stop is not None and stop.is_set():
                    break
        finally:
            with self._changed:
                self._complete = True
                self._changed.notify_all()

    def take(self, engine: int, most: int, *, wait: bool = False) -> list[tuple[AnyJob, Ask]]:
        """At most so many requests of the share of an engine; once that is empty, of the largest one. If there are
        none, `wait` for further jobs."""
        with self._changed:
            share = self._share_of(engine)
            while wait and not share and not self._complete:
                self._changed.wait()
                share = self._share_of(engine)
            if len(self._shares) > 1 and self._complete and not self._jobs:
                most = min(most, max(LAST, self.size // (2 * len(self._shares))))
            return [share.popleft() for _ in range(min(most, len(share)))]

    def _share_of(self, engine: int) -> deque[tuple[AnyJob, Ask]]:
        """The share of an engine, filled up if it is empty."""
        if not self.size:
            self.fill()
        if not self._shares[engine]:
            self._shares[engine] = self._shares[engine] or self._half_of(max(self._shares, key=len))
        return self._shares[engine]

    def _half_of(self, share: deque[tuple[AnyJob, Ask]]) -> deque[tuple[AnyJob, Ask]]:
        return deque(share.pop() for _ in range(len(share) - len(share) // 2))

    def fill(self) -> None:
        """Put requests of the jobs that are made on the shelf, at most `WINDOW`."""
        found: list[tuple[AnyJob, Ask]] = []
        while self._jobs and len(found) < WINDOW:
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


def _side_by_side(
    shelf: Shelf, further: Iterable[AnyJob], new_engine: Callable[[], Engine], count: int, threads: int
) -> None:
    """Work with several engines, which share the requests and have so many `threads` each, while further jobs are
    made."""
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
            working = [pool.submit(share, number) for number in range(count)]
            shelf.receive(further, stop)
            for each in working:
                each.result()
        except BaseException:
            stop.set()
            raise


def _work(engine: Engine, shelf: Shelf, number: int, stop: Event) -> None:
    """Work with one engine until it has nothing left to do."""
    requests = Requests(engine)
    while not stop.is_set():
        if 2 * engine.waiting < AHEAD:
            for job, ask in shelf.take(number, AHEAD - engine.waiting, wait=not engine.busy):
                requests.submit(job, ask)
        if not engine.busy:
            return
        for step in requests.step(first=False):
            if step.outcome.error is not None:
                raise step.outcome.error


class Step(NamedTuple):
    """A request that has ended."""

    outcome: Outcome
    ask: Ask
    following: int | None
    """The number of the next request of its sentence."""


class Requests:
    """The requests of jobs that an engine has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: dict[int, tuple[AnyJob, Ask, bool]] = {}
        """Whether the next request of each is followed."""

    def submit(self, job: AnyJob, ask: Ask, *, first: bool = False, followed: bool = False) -> int:
        """Hand the engine a request of a job; returns its number. What follows a draft is followed like the draft."""
        draft = ask.request.is_draft
        number = self._engine.submit(ask.request, first=first, followed=followed and not draft)
        self._asked[number] = job, ask, followed and draft
        return number

    def is_draft(self, number: int) -> bool:
        """Whether a request is a draft."""
        return self._asked[number][1].request.is_draft

    def cancel(self, number: int) -> None:
        """Take it back."""
        if self._asked.pop(number, None) is not None:
            self._engine.cancel(number)

    def step(self, *, first: bool) -> Iterator[Step]:
        """A step of the engine. Jobs receive what was found, and their next requests are submitted, `first` before
        those that wait."""
        for outcome in self._engine.step():
            if outcome.id not in self._asked:
                continue
            job, ask, followed = self._asked.pop(outcome.id)
            following = None
            try:
                if outcome.error is not None:
                    job.fail(outcome.error)
                elif (asked := job.receive(ask, outcome.hypotheses)) is not None:
                    following = self.submit(job, asked, first=first, followed=followed)
            except Exception as error:
                job.fail(error)
            yield Step(outcome, ask, following)


@dataclass(eq=False, slots=True)
class Running:
    """A task of a scheduler: jobs, by their places."""

    coming: Iterator[AnyJob]
    """Jobs that have not begun."""
    long: bool
    followed: bool
    begun: int = 0
    jobs: dict[int, AnyJob] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    """The numbers of its requests that the engine has."""
    first: dict[Sentence, int] = field(default_factory=dict)
    """The number of the first request of each sentence, until its end; after drafts, of the request that follows."""
    drafts: set[int] = field(default_factory=set)
    """Those that are drafts."""
    searched: dict[Sentence, Hypothesis] = field(default_factory=dict)
    """The best hypothesis of the first request of each sentence; what is searched again is not shown."""


class Ended(NamedTuple):
    """A job that has ended; without a job, the whole task."""

    number: int
    place: int = -1
    job: AnyJob | None = None


class Scheduler:
    """Works on tasks that come and go, in the calling thread. Tasks are known by their numbers; each is a series of
    jobs, of which the engine has `AT_A_TIME` sentences.

    While short tasks come, long ones have `BESIDE` sentences in all: more rows make each step of a search longer.

    Args:
        engine: has no requests of others.
        clock: seconds that only grow.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._requests, self._clock = engine, Requests(engine), clock
        self._running: dict[int, Running] = {}
        self._of: dict[int, Sentence] = {}
        """The task and the place of the job of each request."""
        self._new = list[int]()
        self._last_short = -math.inf

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._running)

    def submit(self, number: int, jobs: Iterable[AnyJob], *, long: bool = False, followed: bool = False) -> None:
        """Begin with a task at the next step. `progress` tells of one that is followed how far its sentences have
        come."""
        self._running[number] = Running(iter(jobs), long, followed)
        self._new.append(number)

    def cancel(self, number: int) -> None:
        """Leave a task undone; nothing if there is none of this number."""
        running = self._running.pop(number, None)
        for each in running.asked if running is not None else ():
            del self._of[each]
            self._requests.cancel(each)

    def progress(self, number: int) -> dict[Sentence, Sequence[int]]:
        """The tokens of the best hypothesis of each sentence of a task that is followed, in its first search."""
        running = self._running[number]
        found: dict[Sentence, Sequence[int]] = {key: each.ids for key, each in running.searched.items()}
        for sentence, request in running.first.items():
            if request not in running.drafts and (best := self._engine.partial(request)) is not None:
                found[sentence] = best.ids
        return found

    def step(self) -> list[Ended]:
        """One step of the engine; returns what has ended. A job that fails ends its task."""
        if not all(each.long for each in self._running.values()):
            self._last_short = self._clock()
        advanced, self._new = dict.fromkeys(self._new), []
        ended = [each for number in advanced for each in self._advance(number)]
        advanced.clear()
        for outcome, ask, following in self._requests.step(first=True):
            number, place = self._of.pop(outcome.id)
            running, sentence = self._running[number], (place, ask.sentence)
            advanced[number] = None
            running.asked.remove(outcome.id)
            if following is not None:
                self._of[following] = number, place
                running.asked.add(following)
            if running.first.get(sentence) == outcome.id:
                del running.first[sentence]
                if outcome.id in running.drafts and following is not None:
                    running.first[sentence] = following
                    if self._requests.is_draft(following):
                        running.drafts.add(following)
                elif outcome.hypotheses:
                    running.searched[sentence] = outcome.hypotheses[0]
        return ended + [each for number in advanced for each in self._advance(number)]

    def _room(self, running: Running) -> int:
        most = AT_A_TIME
        if running.long and self._clock() - self._last_short < SHORT_SECONDS:
            most = max(1, BESIDE // sum(each.long for each in self._running.values()))
        return most - len(running.asked)

    def _advance(self, number: int) -> Iterator[Ended]:
        """Hand the engine what a task asks for."""
        running = self._running.get(number)
        while running is not None:
            for place, job in list(running.jobs.items()):
                self._hand_over(number, place, job)
                if job.done:
                    del running.jobs[place]
                    yield Ended(number, place, job)
                if job.error is not None:
                    self.cancel(number)
                    return
            if self._room(running) <= 0:
                return
            try:
                further = next(running.coming, None)
            except Exception as error:
                further = failed(error)
            if further is None:
                break
            running.jobs[running.begun] = further
            running.begun += 1
        if running is not None and not running.jobs:
            self.cancel(number)
            yield Ended(number)

    def _hand_over(self, number: int, place: int, job: AnyJob) -> None:
        running = self._running[number]
        try:
            for ask in job.take(max(0, self._room(running))):
                given = self._requests.submit(job, ask, followed=running.followed)
                self._of[given] = number, place
                running.asked.add(given)
                if running.followed:
                    running.first[place, ask.sentence] = given
                    if ask.request.is_draft:
                        running.drafts.add(given)
        except Exception as error:
            job.fail(error)
