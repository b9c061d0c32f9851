"""The engines of one model, and the sentences that wait for them. It belongs to the event loop.

Clients take turns in its queue: one with ten thousand sentences delays one with a single sentence by one.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple

from limelight.child import KILLED
from limelight.serving.fair_queue import FairQueue, QueueRate
from limelight.serving.limits import Limits
from limelight.serving.links import Link, ReportCallback
from limelight.serving.refusal import Refusal, beyond, overdue, too_expensive
from limelight.serving.tasks import Report, Task

WINDOW = 64
"""Sentences that one engine has at a time of short requests, and as many of long ones: enough to fill its batch. The
others wait here, where clients take turns."""

STEPPED = ("translate", "protected", "write", "detect")
"""Kinds of tasks that leave an engine free between steps, or take no time. It computes any other one, such as an
explanation, in a single step, so it has one of them at a time."""

Lane = Literal["short", "long", "single"]
WINDOWS: dict[Lane, int] = {"short": WINDOW, "long": WINDOW, "single": 1}
"""Number of tasks of each class that an engine has at a time."""

SHORT_SENTENCES, SHORT_CHARACTERS, WIDTH = 8, 800, 4
"""A request that has more is long: its sentences do not hold up those of short ones. With more than so many hypotheses
its characters count for more."""

RESTART_SECONDS = (0.0, 1.0, 5.0, 15.0)
"""Seconds before an engine that ended is started again; the last value is used for all further times."""

MAX_LOST = 1
"""How often a sentence is given to another engine because its own has ended: it may be the reason."""

KEYED = "key "
"""Begins the names of clients that have a key."""

SILENT_SECONDS = 10.0
"""An engine that has not reported for so long is not ready."""

NewLink = Callable[[ReportCallback], Link]
Partial = Callable[[int, str, str, bool], None]
"""Called with the number of a sentence, its text so far, how much of that the search has settled, and whether it is
all of it."""


class Sentence(NamedTuple):
    """What one task is to do."""

    kind: str
    text: str
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed
    stream: bool = False


@dataclass(eq=False, slots=True)
class Asked:
    """A request on its way. It has one future for all of its sentences: one for each would cost as many callbacks."""

    number: int
    client: str
    lane: Lane
    done: asyncio.Future[list[Any]]
    until: float
    """The time (`time.monotonic`) at which it is overdue."""
    results: list[Any]
    """By the places of its sentences."""
    left: int
    """How many of them are missing."""
    partial: Partial | None = None
    jobs: list[Job] = field(default_factory=list)
    begun: bool = False
    """Whether an engine was given its first sentence."""

    @property
    def over(self) -> bool:
        """Whether it is answered or refused."""
        return self.done.done()

    def refuse(self, refusal: Refusal) -> None:
        """It gets no result, unless it is over."""
        if not self.over:
            self.done.set_exception(refusal)

    def receive(self, place: int, report: Report) -> None:
        """Keep a result, or refuse the request because there is none."""
        if report.kind == "done":
            self.results[place] = report.value
            self.left -= 1
            if not self.left and not self.over:
                self.done.set_result(self.results)
        elif report.kind == "expensive":
            self.refuse(too_expensive(report.value))
        elif report.kind == "refused":
            self.refuse(Refusal(400, "invalid_request", str(report.value)))
        else:
            self.refuse(Refusal(500, "failed", str(report.value)))


@dataclass(eq=False, slots=True)
class Job:
    """A sentence on its way."""

    task: Task
    place: int
    """In its request."""
    request: Asked
    engine: Engine | None = None
    """Where it is decoded; None while it waits."""
    lost: int = 0
    """How many engines have ended that had it."""


@dataclass(eq=False, slots=True)
class Engine:
    """One engine as the pool sees it."""

    link: Link | None = None
    generation: int = 0
    """Raised by every reload."""
    ready: bool = False
    jobs: dict[int, Job] = field(default_factory=dict)
    counts: Counter[Lane] = field(default_factory=Counter)
    """How many of its jobs belong to each class."""
    pinged: float | None = None
    """When it was asked for a report that has not come."""

    def add(self, job: Job) -> None:
        """It has one more."""
        self.jobs[job.task.id] = job
        self.counts[job.request.lane] += 1

    def drop(self, number: int) -> Job | None:
        """It no longer has this one; returns it, if it had it."""
        job = self.jobs.pop(number, None)
        if job is not None:
            self.counts[job.request.lane] -= 1
        return job

    def silent(self, now: float) -> float:
        """For how many seconds it owes a report."""
        return 0.0 if self.pinged is None else now - self.pinged


class _Reports:
    """Hands reports of other threads to the event loop. Those that come before it has turned to them are handed over
    together: a callback for each costs more than most reports do.

    Args:
        heard: takes all of them from the queue, in the event loop.
    """

    def __init__(self, heard: Callable[[deque[Report]], None]) -> None:
        self._loop, self._heard = asyncio.get_running_loop(), heard
        self._come, self._called = deque[Report](), False

    def __call__(self, report: Report) -> None:
        """Called in any thread."""
        self._come.append(report)  # before the look at `_called`, which `_hand_over` changes before it takes reports
        if self._called:
            return
        self._called = True
        with suppress(RuntimeError):  # the loop has ended; so will the engine
            self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._called = False
        try:
            self._heard(self._come)
        finally:
            if self._come:  # one report could not be taken, and the others are not lost with it
                self._loop.call_soon(self._hand_over)


class Pool:
    """Engines of one model.

    Args:
        new_link: starts an engine, which calls back with reports.
        engines: how many side by side.
        log: is called with what happens to the engines.
    """

    def __init__(self, new_link: NewLink, engines: int, limits: Limits, log: Callable[..., None]) -> None:
        self._new_link, self._limits, self._log = new_link, limits, log
        self._size = engines
        self._numbers = count(1)
        self._queues: dict[Lane, FairQueue[Job]] = {lane: FairQueue() for lane in WINDOWS}
        """What waits, by class. The requests of a client are taken in the order in which they came: so the first ones
        are done while the last ones wait, and not all of them at the end."""
        self._rates = {lane: QueueRate() for lane in WINDOWS}
        self._engines: list[Engine] = []
        self._generation = self._newest = 0
        self._ended_in_a_row = 0
        self.info: dict[str, Any] = {}
        """What the model is: of the last report `loaded`."""
        self.trouble = ""
        """Why the model cannot be loaded; empty while it loads, and when it has been."""
        self._watching: asyncio.TimerHandle | None = None
        self._interval = min(5.0, limits.silence / 4)
        self.settled = asyncio.Event()
        """Set when the model is loaded, or cannot be."""
        self.closing = False

    @property
    def ready(self) -> bool:
        """Whether all engines are there, and report."""
        now = time.monotonic()
        return sum(each.silent(now) < SILENT_SECONDS for each in self._ready_ones()) >= self._size

    @property
    def loading(self) -> bool:
        """Whether it is not known yet what the model is."""
        return not self.info and not self.trouble and not self.closing

    @property
    def usable(self) -> bool:
        """Whether any is."""
        return bool(self._ready_ones())

    @property
    def waiting(self) -> int:
        """Sentences in the queue."""
        return sum(map(len, self._queues.values()))

    @property
    def decoding(self) -> int:
        """Sentences that engines have."""
        return sum(len(engine.jobs) for engine in self._engines)

    @property
    def pids(self) -> list[int]:
        """The processes of the engines that have one."""
        links = [engine.link for engine in self._engines if engine.link is not None]
        return [link.pid for link in links if link.pid is not None]

    def start(self) -> None:
        """Begin to load."""
        self._log("loading", engines=self._size)
        for _ in range(self._size):
            self._start_engine()
        if self._watching is None:
            self._watching = asyncio.get_running_loop().call_later(self._interval, self._watch)

    def close(self) -> list[Link]:
        """Let all engines end; returns their links, to be joined."""
        self.closing = True
        self.settled.set()
        links = [engine.link for engine in self._engines if engine.link is not None]
        for link in links:
            link.close()
        return links

    async def run(self, client: str, sentences: Sequence[Sentence], partial: Partial | None = None) -> list[Any]:
        """The results of sentences, in their order. Cancelled, or when the time is over, it takes them all back. While
        there is no engine they wait for one.

        Raises `Refusal`: 400 for what the model refuses, 413 for more than ever fit, 429 for too many of one client,
        503 for too many of all, for a model that cannot be loaded, for engines that ended, for a wait that was too
        long, 504 after the deadline.
        """
        lane = _lane(sentences)
        self._require_room(client, len(sentences), lane)
        if not sentences:
            return []
        request = self._asked(client, sentences, partial, lane)
        loop = asyncio.get_running_loop()
        impatient = loop.call_later(self._patience(client), self._waited, request)
        late = loop.call_later(self._limits.deadline, self._overdue, request)
        for job in request.jobs:
            self._queues[lane].put(client, request.number, job)
        self._dispatch()
        try:
            return await request.done
        finally:
            impatient.cancel()
            late.cancel()
            if request.left:
                self._take_back(request)
                self._dispatch()
            request.jobs.clear()  # they have the request

    def require_room(self, client: str, sentences: int = 1) -> None:
        """Raises `Refusal` where there is no room for so many sentences of this client."""
        self._require_room(client, sentences, "long" if sentences > SHORT_SENTENCES else "short")

    def retry_after(self) -> int:
        """Seconds in which about what waits now will have been done, 1 to 30."""
        seconds = sum(len(queue) * self._seconds_per_item(lane) for lane, queue in self._queues.items())
        return max(1, min(30, math.ceil(seconds)))

    def reload(self, new_link: NewLink) -> None:
        """Start new engines; the present ones end when these are there, and stay if these fail. Engines that still load
        end at once: otherwise each further reload would take more memory."""
        self._new_link = new_link
        self._newest += 1
        self._generation = self._newest
        for each in self._engines:
            if not each.ready and each.link is not None:
                each.link.kill()
        self.start()

    def _ready_ones(self) -> list[Engine]:
        """Those that may be given work: the newest generation when it is complete, and the former one until then."""
        ready = [engine for engine in self._engines if engine.ready]
        new = [engine for engine in ready if engine.generation == self._generation]
        former = [engine for engine in ready if engine.generation != self._generation]
        return new if len(new) >= self._size or not former else former

    def _require_room(self, client: str, more: int, lane: Lane) -> None:
        if self.closing or (self.trouble and not self.usable):
            raise Refusal(503, "unavailable", "the model is not available at the moment", retry_after=5)
        if more > self._limits.client_queue:  # which no waiting would change
            message = beyond(f"there are {more} sentences", self._limits.client_queue, "--max-queue", "divide the text")
            raise Refusal(413, "too_many_sentences", message)
        if self.waiting + more > self._limits.queue:
            what = f"{self.waiting} sentences wait already, and these are {more} more"
            message = beyond(what, self._limits.queue, "--max-queue", "try again later")
            raise Refusal(503, "overloaded", message, retry_after=self.retry_after())
        mine = sum(queue.waiting(client) for queue in self._queues.values())
        if mine + more > self._limits.client_queue:
            what = f"{mine} of your sentences wait already, and these are {more} more"
            remedy = "wait for answers, or send less at a time"
            message = beyond(what, self._limits.client_queue, "--max-queue", remedy)
            raise Refusal(429, "too_many_requests", message, retry_after=self.retry_after())
        ahead = self._queues[lane].ahead(client, more if lane == "short" else 1)
        seconds, most = ahead * self._seconds_per_item(lane), self._patience(client)
        if seconds > most:
            option = "--deadline" if most == self._limits.deadline else "--queue-seconds"
            message = beyond(f"this would wait for about {seconds:.1f} s", most, option, "try again later")
            raise Refusal(503, "overloaded", message, retry_after=self.retry_after())

    def _patience(self, client: str) -> float:
        """Seconds that a request waits for its turn: those of a client with a key until their deadline."""
        return self._limits.deadline if client.startswith(KEYED) else self._limits.queue_seconds

    def _seconds_per_item(self, lane: Lane) -> float:
        """Seconds that a sentence of this class takes, as far as that can be told."""
        return self._rates[lane].seconds(time.monotonic())

    def _asked(self, client: str, sentences: Sequence[Sentence], partial: Partial | None, lane: Lane) -> Asked:
        """A request, with a job for each sentence."""
        until, done = time.monotonic() + self._limits.deadline, asyncio.get_running_loop().create_future()
        size = len(sentences)
        request = Asked(next(self._numbers), client, lane, done, until, [None] * size, left=size, partial=partial)
        seconds, long = self._limits.seconds, lane == "long"
        for place, sentence in enumerate(sentences):
            task = Task(next(self._numbers), *sentence, long=long, request=request.number, seconds=seconds)
            request.jobs.append(Job(task, place, request))
        return request

    def _waited(self, request: Asked) -> None:
        """Its turn has not come for too long. While there is no engine, it waits until its deadline."""
        if not request.begun and self.usable:
            seconds = self._limits.queue_seconds
            message = (
                f"this waited for {seconds:g} s and its turn had not come: try again later, or ask the operator to "
                "raise --queue-seconds or --engines"
            )
            request.refuse(Refusal(503, "queue_timeout", message, retry_after=self.retry_after()))

    def _overdue(self, request: Asked) -> None:
        request.refuse(overdue(self._limits.deadline))

    def _dispatch(self) -> None:
        """Give waiting sentences to the engines that have room, the emptiest first."""
        now = time.monotonic()
        for lane, queue in self._queues.items():
            while len(queue) and (engine := self._emptiest(lane, now)) is not None:
                job = queue.take()
                if job.request.over or job.request.until <= now:
                    continue
                self._rates[lane].taken(now)
                job.engine, job.request.begun = engine, True
                engine.add(job)
                assert engine.link is not None
                engine.link.send(job.task)
            if not len(queue):
                self._rates[lane].nothing_waits()

    def _emptiest(self, lane: Lane, now: float) -> Engine | None:
        """None where no engine has room for more of this class. One that is silent is the last choice."""
        able = [each for each in self._ready_ones() if each.counts[lane] < WINDOWS[lane]]

        def load(each: Engine) -> tuple[bool, int, int]:
            return each.silent(now) >= SILENT_SECONDS, each.counts[lane], len(each.jobs)

        return min(able, key=load, default=None)

    def _take_back(self, request: Asked) -> None:
        """Its client has left, or its time is over: it leaves the queue and its engines."""
        request.done.cancel()
        self._queues[request.lane].remove(request.client, request.number)
        for job in request.jobs:
            if job.engine is not None and job.engine.drop(job.task.id) is not None:
                assert job.engine.link is not None
                job.engine.link.send(Task(job.task.id, "cancel"))

    def _start_engine(self) -> None:
        engine = Engine(generation=self._generation)
        self._engines.append(engine)
        engine.link = self._new_link(_Reports(partial(self._heard, engine)))

    def _watch(self) -> None:
        """Ask each engine for a report, and end those that do not give it: they are in a step that does not end, or in
        none."""
        if self.closing:
            return
        now = time.monotonic()
        for engine in [each for each in self._engines if each.ready and each.link is not None]:
            assert engine.link is not None
            if engine.pinged is None:
                engine.pinged = now
                engine.link.send(Task(0, "ping"))
            elif engine.silent(now) > self._limits.silence:
                self._log("engine_silent", seconds=round(engine.silent(now), 1), pid=engine.link.pid)
                engine.link.kill()
        self._watching = asyncio.get_running_loop().call_later(self._interval, self._watch)

    def _heard(self, engine: Engine, reports: deque[Report]) -> None:
        """What an engine has reported since the last time; all of it is taken from `reports`."""
        while reports:
            self._take(engine, reports.popleft())
        self._retire()
        self._dispatch()

    def _take(self, engine: Engine, report: Report) -> None:
        if report.kind == "pong":
            engine.pinged = None
        elif report.kind == "loaded":
            self._loaded(engine, report.value)
        elif report.kind == "closed":
            self._closed(engine, str(report.value))
        elif (job := engine.jobs.get(report.id)) is not None:
            show = job.request.partial
            if report.kind == "partial":
                if show is not None:
                    text, settled = report.value
                    show(job.place, text, settled, False)
                return
            engine.drop(report.id)
            if show is not None and report.kind == "done" and not job.request.over:
                show(job.place, report.value["text"], report.value["text"], True)
            job.request.receive(job.place, report)

    def _loaded(self, engine: Engine, info: dict[str, Any]) -> None:
        engine.ready, self.info, self.trouble, self._ended_in_a_row = True, info, "", 0
        self.settled.set()
        self._log("engine_ready", pid=engine.link.pid if engine.link else None)

    def _retire(self) -> None:
        """After a reload, let the former engines end when their jobs have."""
        if len([each for each in self._ready_ones() if each.generation == self._generation]) >= self._size:
            for each in self._engines:
                if each.generation != self._generation and not each.jobs and each.link is not None:
                    each.link.close()

    def _closed(self, engine: Engine, reason: str) -> None:
        """An engine has ended: what it had goes to the next one, and another one takes its place."""
        if engine not in self._engines:
            return
        self._engines.remove(engine)
        for number in reversed(list(engine.jobs)):
            if (job := engine.drop(number)) is not None:
                self._lost(job, reason)
        if self.closing or engine.generation != self._generation:
            return
        self._log("engine_ended", reason=reason)
        if not engine.ready and any(each.ready and each.generation != self._generation for each in self._engines):
            self._keep_former(reason)
            return
        if not self._engines and not engine.ready:
            self.trouble = reason or "its engine has ended"
            self.settled.set()
            self._refuse_all()
        wait = RESTART_SECONDS[min(self._ended_in_a_row, len(RESTART_SECONDS) - 1)]
        self._ended_in_a_row += 1
        asyncio.get_running_loop().call_later(wait, self._replace)

    def _lost(self, job: Job, reason: str) -> None:
        """The engine that had it has ended: it waits for another one, once."""
        job.engine, job.lost, request = None, job.lost + 1, job.request
        if request.over:
            return
        if job.lost <= MAX_LOST and not self.closing:
            self._queues[request.lane].put_back(request.client, request.number, job)
            return
        message = "the engines that translated this have ended: try again later"
        if reason == KILLED:  # other reasons may have paths in them
            remedy = "try again later, or ask the operator for more memory or fewer --engines"
            message = f"the engines that translated this were {KILLED}: {remedy}"
        request.refuse(Refusal(503, "engine_ended", message, retry_after=5))

    def _refuse_all(self) -> None:
        """Refuse all requests that wait: the model cannot be loaded."""
        for queue in self._queues.values():
            while len(queue):
                message = "the model is not available at the moment"
                queue.take().request.refuse(Refusal(503, "unavailable", message, retry_after=5))

    def _keep_former(self, reason: str) -> None:
        """A reload has failed: the engines that were to end stay, and those that came end. They were given nothing."""
        self._log("reload_failed", reason=reason)
        failed = self._generation
        self._generation = max(each.generation for each in self._engines if each.ready and each.generation != failed)
        for each in self._engines:
            if each.generation == failed and each.link is not None:
                each.ready = False
                each.link.close()

    def _replace(self) -> None:
        if not self.closing and sum(each.generation == self._generation for each in self._engines) < self._size:
            self._start_engine()


def _lane(sentences: Sequence[Sentence]) -> Lane:
    """The class of a request."""
    if any(sentence.kind not in STEPPED for sentence in sentences):
        return "single"
    characters = sum(_weight(sentence) for sentence in sentences if sentence.kind != "detect")
    return "long" if len(sentences) > SHORT_SENTENCES or characters > SHORT_CHARACTERS else "short"


def _weight(sentence: Sentence) -> float:
    """Its characters; those of a wide search count for more."""
    options = sentence.options
    width = max(options.get("beam_size") or 1, options.get("n_best") or 1)
    return (len(sentence.text) + len(options.get("prefix") or "")) * max(1.0, width / WIDTH)
