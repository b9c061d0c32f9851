"""Server-sent events: text while it comes. An error before the first event is an ordinary answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from limelight.serving.asks import Ask
from limelight.serving.call import Call
from limelight.serving.logs import Log
from limelight.serving.pool import Partial
from limelight.serving.refusal import FAULT, Refusal


class Progress(NamedTuple):
    """The beginning of a text."""

    number: int
    text: str


class Following:
    """What happens to a request: any number of `Progress`, and then the answer, or a `Refusal`.

    Of each text only the newest progress is kept: a client that reads slowly, or not at all, makes nothing grow.
    """

    def __init__(self, log: Log, begin: Callable[[Partial], Awaitable[Any]]) -> None:
        self._log, self._newest, self._changed = log, dict[int, str](), asyncio.Event()
        self._working = asyncio.ensure_future(begin(self._show))
        self._working.add_done_callback(lambda _: self._changed.set())

    async def begun(self) -> Following:
        """Wait for the first thing. Raises the error of work that has failed."""
        try:
            await self._changed.wait()
        except asyncio.CancelledError:
            self._working.cancel()
            raise
        if self._working.done():
            self._working.result()
        return self

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not self._working.done() or self._newest:
            await self._changed.wait()
            self._changed.clear()
            while self._newest:
                number = next(iter(self._newest))
                yield Progress(number, self._newest.pop(number))
        try:
            answer = self._working.result()
        except Refusal as refusal:
            answer = refusal
        except Exception as error:
            self._log.fault(error)
            answer = FAULT
        yield answer

    async def end(self) -> None:
        """The events have ended. Raises `ClientDisconnect` if the client has left before; then the work is canceled."""
        if not self._working.done():
            self._working.cancel()
            raise ClientDisconnect

    def _show(self, number: int, text: str) -> None:
        self._newest[number] = text
        self._changed.set()


async def follow(call: Call, ask: Ask) -> Following:
    """Translate, and wait for the first thing. Raises `Refusal` if it is one."""
    return await Following(call.service.log, lambda shown: call.service.translate(call.client, ask, shown)).begun()


def streamed(following: Following, events: AsyncIterator[str]) -> Any:
    """The answer. The work is canceled when the client leaves."""
    headers, end = {"X-Accel-Buffering": "no"}, BackgroundTask(following.end)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers, background=end)


def event(value: Any, name: str = "") -> str:
    """One event of JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n"
