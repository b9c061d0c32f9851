"""Server-sent events: text while it comes. An error before the first event is an ordinary answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from limelight.serving.asks import Ask
from limelight.serving.pool import Partial
from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service

FAULT = Refusal(500, "internal", "something went wrong in the service; it is in its log")


class Progress(NamedTuple):
    """The progress of a text."""

    number: int
    text: str
    certain: str
    """Its beginning that will not change."""
    settled: str
    """How much of it the search has settled: guards may still change that."""


SHORT = 100
"""Characters of a text of which each progress is sent."""
CHARACTERS_A_SECOND = 200_000
"""Characters per second that are joined again for progress reports of a text, at most."""
MAX_REST = 0.25
"""Maximum seconds between two events if there is new text."""

Item = Progress | Refusal | Any
"""Any number of `Progress`, and then the answer, or why there is none."""


class Following:
    """What happens to a request, from the first thing on.

    Of each text only the newest progress is kept, and put together when it is asked for: a client that reads slowly, or
    not at all, makes nothing grow, and a long text is not joined again for each of its tokens.
    """

    def __init__(self, service: Service, begin: Callable[[Partial], Awaitable[Any]]) -> None:
        self._newest: dict[int, Progress] = {}
        self._answer: Item | None = None
        self._changed = asyncio.Event()
        self._rest = 0.0
        self._working = asyncio.create_task(self._work(service, begin))

    async def begun(self) -> None:
        """Wait for the first thing. Raises `Refusal` where that is one."""
        try:
            await self._changed.wait()
        except asyncio.CancelledError:
            self._working.cancel()
            raise
        if isinstance(self._answer, Refusal) and not self._newest:
            raise self._answer

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Item:
        await asyncio.sleep(self._rest)
        await self._changed.wait()
        if self._newest:
            number = next(iter(self._newest))
            progress = self._newest.pop(number)
            self._rest = min(MAX_REST, len(progress.text) / CHARACTERS_A_SECOND)
            if not self._newest and self._answer is None:
                self._changed.clear()
            return progress
        if self._answer is None:
            raise StopAsyncIteration
        answer, self._answer = self._answer, None
        return answer

    def close(self) -> None:
        """The client has left: the work is canceled."""
        self._working.cancel()

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


async def follow(service: Service, client: Client, ask: Ask) -> Following:
    """Translate, and wait for the first thing. Raises `Refusal` where that is one."""
    return await following(service, lambda shown: service.translate(client, ask, shown))


async def following(service: Service, begin: Callable[[Partial], Awaitable[Any]]) -> Following:
    """The same for other work, which is begun with what is to be called as its text grows."""
    found = Following(service, begin)
    await found.begun()
    return found


def event(value: Any, name: str = "") -> str:
    """One event of JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n"
