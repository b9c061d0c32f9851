"""Streams: a reader that waits gets the newest progress and makes nothing grow."""

import asyncio
from collections.abc import Callable
from typing import Any

from limelight.serving.dialects.events import Following, Growth, Progress
from limelight.serving.refusal import Refusal


def test_a_reader_gets_the_newest_of_each_text() -> None:
    async def main() -> list[Any]:
        go = asyncio.Event()

        async def begin(shown: Callable[..., None]) -> list[str]:
            for step in range(10_000):
                shown(step % 2, str(step), "")
            await go.wait()
            return ["answer"]

        following = Following(None, begin)  # type: ignore[arg-type]
        await following.begun()
        asyncio.get_running_loop().call_later(0.05, go.set)
        return [item async for item in following]

    found = asyncio.run(main())
    assert found == [Progress(0, "9998", ""), Progress(1, "9999", ""), ["answer"]]


def test_a_refusal_after_the_first_words_is_the_last_thing() -> None:
    async def main() -> list[Any]:
        async def begin(shown: Callable[..., None]) -> None:
            shown(0, "a", "")
            raise Refusal(503, "gone", "it is gone")

        following = Following(None, begin)  # type: ignore[arg-type]
        await following.begun()
        return [item async for item in following]

    first, last = asyncio.run(main())
    assert first == Progress(0, "a", "")
    assert (last.status, last.code) == (503, "gone")


def test_all_events_of_a_long_text_have_a_few_times_its_characters() -> None:
    growth, sent, whole = Growth(), 0, "a word " * 5000
    for size in range(0, len(whole) + 1, 7):
        progress = Progress(0, whole[:size], whole[:size] if size == len(whole) else "")
        if growth.is_worth(progress):
            sent, last = sent + size, size
    assert last == len(whole)
    assert sent < 10 * len(whole)


def test_the_first_words_come_one_by_one() -> None:
    growth = Growth()
    assert all(growth.is_worth(Progress(0, "a word " * count, "")) for count in range(12))
