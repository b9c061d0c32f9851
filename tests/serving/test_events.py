"""Streams: a reader that waits gets the newest progress and makes nothing grow."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from limelight.serving.events import Following, Progress
from limelight.serving.logs import Log
from limelight.serving.refusal import FAULT, Refusal


def heard(begin: Callable[..., Awaitable[Any]]) -> list[Any]:
    async def main() -> list[Any]:
        return [item async for item in await Following(Log(), begin).begun()]

    return asyncio.run(main())


def test_a_reader_gets_the_newest_of_each_text() -> None:
    async def begin(shown: Callable[..., None]) -> list[str]:
        for step in range(10_000):
            shown(step % 2, str(step))
        await asyncio.sleep(0.05)
        return ["answer"]

    assert heard(begin) == [Progress(0, "9998"), Progress(1, "9999"), ["answer"]]


@pytest.mark.parametrize("error", [Refusal(503, "gone", "it is gone"), RuntimeError("of ours")])
def test_an_error_after_the_first_words_is_the_last_thing_and_before_them_it_is_raised(error: Exception) -> None:
    async def begin(shown: Callable[..., None]) -> None:
        shown(0, "a")
        await asyncio.sleep(0.05)
        raise error

    async def fail(shown: Callable[..., None]) -> None:
        raise error

    assert heard(begin) == [Progress(0, "a"), error if isinstance(error, Refusal) else FAULT]
    with pytest.raises(type(error)):
        heard(fail)
