"""Texts through workers that end: in order, none lost, none twice."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from limelight.corpus import pool
from limelight.corpus.pool import ENDED, Chunk, Pool, WorkerEnded
from limelight.corpus.worker import Done, Outcome
from limelight.errors import RunError, UserError


class Fake:
    """A worker that ends at some texts: always, or the first time that it gets them."""

    def __init__(self, always: frozenset[str] = frozenset(), once: set[str] | None = None) -> None:
        self.always, self.once = always, set() if once is None else once

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        found = self.once & set(texts)
        self.once -= found
        if found or self.always & set(texts):
            raise WorkerEnded("ended by a test")
        return [Done([f"{first + number}:{text}"]) for number, text in enumerate(texts)]

    def close(self) -> None: ...


def chunks(count: int, size: int = 10) -> list[Chunk]:
    return [Chunk([f"{number}-{line}" for line in range(size)], 1 + number * size, number) for number in range(count)]


def expected(count: int, size: int = 10) -> list[list[Outcome]]:
    return [[Done([f"{1 + number * size + line}:{number}-{line}"]) for line in range(size)] for number in range(count)]


def test_chunks_come_in_their_order_and_only_texts_that_end_workers_are_left_out() -> None:
    once = {f"{number}-{line}" for number in range(0, 30, 3) for line in (1, 8)}
    always = frozenset({"2-3", "2-4", "5-0"})
    running = Pool(lambda number: Fake(always, once), 3, timeout=60.0)
    found = list(running.translated([*chunks(30), Chunk([], 1, "empty")]))
    assert [chunk.about for chunk, _ in found] == [*range(30), "empty"]
    wanted = expected(30)
    wanted[2][3] = wanted[2][4] = wanted[5][0] = f"{ENDED}, 2 with no other: ended by a test"
    assert [outcomes for _, outcomes in found] == [*wanted, []]
    assert running.ended >= 10


@pytest.mark.parametrize("kind", [UserError, RunError, WorkerEnded])
def test_workers_that_cannot_start_or_all_end_stop_the_work(kind: type[Exception]) -> None:
    def start(number: int) -> Fake:
        raise kind("no model")

    message = "ended before it had loaded the model .*fewer --workers" if kind is WorkerEnded else "no model"
    with pytest.raises(RunError if kind is WorkerEnded else kind, match=message):
        list(Pool(start, 2, timeout=60.0).translated(chunks(3)))
    always = frozenset(text for chunk in chunks(300) for text in chunk.texts)
    with pytest.raises(RunError, match=r"workers ended one after the other.*fewer --workers\. Finished work is kept"):
        list(Pool(lambda number: Fake(always), 2, timeout=60.0).translated(chunks(300)))


def test_few_chunks_are_read_ahead() -> None:
    """What is slow at the head does not fill the memory."""
    free, read = threading.Event(), []

    class Slow(Fake):
        def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
            if "0-0" in texts:
                assert free.wait(120)
            return super().ask(texts, first, timeout)

    def source() -> Iterator[Chunk]:
        for chunk in chunks(100):
            read.append(chunk.about)
            if len(read) == 2 * pool.AHEAD + 1:
                free.set()
            yield chunk

    running = Pool(lambda number: Slow(), 2, timeout=60.0).translated(source())
    next(running)
    assert len(read) <= 2 * pool.AHEAD + 1
    assert [chunk.about for chunk, _ in running] == list(range(1, 100))


def test_a_worker_that_starts_while_the_others_are_closed_is_closed_without_work() -> None:
    asked, starting, stopped = threading.Event(), threading.Event(), threading.Event()
    closed, requests = [], []

    class Late(Fake):
        def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
            requests.append(first)
            asked.set()
            assert starting.wait(120)
            return super().ask(texts, first, timeout)

        def close(self) -> None:
            closed.append(self)
            stopped.set()

    def start(number: int) -> Late:
        if asked.is_set():
            starting.set()
            assert stopped.wait(120)
        return Late()

    def source() -> Iterator[Chunk]:
        first, second = chunks(2)
        yield first
        assert asked.wait(120)
        yield second

    running = Pool(start, 2, timeout=60.0).translated(source())
    next(running)
    running.close()
    assert requests == [1]
    assert len(set(closed)) == 2
