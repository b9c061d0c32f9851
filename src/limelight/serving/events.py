"""Server-sent events: text while it comes. An error before the first event is an ordinary answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from pydantic_core import to_json
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from limelight.serving.logs import Log
from limelight.serving.pool import Partial
from limelight.serving.refusal import FAULT, Refusal


class Progress(NamedTuple):
    """The beginning of a text."""

    number: int
    text: str


Events = Callable[[AsyncIterator[Any]], AsyncIterator[str]]
"""Makes events of any number of `Progress`, and then the answer, or a `Refusal`."""


async def streamed(log: Log, begin: Callable[[Partial], Awaitable[Any]], events: Events) -> StreamingResponse:
    """The answer of some work while it goes on. The work is canceled when the client leaves. What is not read yet is
    kept, and is at most some ten times the text: `engine.GROWTH`."""
    queue = asyncio.Queue[Any]()
    work = asyncio.ensure_future(begin(lambda number, text: queue.put_nowait(Progress(number, text))))
    work.add_done_callback(queue.put_nowait)
    try:
        first = await queue.get()
    except asyncio.CancelledError:
        work.cancel()
        raise
    if first is work:
        work.result()

    async def items() -> AsyncIterator[Any]:
        item = first
        while item is not work:
            yield item
            item = await queue.get()
        try:
            answer = work.result()
        except Refusal as refusal:
            answer = refusal
        except Exception as error:
            log.fault(error)
            answer = FAULT
        yield answer

    async def end() -> None:
        if not work.done():  # the client has left before
            work.cancel()
            raise ClientDisconnect

    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        events(items()), media_type="text/event-stream", headers=headers, background=BackgroundTask(end)
    )


def event(value: Any, name: str = "") -> str:
    """One event of JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {to_json(value, inf_nan_mode='null').decode()}\n\n"
