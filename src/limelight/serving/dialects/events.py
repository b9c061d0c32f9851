"""Server-sent events: text while it comes. An error before the first event is an ordinary answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from limelight.serving.refusal import Refusal
from limelight.serving.service import Ask, Client, Service, Shown

FAULT = Refusal(500, "internal", "something went wrong in the service; it is in its log")


class Progress(NamedTuple):
    """What there is of a text."""

    number: int
    text: str
    certain: str
    """How much of it will not change."""
    settled: str
    """How much of it the search has settled: guards may still change that."""


Item = Progress | Refusal | Any
"""Any number of `Progress`, and then the answer, or why there is none."""


class Following:
    """What happens to a request, from the first thing on."""

    def __init__(self, first: Item, items: asyncio.Queue[Item], working: asyncio.Task[None]) -> None:
        self._first: Item | None = first
        self._items, self._working, self._ended = items, working, False

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Item:
        if self._ended:
            raise StopAsyncIteration
        item, self._first = self._first or await self._items.get(), None
        self._ended = not isinstance(item, Progress)
        return item

    def close(self) -> None:
        """The client has left: the work is canceled."""
        self._working.cancel()


async def follow(service: Service, client: Client, ask: Ask) -> Following:
    """Translate, and wait for the first thing. Raises `Refusal` where that is one."""
    return await following(service, lambda shown: service.translate(client, ask, shown))


async def following(service: Service, begin: Callable[[Shown], Awaitable[Any]]) -> Following:
    """The same for other work, which is begun with what is to be called as its text grows."""
    items: asyncio.Queue[Item] = asyncio.Queue()

    def shown(*progress: Any) -> None:
        items.put_nowait(Progress(*progress))

    async def work() -> None:
        try:
            items.put_nowait(await begin(shown))
        except Refusal as refusal:
            items.put_nowait(refusal)
        except Exception as error:
            service.log.fault(error)
            items.put_nowait(FAULT)

    working = asyncio.create_task(work())
    try:
        first = await items.get()
    except asyncio.CancelledError:
        working.cancel()
        raise
    if isinstance(first, Refusal):
        raise first
    return Following(first, items, working)


def event(value: Any, name: str = "") -> str:
    """One event of JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n"
