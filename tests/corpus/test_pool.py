"""Texts through workers that end: in order, none lost, none twice."""

import subprocess
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from limelight.corpus import pool
from limelight.corpus.pool import Chunk, Pool, Processes, WorkerEnded
from limelight.corpus.worker import Outcome, WorkerSettings
from limelight.errors import RunError, UserError


class Fake:
    """A worker that ends at some texts: always, or the first time that it sees them."""

    def __init__(self, always: frozenset[str] = frozenset(), once: set[str] | None = None) -> None:
        self.always, self.once = always, set() if once is None else once

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        if self.always & set(texts):
            raise WorkerEnded("its worker ended")
        if found := self.once & set(texts):
            self.once -= found
            raise WorkerEnded("its worker ended")
        return [([f"{first + place}:{text}"], []) for place, text in enumerate(texts)]

    def close(self) -> None: ...


def chunks(count: int, size: int = 10) -> list[Chunk]:
    return [
        Chunk([f"{number}-{line}" for line in range(size)], 1 + number * size, about=number) for number in range(count)
    ]


def expected(count: int, size: int = 10) -> list[list[Outcome | None]]:
    return [[([f"{1 + number * size + line}:{number}-{line}"], []) for line in range(size)] for number in range(count)]


def test_chunks_come_in_their_order_whatever_the_workers_do() -> None:
    once = {f"{number}-{line}" for number in range(0, 30, 3) for line in (1, 8)}
    running = Pool(lambda number: Fake(once=once), 3, timeout=60.0)
    found = list(running.translated([*chunks(30), Chunk([], 1, about="empty")]))
    assert [chunk.about for chunk in found] == [*range(30), "empty"]
    assert [chunk.outcomes for chunk in found[:30]] == expected(30)
    assert 10 <= running.tally.ended <= 20
    assert running.tally.started >= running.tally.ended


def test_a_text_that_ends_its_workers_is_left_out_alone() -> None:
    running = Pool(lambda number: Fake(frozenset({"2-3", "2-4", "5-0"})), 2, timeout=60.0)
    found = list(running.translated(chunks(8)))
    wanted = expected(8)
    reason = "its worker ended when this was all it had, 2 times"
    wanted[2][3] = wanted[2][4] = wanted[5][0] = reason
    assert [chunk.outcomes for chunk in found] == wanted


def test_without_division_a_chunk_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a task that is left out as a whole."""
    monkeypatch.setattr(Pool, "_ended", lambda self, task, reason: self._fill(task, [reason] * (task.end - task.begin)))
    running = Pool(lambda number: Fake(frozenset({"2-3"})), 2, timeout=60.0)
    found = list(running.translated(chunks(8)))
    assert sum(isinstance(each, str) for chunk in found for each in chunk.outcomes) == 10


def test_workers_that_all_end_stop_the_work() -> None:
    always = frozenset(text for chunk in chunks(300) for text in chunk.texts)
    running = Pool(lambda number: Fake(always), 2, timeout=60.0)
    with pytest.raises(
        RunError,
        match=r"workers ended one after the other.* its worker ended\. .*fewer --workers\. Finished work is kept",
    ):
        list(running.translated(chunks(300)))


@pytest.mark.parametrize("forks", [False, True])
def test_a_process_that_is_killed_while_it_loads_is_told(forks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([command[0], "-c", "import os; os.kill(os.getpid(), 9)"], **options)

    monkeypatch.setattr(pool, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": killed}))
    processes = Processes(WorkerSettings([], {}), forks=forks)
    with pytest.raises(RunError, match=r"ended 3 times before it was there \(.*SIGKILL.*\); .* fewer --workers"):
        processes.start(0)
    processes.close()


@pytest.mark.parametrize("kind", [UserError, RunError])
def test_a_worker_that_cannot_start_stops_the_work(kind: type[Exception]) -> None:
    def start(number: int) -> Fake:
        raise kind("no model")

    with pytest.raises(kind, match="no model"):
        list(Pool(start, 2, timeout=60.0).translated(chunks(3)))


def test_few_chunks_are_read_ahead() -> None:
    """What is slow at the head does not fill the memory."""
    free, read = threading.Event(), []

    class Slow(Fake):
        def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
            if "0-0" in texts:
                assert free.wait(120)
            return super().ask(texts, first, timeout)

    def source() -> object:
        for chunk in chunks(100):
            read.append(chunk.about)
            if len(read) == 2 * pool.AHEAD + 1:
                free.set()
            yield chunk

    running = Pool(lambda number: Slow(), 2, timeout=60.0).translated(source())  # type: ignore[arg-type]
    next(running)
    assert len(read) <= 2 * pool.AHEAD + 1
    assert [chunk.about for chunk in running] == list(range(1, 100))
