"""Streams: all progress, then the answer; an error before the first event is an ordinary answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from limelight.serving.events import Progress, streamed
from limelight.serving.logs import Log
from limelight.serving.refusal import FAULT, Refusal


def heard(begin: Callable[..., Awaitable[Any]]) -> list[Any]:
    found: list[Any] = []

    async def events(items: AsyncIterator[Any]) -> AsyncIterator[str]:
        async for item in items:
            found.append(item)
            yield ""

    async def main() -> None:
        answer = await streamed(Log(), begin, events)
        async for _ in answer.body_iterator:
            pass

    asyncio.run(main())
    return found


@pytest.mark.parametrize("error", [Refusal(503, "gone", "it is gone"), RuntimeError("of ours"), None])
def test_an_error_after_the_first_words_is_the_last_thing_and_before_them_it_is_raised(error: Exception | None) -> None:
    async def begin(shown: Callable[..., None]) -> list[str]:
        shown(0, "a")
        await asyncio.sleep(0.01)
        shown(1, "b")
        if error is not None:
            raise error
        return ["answer"]

    async def fail(shown: Callable[..., None]) -> None:
        raise error or RuntimeError

    last = ["answer"] if error is None else error if isinstance(error, Refusal) else FAULT
    assert heard(begin) == [Progress(0, "a"), Progress(1, "b"), last]
    with pytest.raises(type(error or RuntimeError())):
        heard(fail)
