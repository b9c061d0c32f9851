"""Server-sent events: text while it comes. An error before the first event is an ordinary answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from limelight.serving.asks import Ask
from limelight.serving.call import Call, ClientDisconnect, Response, event_stream
from limelight.serving.pool import Partial
from limelight.serving.refusal import Refusal
from limelight.serving.service import Service

FAULT = Refusal(500, "internal", "something went wrong in the service; it is in its log")
SHORT = 100
"""Characters of a text of which each progress is sent."""


class Progress(NamedTuple):
    """The progress of a text."""

    number: int
    text: str
    certain: str
    """Its beginning that will not change: whole sentences."""


class Following:
    """What happens to a request: any number of `Progress`, and then the answer, or a `Refusal`.

    Of each text only the newest progress is kept: a client that reads slowly, or not at all, makes nothing grow.
    """

    def __init__(self, service: Service, begin: Callable[[Partial], Awaitable[Any]]) -> None:
        self._newest: dict[int, Progress] = {}
        self._answer: Any = None
        self._changed = asyncio.Event()
        self._working = asyncio.create_task(self._work(service, begin))

    async def begun(self) -> None:
        """Wait for the first thing. Raises `Refusal` if it is one."""
        try:
            await self._changed.wait()
        except asyncio.CancelledError:
            self._working.cancel()
            raise
        if isinstance(self._answer, Refusal) and not self._newest:
            raise self._answer

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Any:
        await self._changed.wait()
        if self._newest:
            progress = self._newest.pop(next(iter(self._newest)))
            if not self._newest and self._answer is None:
                self._changed.clear()
            return progress
        if self._answer is None:
            raise StopAsyncIteration
        answer, self._answer = self._answer, None
        return answer

    async def end(self) -> None:
        """The events have ended. Raises `ClientDisconnect` if the client has left before; then the work is canceled."""
        if not self._working.done():
            self._working.cancel()
            raise ClientDisconnect

    def _shown(self, *progress: Any) -> None:
        self._newest[progress[0]] = Progress(*progress)
        self._changed.set()

    async def _work(self, service: Service, begin: Callable[[Partial], Awaitable[Any]]) -> None:
        try:
            self._answer = await begin(self._shown)
        except Refusal as refusal:
            self._answer = refusal
        except Exception as error:
            service.log.fault(error)
            self._answer = FAULT
        self._changed.set()


class Growth:
    """Which progress of each text is worth an event: the first words one by one, and then what makes it an eighth
    longer. So all events together have at most about ten times the characters of the text."""

    def __init__(self) -> None:
        self._sent: dict[int, int] = {}

    def is_worth(self, progress: Progress) -> bool:
        """Whether to send this progress."""
        size, sent = len(progress.text), self._sent.get(progress.number, 0)
        if abs(size - sent) * 8 < sent and sent > SHORT and progress.certain != progress.text:
            return False
        self._sent[progress.number] = size
        return True


async def follow(call: Call, ask: Ask) -> Following:
    """Translate, and wait for the first thing. Raises `Refusal` if it is one."""
    return await following(call.service, lambda shown: call.service.translate(call.client, ask, shown))


async def following(service: Service, begin: Callable[[Partial], Awaitable[Any]]) -> Following:
    """The same for other work, which is begun with what is to be called as its text grows."""
    found = Following(service, begin)
    await found.begun()
    return found


def streamed(following: Following, events: AsyncIterator[str]) -> Response:
    """The answer. The work is canceled when the client leaves."""
    return event_stream(events, following.end)


def event(value: Any, name: str = "") -> str:
    """One event of JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n"
