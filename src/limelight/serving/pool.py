"""The engines of one model, and the requests that wait for them. It belongs to the event loop.

A request is one task: whole texts go to an engine. Clients (a key, or an address where there are no keys) take turns,
weighted by characters: a request waits for as many characters of each other client as it has itself. This is
self-clocked fair queueing (Golestani 1994): the request with the smallest turn is next, and

    turn = max(turn of the client's last waiting request, highest turn given to an engine) + characters + `OVERHEAD`

An engine has some short requests and a few long ones at a time, among which `pipelines/scheduler.py` shares it by
sentences.
"""

import asyncio
import time
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from limelight.files import cause
from limelight.serving.limits import Limits
from limelight.serving.links import PING, Link, Report, ReportCallback, Task, cost_of
from limelight.serving.refusal import Refusal, bad_request, beyond

Lane = Literal["short", "long", "explain"]
ROOM: dict[Lane, int] = {"short": 64, "long": 2, "explain": 1}
"""Number of requests of each lane that an engine has at a time."""
OVERHEAD = 20
"""What a request counts for beside its characters."""
RESTART_SECONDS = 5.0
"""Seconds before an engine is started again that ended while it loaded; others are started at once."""
SILENT_SECONDS = 10.0
"""An engine that has not reported for so long is not ready."""
RETRY_SECONDS = 5
"""`Retry-After` of a service with too much to do."""

Partial = Callable[[int, str], None]
"""Called with the number of a text and its beginning."""
NewLink = Callable[[ReportCallback], Link]


@dataclass(eq=False, slots=True)
class Request:
    """A request on its way."""

    task: Task
    client: str
    lane: Lane
    turn: float
    """Requests are given to engines in the order of these numbers."""
    done: asyncio.Future[Any]
    partial: Partial | None
    sentences: dict[int, list[Any]] = field(default_factory=dict)
    """Of each text, as far as they are reported."""
    lost: bool = False
    """Whether an engine has ended that had it."""

    def refuse(self, refusal: Refusal) -> None:
        """It gets no result, unless it has one or was refused."""
        if not self.done.done():
            self.done.set_exception(refusal)


@dataclass(eq=False, slots=True)
class Engine:
    """One engine as the pool sees it."""

    link: Link = field(init=False)
    ready: bool = False
    requests: dict[int, Request] = field(default_factory=dict)
    pinged: float | None = None
    """When it was asked for a report that has not come."""

    def room(self, lane: Lane) -> int:
        """How many requests of a lane it takes."""
        return ROOM[lane] - sum(request.lane == lane for request in self.requests.values()) if self.ready else 0

    def silent(self) -> float:
        """For how many seconds it owes a report."""
        return 0.0 if self.pinged is None else time.monotonic() - self.pinged


class Pool:
    """Engines of one model.

    Args:
        new_link: starts an engine, which calls back with reports.
        engines: how many side by side.
        log: is called with what happens to the engines.
    """

    def __init__(self, new_link: NewLink, engines: int, limits: Limits, log: Callable[..., None]) -> None:
        self._new_link, self._size, self._limits, self._log = new_link, engines, limits, log
        self._numbers = count(1)
        self._waiting: list[Request] = []
        """In the order of their turns."""
        self._turn = 0.0
        """The highest turn of the requests that engines were given."""
        self._engines: list[Engine] = []
        self._interval = min(5.0, limits.silence / 4)
        self.info: dict[str, Any] = {}
        """What the model is: of the last report `loaded`."""
        self.trouble = ""
        """Why the model cannot be loaded; empty while it loads, and when it has been."""
        self.complete = asyncio.Event()
        """Set when all engines are ready for the first time, or one of them cannot be loaded."""
        self.closing = False

    @property
    def ready(self) -> bool:
        """Whether all engines are there, and report."""
        return sum(engine.ready and engine.silent() < SILENT_SECONDS for engine in self._engines) >= self._size

    @property
    def loading(self) -> bool:
        """Whether it is not known yet what the model is."""
        return not (self.info or self.trouble or self.closing)

    @property
    def usable(self) -> bool:
        """Whether any engine is ready."""
        return any(engine.ready for engine in self._engines)

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    @property
    def decoding(self) -> int:
        """Requests that engines have."""
        return sum(len(engine.requests) for engine in self._engines)

    def start(self) -> None:
        """Begin to load."""
        self._log("loading", engines=self._size)
        for _ in range(self._size):
            self._start_engine()
        self._watch()

    def close(self) -> list[Link]:
        """Let all engines end; returns their links, to be joined."""
        self.closing = True
        self.complete.set()
        for engine in self._engines:
            engine.link.send(None)
        return [engine.link for engine in self._engines]

    async def drained(self) -> None:
        """Wait until it has no requests."""
        while self.waiting or self.decoding:
            await asyncio.sleep(0.05)

    async def run(
        self,
        client: str,
        kind: str,
        texts: Sequence[str],
        options: Mapping[str, Any] = {},
        partial: Partial | None = None,
        *,
        patient: bool = False,
    ) -> Any:
        """The result of a task, see `engine.py`. Canceled, it is taken back. While there is no engine it waits for
        one. A `patient` one, of which there are few, has a place in the queue.

        Raises `Refusal`: 400 for what the model refuses, 429 for too many requests of one client, 503 for too many of
        all, for a model that cannot be loaded, and for engines that ended.
        """
        if self.closing or (self.trouble and not self.usable):
            raise unavailable()
        mine = [request.turn for request in self._waiting if request.client == client]
        if not patient:
            self._require_room(len(mine))
        task = Task(next(self._numbers), kind, texts, options, partial is not None)
        lane: Lane = "short" if kind in ("translate", "detect", "write") else "explain"
        if kind == "translate" and task.is_long:
            lane = "long"
        turn = max([self._turn, *mine]) + cost_of(texts, task.options) + OVERHEAD
        request = Request(task, client, lane, turn, asyncio.get_running_loop().create_future(), partial)
        self._enqueue(request)
        self._dispatch()
        try:
            return await request.done
        finally:
            self._take_back(request)

    def _require_room(self, mine: int) -> None:
        """Raises `Refusal` if there is no room for a request of a client of whom so many wait."""
        if self.waiting >= (most := self._limits.queue):
            message = beyond(f"{self.waiting} requests wait already", most, "--max-queue", "try again later")
            raise Refusal(503, "overloaded", message, retry_after=RETRY_SECONDS)
        if mine >= (most := self._limits.queue // 2):
            remedy = "wait for answers, or send less at a time"
            message = beyond(f"{mine} of your requests wait already", most, "--max-queue", remedy)
            raise Refusal(429, "too_many_requests", message, retry_after=RETRY_SECONDS)

    def _enqueue(self, request: Request) -> None:
        insort(self._waiting, request, key=lambda each: each.turn)

    def _dispatch(self) -> None:
        """Give waiting requests to the engines that have room, the emptiest first."""
        full: set[Lane] = set() if self._engines else set(ROOM)
        for request in list(self._waiting):
            if (lane := request.lane) in full:
                continue
            engine = max(self._engines, key=lambda candidate: candidate.room(lane))
            if engine.room(lane) <= 0:
                full.add(lane)
                continue
            self._waiting.remove(request)
            self._turn = max(self._turn, request.turn)
            engine.requests[request.task.id] = request
            engine.link.send(request.task)

    def _take_back(self, request: Request) -> None:
        """It has its result, its client has left, or its time is over: it leaves the queue and its engine."""
        request.done.cancel()
        with suppress(ValueError):
            self._waiting.remove(request)
        for engine in self._engines:
            if engine.requests.pop(request.task.id, None) is not None:
                engine.link.send(Task(request.task.id, "cancel"))
        self._dispatch()

    def _start_engine(self) -> None:
        if self.closing:
            return
        engine, loop = Engine(), asyncio.get_running_loop()
        self._engines.append(engine)

        def heard(report: Report) -> None:
            with suppress(RuntimeError):  # the loop has ended; so will the engine
                loop.call_soon_threadsafe(self._take, engine, report)

        try:
            engine.link = self._new_link(heard)
        except OSError as error:  # no process can be started now
            self._closed(engine, cause(error))

    def _watch(self) -> None:
        """Ask each engine for a report, and end those that do not give it: they are in a step that does not end, or in
        none."""
        if self.closing:
            return
        for engine in [candidate for candidate in self._engines if candidate.ready]:
            if engine.pinged is None:
                engine.pinged = time.monotonic()
                engine.link.send(Task(0, PING))
            elif engine.silent() > self._limits.silence:
                self._log("engine_silent", seconds=round(engine.silent(), 1), pid=engine.link.pid)
                engine.link.kill()
        asyncio.get_running_loop().call_later(self._interval, self._watch)

    def _take(self, engine: Engine, report: Report) -> None:
        request = engine.requests.get(report.id)
        if report.kind == "pong":
            engine.pinged = None
        elif report.kind == "loaded":
            engine.ready, self.info, self.trouble = True, report.value, ""
            self._log("engine_ready", pid=engine.link.pid)
            if self.ready:
                self.complete.set()
        elif report.kind == "closed":
            self._closed(engine, str(report.value))
        elif request is not None and not request.done.done():
            if report.kind == "partial":
                if request.partial is not None:
                    request.partial(*report.value)
                return
            if report.kind == "sentences":
                request.sentences.setdefault(report.value[0], []).extend(report.value[1])
                return
            del engine.requests[report.id]
            if report.kind == "done":
                for index, sentences in request.sentences.items():
                    report.value[index]["sentences"][:0] = sentences
                request.done.set_result(report.value)
            else:
                failed = Refusal(500, "failed", str(report.value))
                request.refuse(failed if report.kind == "failed" else bad_request(str(report.value)))
        self._dispatch()

    def _closed(self, engine: Engine, reason: str) -> None:
        """An engine has ended: another one takes its place, and its requests."""
        self._engines.remove(engine)
        for request in engine.requests.values():
            self._lost(request)
        if self.closing:
            return
        self._log("engine_ended", reason=reason)
        if not engine.ready:
            self.complete.set()
        if not self._engines and not engine.ready:
            self.trouble = reason or "its engine has ended"
            for request in self._waiting:
                request.refuse(unavailable())
        wait = 0.0 if engine.ready else RESTART_SECONDS
        asyncio.get_running_loop().call_later(wait, self._start_engine)

    def _lost(self, request: Request) -> None:
        """The engine that had it has ended: it waits for another one, once, as it may be the reason."""
        if not request.lost and not self.closing:
            request.lost = True
            request.sentences.clear()
            self._enqueue(request)
            return
        message = (
            "the engines that translated this have ended, maybe because memory ran out: try again later, or ask the "
            "operator for fewer --engines"
        )
        request.refuse(Refusal(503, "engine_ended", message, retry_after=RETRY_SECONDS))


def unavailable() -> Refusal:
    """Of a model that cannot be loaded, or has no engine."""
    return Refusal(503, "unavailable", "the model is not available at the moment", retry_after=RETRY_SECONDS)
