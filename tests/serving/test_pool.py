"""Who waits, who is decoded, and what becomes of those whose engine, client or patience ends."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from limelight.child import KILLED
from limelight.serving import pool
from limelight.serving.fair_queue import QueueRate
from limelight.serving.limits import Limits
from limelight.serving.links import Link, ReportCallback
from limelight.serving.pool import SHORT_CHARACTERS, SHORT_SENTENCES, WINDOW, Pool, Sentence
from limelight.serving.refusal import Refusal
from limelight.serving.tasks import Report, Task


class FakeLink(Link):
    """Keeps what it is given; the test says what it reports."""

    def __init__(self, heard: ReportCallback) -> None:
        self.heard = heard
        self.tasks: list[Task] = []
        self.closed = self.killed = False

    def send(self, task: Task) -> None:
        self.tasks.append(task)

    def close(self) -> None:
        self.closed = True

    def kill(self) -> None:
        self.killed = True
        self.heard(Report(0, "closed", "killed"))

    def join(self, seconds: float) -> None:
        pass

    def texts(self) -> list[str]:
        return [task.text for task in self.tasks if task.kind not in ("cancel", "ping")]

    def canceled(self) -> list[int]:
        return [task.id for task in self.tasks if task.kind == "cancel"]

    def answer(self, *texts: str) -> None:
        for task in self.tasks:
            if task.text in texts:
                self.heard(Report(task.id, "done", task.text.upper()))


class Bench:
    """A pool and the links that it has made."""

    def __init__(self, engines: int = 1, **limits: Any) -> None:
        self.links: list[FakeLink] = []
        self.logged: list[str] = []
        self.pool = Pool(self.new_link, engines, Limits(**limits), lambda event, **_: self.logged.append(event))

    def new_link(self, heard: ReportCallback) -> FakeLink:
        self.links.append(FakeLink(heard))
        return self.links[-1]

    async def loaded(self) -> "Bench":
        self.pool.start()
        for link in self.links:
            link.heard(Report(0, "loaded", {"directions": []}))
        await run_pending()
        return self

    def ask(self, client: str, *texts: str) -> asyncio.Task[list[Any]]:
        return asyncio.ensure_future(self.pool.run(client, [Sentence("translate", text) for text in texts]))


async def run_pending() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def in_loop(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


async def refused(work: asyncio.Task[Any]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value


def test_results_come_in_the_order_of_the_sentences() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", "a", "b", "c")
        await run_pending()
        for text in "cab":
            bench.links[0].answer(text)
        assert await work == ["A", "B", "C"]
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)
        assert bench.links[0].canceled() == []
        assert await bench.ask("me") == []

    in_loop(main)


def test_a_request_of_many_sentences_takes_few_turns_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reports come at one time, as those of a batch do."""
    run, turns, found = asyncio.Handle._run, list[asyncio.Handle](), list[int]()

    def counted(self: asyncio.Handle) -> None:
        turns.append(self)
        run(self)

    async def main() -> None:
        bench = await Bench().loaded()
        for number in (1, 40):
            texts = [str(each) for each in range(number)]
            work = bench.ask("me", *texts)
            await run_pending()
            turns.clear()
            bench.links[0].answer(*texts)
            assert await work == texts
            found.append(len(turns))
            bench.links[0].tasks.clear()

    monkeypatch.setattr(asyncio.Handle, "_run", counted)
    in_loop(main)
    assert found[1] <= found[0] <= 5


def test_a_report_that_cannot_be_taken_harms_no_other() -> None:
    def fails(*_: object) -> None:
        raise ValueError

    async def main() -> None:
        bench = await Bench().loaded()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        shown = asyncio.ensure_future(bench.pool.run("me", [Sentence("translate", "a")], fails))
        other = bench.ask("other", "b")
        await run_pending()
        first, second = bench.links[0].tasks
        bench.links[0].heard(Report(first.id, "partial", ["A", "A"]))
        bench.links[0].heard(Report(second.id, "done", "B"))
        assert await other == ["B"]
        shown.cancel()

    in_loop(main)


def test_clients_take_turns_for_the_engine_and_short_requests_have_places_of_their_own() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        greedy = bench.ask("greedy", *(f"g{number}" for number in range(3 * WINDOW)))
        await run_pending()
        modest = bench.ask("modest", *(f"m{number}" for number in range(SHORT_SENTENCES + 1)))
        await run_pending()
        link = bench.links[0]
        assert link.texts() == [f"g{number}" for number in range(WINDOW)]
        link.answer("g0", "g1")
        await run_pending()
        assert link.texts()[WINDOW:] == [f"g{WINDOW}", "m0"]
        short = bench.ask("greedy", "s")
        await run_pending()
        assert link.texts()[-1] == "s", "it waits for none of the long ones"
        assert [task.long for task in link.tasks] == [True] * (WINDOW + 2) + [False]
        link.answer("s")
        assert await short == ["S"]
        few = bench.ask("greedy", "x" * SHORT_CHARACTERS, "y")
        await run_pending()
        assert "y" not in link.texts(), "it is long by its characters"
        for each in (greedy, modest, few):
            each.cancel()

    in_loop(main)


def test_engines_share_the_sentences() -> None:
    async def main() -> None:
        bench = await Bench(engines=2).loaded()
        work = bench.ask("me", *map(str, range(10)))
        await run_pending()
        assert [len(link.texts()) for link in bench.links] == [5, 5]
        for link in bench.links:
            link.answer(*map(str, range(10)))
        assert await work == list(map(str, range(10)))

    in_loop(main)


def test_a_full_queue_refuses_and_one_client_cannot_fill_it() -> None:
    async def main() -> None:
        bench = await Bench(queue=8, client_queue=6).loaded()
        filling = bench.ask("other", *["x"] * 6)
        await run_pending()
        for _ in range(WINDOW // 6):
            bench.ask("other", *["x"] * 6)
            await run_pending()
        await run_pending()
        assert bench.pool.decoding == WINDOW
        waiting = bench.pool.waiting
        assert 0 < waiting <= 6
        refusal = await refused(bench.ask("other", *["x"] * 6))
        assert (refusal.status, refusal.code) == (429, "too_many_requests")
        assert 1 <= (refusal.retry_after or 0) <= 30
        modest = bench.ask("modest", "m")
        await run_pending()
        assert not modest.done()
        refusal = await refused(bench.ask("third", *["x"] * 6))
        assert (refusal.status, refusal.code) == (503, "overloaded")
        filling.cancel()
        modest.cancel()

    in_loop(main)


def test_who_leaves_is_taken_out_of_queue_and_engine() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", *map(str, range(WINDOW + 5)))
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (5, WINDOW)
        work.cancel()
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)
        link = bench.links[0]
        assert len(link.canceled()) == WINDOW == len(link.texts())
        link.answer("0")  # which comes too late, and harms nobody
        await run_pending()

    in_loop(main)


def test_the_deadline_counts_the_queue_and_stops_the_work() -> None:
    async def main() -> None:
        bench = await Bench(deadline=0.05).loaded()
        work = bench.ask("me", *map(str, range(WINDOW + 5)))
        refusal = await refused(work)
        assert (refusal.status, refusal.code) == (504, "deadline")
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)
        assert len(bench.links[0].canceled()) == WINDOW

    in_loop(main)


def test_what_is_overdue_is_not_given_to_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop is busy with what many requests of one moment leave: meanwhile the next ones are overdue, too."""

    async def test() -> None:
        bench = await Bench(deadline=0.06).loaded()
        first = bench.ask("a", *(f"a{number}" for number in range(WINDOW)))
        await asyncio.sleep(0.03)
        other = bench.ask("b", *(f"b{number}" for number in range(WINDOW)))
        send = bench.links[0].send

        def sends_slowly(task: Task) -> None:
            if len(bench.links[0].tasks) == WINDOW:  # the first that is canceled
                time.sleep(0.05)
            send(task)

        monkeypatch.setattr(bench.links[0], "send", sends_slowly)
        assert [(await refused(work)).code for work in (first, other)] == ["deadline", "deadline"]
        assert {text[0] for text in bench.links[0].texts()} == {"a"}
        assert len(bench.links[0].canceled()) == WINDOW
        assert (bench.pool.waiting, bench.pool.decoding) == (0, 0)

    in_loop(test)


def test_who_waits_too_long_for_a_turn_is_told() -> None:
    async def main() -> None:
        bench = await Bench(queue_seconds=0.05).loaded()
        first = bench.ask("me", *map(str, range(WINDOW)))
        await run_pending()
        refusal = await refused(bench.ask("other", *["x"] * (SHORT_SENTENCES + 1)))
        assert (refusal.status, refusal.code) == (503, "queue_timeout")
        assert not first.done()
        assert bench.pool.waiting == 0
        first.cancel()

    in_loop(main)


def test_what_an_engine_refuses_is_the_callers_and_what_fails_is_ours() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        for kind, status in (("refused", 400), ("failed", 500)):
            work = bench.ask("me", kind, "other")
            await run_pending()
            task = next(each for each in bench.links[0].tasks if each.text == kind)
            bench.links[0].heard(Report(task.id, kind, "why"))  # type: ignore[arg-type]
            refusal = await refused(work)
            assert (refusal.status, refusal.message) == (status, "why")
            assert bench.pool.decoding == 0, "the other sentence is taken back"

    in_loop(main)


def test_an_engine_that_ends_is_replaced_and_its_sentences_go_to_another() -> None:
    async def main() -> None:
        bench = await Bench(engines=2).loaded()
        works = [bench.ask("me", text) for text in "ab"]
        await run_pending()
        dead, alive = bench.links
        dead.heard(Report(0, "closed", "killed"))
        await run_pending()
        assert sorted(alive.texts()) == ["a", "b"]
        assert not bench.pool.ready
        assert bench.pool.usable
        alive.answer("a", "b")
        assert [await work for work in works] == [["A"], ["B"]]
        await asyncio.sleep(0.05)
        assert len(bench.links) == 3
        bench.links[2].heard(Report(0, "loaded", {}))
        await run_pending()
        assert bench.pool.ready

    in_loop(main)


def test_what_the_only_engine_had_waits_for_the_next_one_in_its_order() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        works = [bench.ask("me", *texts) for texts in ("ab", "cd")]
        await run_pending()
        bench.links[0].heard(Report(0, "closed", "killed"))
        await asyncio.sleep(0.05)
        works.append(bench.ask("me", "e"))
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (5, 0)
        bench.links[1].heard(Report(0, "loaded", {}))
        await run_pending()
        assert bench.links[1].texts() == list("abcde")
        bench.links[1].answer(*"abcde")
        assert [await work for work in works] == [["A", "B"], ["C", "D"], ["E"]]

    in_loop(main)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ValueError: /home", "the engines that translated this have ended: try again later"),
        (KILLED, f"the engines that translated this were {KILLED}: try again later, or ask the operator for more "
                 "memory or fewer --engines"),
    ],
)  # fmt: skip
def test_a_sentence_that_ends_two_engines_ends_no_third(reason: str, message: str) -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", "poison")
        for number in range(2):
            await run_pending()
            assert bench.links[number].texts() == ["poison"]
            bench.links[number].heard(Report(0, "closed", reason))
            await asyncio.sleep(0.05)
            bench.links[number + 1].heard(Report(0, "loaded", {}))
        refusal = await refused(work)
        assert (refusal.status, refusal.code, refusal.retry_after) == (503, "engine_ended", 5)
        assert bench.links[2].texts() == []
        assert refusal.message == message

    in_loop(main)


def test_an_engine_that_does_not_report_is_killed_and_what_it_had_goes_to_another() -> None:
    async def main() -> None:
        bench = await Bench(engines=2, silence=0.2).loaded()
        stuck, other = bench.links
        works = [bench.ask("me", text) for text in "ab"]
        for _ in range(40):
            await asyncio.sleep(0.02)
            other.heard(Report(0, "pong"))
            if stuck.killed:
                break
        await run_pending()
        assert (stuck.killed, other.killed) == (True, False)
        assert "engine_silent" in bench.logged
        other.answer("a", "b")
        assert [await work for work in works] == [["A"], ["B"]]
        bench.pool.close()

    in_loop(main)


def test_an_engine_is_not_ready_while_it_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        monkeypatch.setattr(pool, "SILENT_SECONDS", 1e-9)
        bench = await Bench(silence=0.2).loaded()
        assert bench.pool.ready
        await asyncio.sleep(0.1)
        assert [task.kind for task in bench.links[0].tasks] == ["ping"]
        assert not bench.pool.ready
        bench.links[0].heard(Report(0, "pong"))
        await run_pending()
        assert bench.pool.ready
        bench.pool.close()

    in_loop(main)


def test_explanations_are_given_to_an_engine_one_at_a_time() -> None:
    """It computes each in a single step, and others wait no longer than for one."""

    async def main() -> None:
        bench = await Bench().loaded()
        asked = [asyncio.ensure_future(bench.pool.run("a", [Sentence("explain", str(n))])) for n in range(64)]
        await run_pending()
        short = bench.ask("b", "x")
        await run_pending()
        link = bench.links[0]
        assert link.texts() == ["0", "x"]
        link.answer("0", "x")
        await run_pending()
        assert link.texts() == ["0", "x", "1"]
        assert (await short, await asked[0]) == (["X"], ["0"])
        for each in asked:
            each.cancel()

    in_loop(main)


def test_requests_wait_while_the_model_loads_and_are_refused_when_it_cannot() -> None:
    async def main() -> None:
        bench = Bench(queue_seconds=0.01)
        bench.pool.start()
        assert bench.logged == ["loading"]
        assert bench.pool.loading
        assert not bench.pool.ready
        work = bench.ask("me", "x")
        await asyncio.sleep(0.05)
        assert not work.done()
        bench.links[0].heard(Report(0, "closed", "there is no such model"))
        assert (await refused(work)).status == 503
        assert bench.pool.trouble == "there is no such model"
        assert bench.pool.settled.is_set()
        assert (await refused(bench.ask("me", "x"))).status == 503
        bench.pool.close()

    in_loop(main)


def test_a_reload_changes_engines_without_a_gap() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = bench.ask("me", "old")
        await run_pending()
        bench.pool.reload(bench.new_link)
        old, new = bench.links
        during = bench.ask("me", "during")
        await run_pending()
        assert old.texts() == ["old", "during"]
        new.heard(Report(0, "loaded", {}))
        await run_pending()
        assert not old.closed, "it still has work"
        after = bench.ask("me", "after")
        await run_pending()
        assert new.texts() == ["after"]
        old.answer("old", "during")
        new.answer("after")
        assert [await each for each in (work, during, after)] == [["OLD"], ["DURING"], ["AFTER"]]
        await run_pending()
        assert old.closed
        old.heard(Report(0, "closed", ""))
        await run_pending()
        assert bench.pool.ready
        assert len(bench.links) == 2

    in_loop(main)


def test_further_reloads_end_the_engines_that_still_load() -> None:
    """However often it is reloaded, there are at most twice as many engines."""

    async def main() -> None:
        bench = await Bench().loaded()
        for _ in range(3):
            bench.pool.reload(bench.new_link)
            await run_pending()
        old, first, second, new = bench.links
        assert [link.killed for link in (old, first, second, new)] == [False, True, True, False]
        assert "reload_failed" not in bench.logged
        new.heard(Report(0, "loaded", {}))
        await run_pending()
        assert old.closed
        assert not new.closed
        old.heard(Report(0, "closed", ""))
        await run_pending()
        assert (len(bench.links), bench.pool.ready) == (4, True)

    in_loop(main)


def test_a_reload_that_fails_keeps_what_there_is() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        bench.pool.reload(bench.new_link)
        bench.links[1].heard(Report(0, "closed", "the folder is damaged"))
        await run_pending()
        assert "reload_failed" in bench.logged
        work = bench.ask("me", "x")
        await run_pending()
        bench.links[0].answer("x")
        assert await work == ["X"]
        assert not bench.links[0].closed
        assert bench.pool.ready
        assert len(bench.links) == 2

    in_loop(main)


def test_a_reload_of_which_one_engine_fails_changes_nothing() -> None:
    """The new engines are given no work until all of them are there."""

    async def main() -> None:
        bench = await Bench(engines=2).loaded()
        bench.pool.reload(bench.new_link)
        old, (good, bad) = bench.links[:2], bench.links[2:]
        good.heard(Report(0, "loaded", {}))
        await run_pending()
        works = [bench.ask("me", text) for text in "abc"]
        await run_pending()
        assert good.texts() == []
        bad.heard(Report(0, "closed", "no memory"))
        await run_pending()
        assert good.closed
        good.heard(Report(0, "closed", ""))
        for link in old:
            link.answer(*"abc")
        assert [await work for work in works] == [["A"], ["B"], ["C"]]
        assert bench.logged.count("reload_failed") == 1
        await asyncio.sleep(0.05)
        assert (len(bench.links), bench.pool.ready) == (4, True)
        bench.pool.reload(bench.new_link)
        for link in bench.links[4:]:
            link.heard(Report(0, "loaded", {}))
        await run_pending()
        assert all(link.closed for link in old)
        assert not any(link.closed for link in bench.links[4:])

    in_loop(main)


def test_who_would_wait_too_long_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the pace of what waits. Another client, whose turn comes sooner, is not; nor is anyone when nothing waits."""

    async def main() -> None:
        bench = await Bench(queue_seconds=2.0).loaded()
        monkeypatch.setattr(QueueRate, "seconds", lambda self, now: 0.1 if self._times else 0.0)
        busy = [bench.ask("me", *"abcdefgh") for _ in range(WINDOW // 8)]
        await run_pending()
        waiting = [bench.ask("me", *"abcdefgh") for _ in range(2)]
        await run_pending()
        assert (bench.pool.waiting, bench.pool.decoding) == (16, WINDOW)
        bench.pool._rates["short"].taken(0.0)
        refusal = await refused(bench.ask("me", *"abcdef"))
        assert (refusal.status, refusal.code, refusal.retry_after) == (503, "overloaded", 2)
        assert "about 2.1 s, and at most 2" in refusal.message
        work = [bench.ask("me", *"abcde"), bench.ask("other", *"abcdefgh")]
        await run_pending()
        assert not any(each.done() for each in work)
        while bench.pool.decoding:
            bench.links[0].answer(*"abcdefgh")
            await run_pending()
        assert len(await asyncio.gather(*busy, *waiting, *work)) == len(busy) + 4
        assert bench.pool._seconds_per_item("short") == 0, "nothing waits"

    in_loop(main)


def test_a_short_request_that_has_begun_is_not_delayed_by_the_next_ones_of_its_client() -> None:
    async def main() -> None:
        bench = await Bench().loaded()
        work = [bench.ask("me", *(f"{number}{letter}" for letter in "abcdefgh")) for number in range(WINDOW // 8 + 2)]
        await run_pending()
        bench.links[0].answer(*(f"0{letter}" for letter in "abcdefgh"))
        await run_pending()
        assert bench.links[0].texts()[WINDOW:] == [f"{WINDOW // 8}{letter}" for letter in "abcdefgh"]
        for each in work:
            each.cancel()

    in_loop(main)
