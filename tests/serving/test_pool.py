"""Who waits, who is decoded, and what becomes of those whose engine, client or patience ends."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from limelight.config import Direction
from limelight.serving import pool
from limelight.serving.catalog import Model, Way
from limelight.serving.limits import Limits
from limelight.serving.links import LONG, Report, ReportCallback, Task
from limelight.serving.pool import ROOM, Pool
from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service

PAGE = "x" * (LONG + 1)


class FakeLink:
    """Keeps what it is given; the test says what it reports."""

    pid = None

    def __init__(self, heard: ReportCallback) -> None:
        self.heard = heard
        self.tasks: list[Task] = []
        self.closed = self.killed = False

    def send(self, task: Task | None) -> None:
        if task is None:
            self.closed = True
        else:
            self.tasks.append(task)

    def kill(self) -> None:
        self.killed = True
        self.heard(Report(0, "closed", "killed"))

    def join(self, seconds: float) -> None:
        pass

    def texts(self) -> list[str]:
        return [task.texts[0] for task in self.tasks if task.kind not in ("cancel", "ping")]

    def canceled(self) -> list[int]:
        return [task.id for task in self.tasks if task.kind == "cancel"]

    def answer(self, *texts: str) -> None:
        for task in self.tasks:
            if task.texts and task.texts[0] in texts:
                self.heard(Report(task.id, "done", [text.upper() for text in task.texts]))


class Bench:
    """A pool and the links that it has made."""

    def __init__(self, engines: int = 1, **limits: Any) -> None:
        self.links: list[FakeLink] = []
        self.logged: list[str] = []
        self.engines, self.limits = engines, Limits(**limits)
        self.pool = self.new_pool()

    def new_pool(self) -> Pool:
        return Pool(self.new_link, self.engines, self.limits, lambda event, **_: self.logged.append(event))

    def new_link(self, heard: ReportCallback) -> FakeLink:
        self.links.append(FakeLink(heard))
        return self.links[-1]

    async def loaded(self) -> "Bench":
        self.pool.start()
        for link in self.links:
            link.heard(Report(0, "loaded", {"directions": []}))
        await run_pending()
        return self

    def ask(self, client: str, *texts: str, kind: str = "translate") -> asyncio.Task[list[Any]]:
        return asyncio.ensure_future(self.pool.run(client, kind, texts))


async def run_pending() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def in_loop(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 600))  # type: ignore[arg-type]


async def refused(work: asyncio.Task[Any]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value


def test_a_request_is_one_task_and_nothing_is_left_of_it() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", "a", "b")
        await run_pending()
        bench.links[0].answer("a")
        assert await work == ["A", "B"]
        assert (bench.pool.waiting, bench.pool.decoding, bench.links[0].canceled()) == (0, 0, [])

    in_loop(main)


def test_an_engine_that_cannot_be_started_is_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "RESTART_SECONDS", 0.0)

    async def main() -> None:
        bench, faults = Bench(), [OSError(12, "Cannot allocate memory")]

        def new_link(heard: ReportCallback) -> FakeLink:
            if faults:
                raise faults.pop()
            return bench.new_link(heard)

        bench.pool = Pool(new_link, 1, Limits(), lambda event, **_: None)
        bench.pool.start()
        assert bench.pool.trouble == "Cannot allocate memory"
        await asyncio.sleep(0.01)
        bench.links[0].heard(Report(0, "loaded", {}))
        await run_pending()
        assert bench.pool.ready

    in_loop(main)


def test_a_pool_of_which_one_engine_cannot_be_loaded_is_not_waited_for() -> None:
    """A reload ends, and the engine is started again."""

    async def main() -> None:
        bench = Bench(engines=2)
        bench.pool.start()
        bench.links[0].heard(Report(0, "loaded", {}))
        bench.links[1].heard(Report(0, "closed", "memory ran out"))
        await asyncio.wait_for(bench.pool.complete.wait(), 5)
        assert (bench.pool.usable, bench.pool.ready, bench.pool.trouble) == (True, False, "")

    in_loop(main)


@given(some.lists(some.tuples(some.sampled_from("abc"), some.integers(1, LONG)), min_size=1, max_size=30))
def test_a_client_waits_for_no_more_characters_of_another_than_it_has_itself(requests: list[tuple[str, int]]) -> None:
    """Whatever waits: before the end of a client's requests, another one has had at most as many characters, and one
    request more."""

    async def main() -> None:
        bench = Bench()
        works = [bench.ask(client, client * size) for client, size in requests]
        bench.pool.start()
        await run_pending()
        pool.ROOM["short"] = 1
        bench.links[0].heard(Report(0, "loaded", {}))
        await run_pending()
        while not all(work.done() for work in works):
            bench.links[0].answer(bench.links[0].texts()[-1])
            await run_pending()
        given_out = bench.links[0].texts()
        assert sorted(given_out) == sorted(client * size for client, size in requests)
        costs = [len(text) + pool.OVERHEAD for text in given_out]
        for place, text in enumerate(given_out):
            mine = sum(cost for cost, each in zip(costs[: place + 1], given_out, strict=False) if each[0] == text[0])
            for other in set("abc") - {text[0]}:
                theirs = [cost for cost, each in zip(costs[:place], given_out, strict=False) if each[0] == other]
                assert sum(theirs) <= mine

    room = ROOM["short"]
    try:
        in_loop(main)
    finally:
        ROOM["short"] = room


def test_pages_and_explanations_leave_room_for_sentences() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        works = [bench.ask("pages", PAGE + str(number)) for number in range(5)]
        works += [bench.ask("page", "why", kind="explain") for _ in range(3)]
        await run_pending()
        assert len(bench.links[0].texts()) == ROOM["long"] + ROOM["explain"]
        works += [bench.ask("me", str(number)) for number in range(ROOM["short"] + 3)]
        await run_pending()
        assert bench.links[0].texts()[-1] == str(ROOM["short"] - 1)
        while not all(work.done() for work in works):
            bench.links[0].answer(*bench.links[0].texts())
            await run_pending()

    in_loop(main)


def test_engines_share_the_requests() -> None:
    async def main() -> None:
        bench = await Bench(2).loaded()
        works = [bench.ask("me", str(number)) for number in range(10)]
        await run_pending()
        assert [len(link.texts()) for link in bench.links] == [5, 5]
        for link in bench.links:
            link.answer(*link.texts())
        await asyncio.gather(*works)

    in_loop(main)


def test_a_full_queue_refuses_and_one_client_cannot_fill_it() -> None:
    async def main() -> None:
        bench = await Bench(queue=4).loaded()
        bench.links[0].send = lambda task: None  # type: ignore[method-assign]
        works = [bench.ask("page", PAGE) for _ in range(ROOM["long"] + 2)]
        await run_pending()
        refusal = await refused(bench.ask("page", "a"))
        assert (refusal.status, refusal.retry_after) == (429, pool.RETRY_SECONDS)
        assert "2 of your requests wait already, and at most 2 are accepted" in refusal.message
        works += [bench.ask("other", PAGE) for _ in range(2)]
        await run_pending()
        refusal = await refused(bench.ask("third", "a"))
        assert (refusal.status, refusal.retry_after) == (503, pool.RETRY_SECONDS)
        assert "--max-queue" in refusal.message
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)

    in_loop(main)


def test_who_leaves_is_taken_out_of_queue_and_engine() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        works = [bench.ask("me", PAGE) for _ in range(ROOM["long"] + 2)]
        await run_pending()
        works[0].cancel()
        works[-1].cancel()
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (0, ROOM["long"])
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        assert sorted(bench.links[0].canceled()) == sorted(task.id for task in bench.links[0].tasks if task.texts)
        bench.links[0].answer(PAGE)  # too late
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)

    in_loop(main)


@pytest.mark.parametrize(("kind", "status", "code"), [("refused", 400, "invalid_request"), ("failed", 500, "failed")])
def test_what_an_engine_refuses_is_the_callers_and_what_fails_is_ours(kind: Any, status: int, code: str) -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", "a")
        await run_pending()
        bench.links[0].heard(Report(bench.links[0].tasks[0].id, kind, "why"))
        refusal = await refused(work)
        assert (refusal.status, refusal.code, refusal.message) == (status, code, "why")

    in_loop(main)


def test_requests_of_an_engine_that_ends_go_to_another_once() -> None:
    async def main() -> None:
        bench = await Bench(2).loaded()
        works = [bench.ask("me", text) for text in "ab"]
        await run_pending()
        first, second = bench.links
        first.heard(Report(0, "closed", "exit code 1"))
        await run_pending()
        assert sorted(second.texts()) == ["a", "b"]
        assert not bench.pool.ready
        await asyncio.sleep(0.01)
        bench.links[2].heard(Report(0, "loaded", {}))  # the one in its place
        await run_pending()
        assert bench.pool.ready
        second.answer("b")
        second.heard(Report(0, "closed", "exit code 1"))
        assert await works[1] == ["B"]
        refusal = await refused(works[0])
        assert (refusal.status, refusal.code) == (503, "engine_ended")
        assert bench.links[2].texts() == []

    in_loop(main)


def test_an_engine_that_does_not_report_is_not_ready_and_then_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SILENT_SECONDS", 0.05)

    async def main() -> None:
        bench = await Bench(silence=2.0).loaded()
        work = bench.ask("me", "a")
        while bench.pool.ready:
            await asyncio.sleep(0.01)
        assert not bench.links[0].killed
        while not bench.links[0].killed:
            await asyncio.sleep(0.01)
        while len(bench.links) < 2:
            await asyncio.sleep(0.01)
        bench.links[1].heard(Report(0, "loaded", {}))
        await run_pending()
        bench.links[1].answer("a")
        assert await work == ["A"]
        assert "engine_silent" in bench.logged

    in_loop(main)


def test_a_reload_changes_engines_without_a_gap() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        model = Model("m", bench.pool)
        before = bench.ask("me", "a")
        await run_pending()
        reloading = asyncio.ensure_future(model.reload(new := bench.new_pool()))
        again = asyncio.ensure_future(model.reload(bench.new_pool()))
        await run_pending()
        assert model.pool is bench.pool
        assert len(bench.links) == 2, "one reload at a time"
        bench.links[1].heard(Report(0, "loaded", {}))
        await run_pending()
        assert model.pool is new
        assert not bench.links[0].closed
        bench.links[0].answer("a")
        assert await before == ["A"]
        assert await reloading is True
        assert bench.links[0].closed
        again.cancel()

    in_loop(main)


def test_a_model_may_be_loaded_again_while_another_detects_a_language() -> None:
    async def main() -> None:
        benches = [await Bench().loaded(), await Bench().loaded()]
        models = [Model("m", bench.pool) for bench in benches]
        ways = [Way(models[0], Direction("en", "de")), Way(models[1], Direction("fr", "de"))]
        work = asyncio.ensure_future(object.__new__(Service)._detected(Client("me"), ways, ["a"]))
        await run_pending()
        reloading = asyncio.ensure_future(models[1].reload(benches[1].new_pool()))
        await run_pending()
        benches[1].links[1].heard(Report(0, "loaded", {}))
        assert await reloading is True
        for link, code in ((benches[0].links[0], "en"), (benches[1].links[1], "fr")):
            link.heard(Report(1, "done", [{code: 0.5}]))
            await run_pending()
        assert await work == [{"en": 0.5, "fr": 0.5}]

    in_loop(main)


def test_a_reload_that_fails_keeps_what_there_is() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        model = Model("m", bench.pool)
        reloading = asyncio.ensure_future(model.reload(bench.new_pool()))
        await run_pending()
        bench.links[1].heard(Report(0, "closed", "no such folder"))
        assert await reloading is False
        assert model.pool is bench.pool
        work = bench.ask("me", "a")
        await run_pending()
        bench.links[0].answer("a")
        assert await work == ["A"]

    in_loop(main)
