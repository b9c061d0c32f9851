"""Engines at work on jobs: what they find, who hears of their failures, and that nothing global stays changed."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Thread

import pytest
import torch

from limelight.decoding.engine import Engine, Outcome
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.errors import UserError
from limelight.pipelines import scheduler
from limelight.pipelines.job import Job, Steps
from limelight.pipelines.scheduler import (
    MAX_ENGINES,
    Queue,
    Scheduler,
    run,
)
from tests.decoding.fakes import TableModel, random_model

THREADS = 6
PATIENCE = 60
"""Seconds after which an engine that nobody stops gives up, so that a test fails instead of standing still."""


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before, interval = torch.get_num_threads(), sys.getswitchinterval()
    torch.set_num_threads(THREADS)
    yield
    assert (torch.get_num_threads(), sys.getswitchinterval()) == (THREADS, interval)  # in every test
    torch.set_num_threads(before)


BEAM = SearchSettings(beam_size=3, n_best=2, length_penalty=0.7, patience=1.0)


def requests(count: int) -> list[Request]:
    """Sources of one to seven tokens, whose first one is their place."""
    return [
        Request(
            [place, *torch.randint(1, 90, (place % 7,)).tolist(), 0],
            2 + place % 11,
            BEAM,
            (3,) if place % 5 == 0 else (),
        )
        for place in range(count)
    ]


def once(request: Request) -> Steps[list[Hypothesis]]:
    return (yield request)


def jobs(given: Sequence[Request], each: int = 1) -> list[Job]:
    """Jobs of so many sentences."""
    return [Job(map(once, given[begin : begin + each]), list) for begin in range(0, len(given), each)]


def searched(given: Sequence[Request], model: TableModel, threads: int | None, each: int = 1) -> list[list[Hypothesis]]:
    """What is found for each request."""
    working = jobs(given, each)
    run(working, searching(model), threads=threads)
    return [found for job in working for found in job.result or []]


def searching(model: TableModel) -> Callable[[], Engine]:
    return lambda: Engine(model, batch_tokens=100)


class Slow(Engine):
    """Finds something for one request at each step, in order."""

    born: list["Slow"]

    def __init__(self) -> None:
        self.places: list[int] = []
        self.found, self.threads, self.interval = 0, 0, 0.0
        self.born.append(self)

    def submit(self, request: Request, *, first: bool = False) -> int:
        self.places.append(request.source[0])
        return len(self.places) - 1

    @property
    def waiting(self) -> int:
        return 0

    @property
    def busy(self) -> bool:
        return self.found < len(self.places)

    def step(self) -> list[Outcome]:
        self.found += 1
        self.threads, self.interval = torch.get_num_threads(), sys.getswitchinterval()
        time.sleep(1e-4)
        return [Outcome(self.found - 1, [Hypothesis((), 0.0, 0.0, True)])]


class Failing(Slow):
    """The one that has the request at place 0 fails at its first step; others find nothing until they are stopped."""

    error: BaseException
    end = 0.0

    def step(self) -> list[Outcome]:
        if 0 in self.places:
            raise self.error
        assert time.monotonic() < Failing.end, "nobody stopped it"
        time.sleep(1e-4)
        return []


@pytest.fixture(autouse=True)
def nobody_born(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow.born = []
    Failing.end = time.monotonic() + PATIENCE
    monkeypatch.setattr(scheduler, "SENTENCES_EACH", 2)


@pytest.mark.parametrize("each", [1, 5])
@pytest.mark.parametrize("threads", [None, 1, 2, 3])
def test_any_number_of_engines_finds_the_same(
    seed: int, threads: int | None, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where requests are made a few at a time."""
    monkeypatch.setattr(scheduler, "WINDOW", 11)
    model, given = random_model(7, 11), requests(53)
    alone = [searched([request], model, None)[0] for request in given]
    assert searched(given, model, threads, each) == alone


def test_the_next_search_of_a_sentence_joins_after_those_that_wait_and_before_those_of_a_service() -> None:
    """So that those of several sentences are decoded together, and so that a text of a service is complete soon."""
    seen: list[int] = []

    class Watching(Engine):
        def submit(self, request: Request, *, first: bool = False) -> int:
            seen.append(-request.source[0] if first else request.source[0])
            return super().submit(request, first=first)

    def twice(request: Request) -> Steps[int]:
        for number in range(3):
            yield Request([request.source[0] + 10 * number, 0], 3)
        return len(seen)

    def working() -> list[Job]:
        return [*jobs(given[1:]), Job([twice(given[0])], list)]

    given = [Request([place, 0], 3) for place in range(1, 5)]
    model = random_model(7, 11)
    run(working(), lambda: Watching(model, batch_tokens=2), threads=None)
    assert seen == [2, 3, 4, 1, 11, 21]
    seen.clear()
    service = Scheduler(Watching(model, batch_tokens=2))
    for number, job in enumerate(working()):
        service.submit(number, [job])
    while service.busy:
        service.step()
    assert seen == [2, 3, 4, 1, -11, -21]
    engine = Engine(model, batch_tokens=2)
    numbers = [engine.submit(given[0]), engine.submit(given[1]), engine.submit(given[2], first=True)]
    found = [outcome.id for _ in range(12) for outcome in engine.step()]
    assert found.index(numbers[2]) < found.index(numbers[0]) < found.index(numbers[1])


def test_a_sentence_alone_is_decoded_in_one_thread() -> None:
    for count in (1, 2):
        run(jobs(requests(count)), Slow, device=torch.device("cuda"), threads=THREADS)
    assert [engine.threads for engine in Slow.born] == [1, THREADS]


@pytest.mark.parametrize("count", [1, 20])
def test_without_threads_of_its_own_a_call_changes_nothing(count: int) -> None:
    """Not for a moment: each step sees the settings of whoever owns the process."""
    torch.set_num_threads(THREADS - 1)
    try:
        run(jobs(requests(count)), Slow)
        assert [engine.threads for engine in Slow.born] == [THREADS - 1]
        assert [engine.interval for engine in Slow.born] == [sys.getswitchinterval()]
    finally:
        torch.set_num_threads(THREADS)


def test_calls_that_own_the_process_wait_for_one_another() -> None:
    """Two at once, each with two engines: what the second one puts back is not what the first one has set."""
    interval, given = sys.getswitchinterval(), [jobs(requests(4)) for _ in range(3)]
    others = [Thread(target=run, args=(each, Slow), kwargs={"threads": 2}) for each in given]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert all(job.done for each in given for job in each)
    assert {engine.threads for engine in Slow.born if engine.places} == {1}
    seen: list[int] = []
    fresh = Thread(target=lambda: seen.append(torch.get_num_threads()))  # a new thread gets what the process has
    fresh.start()
    fresh.join()
    assert (seen, sys.getswitchinterval()) == ([THREADS], interval)


def test_towards_the_end_engines_take_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all jobs are made. The longest requests of a window come first."""
    monkeypatch.setattr(scheduler, "LAST", 3)
    monkeypatch.setattr(scheduler, "WINDOW", 40)
    queue = Queue(jobs(requests(60)))
    queue.engines = 2
    taken = [queue.take(most, wait=True) for most in (30, 30, *[14] * 9)]
    assert [len(each) for each in taken] == [30, 10, 5, 3, 3, 3, 3, 3, 0, 0, 0]
    assert sum(map(len, taken)) == 60
    lengths = [len(ask.request.source) for some in taken[:2] for _, ask in some]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("threads", [None, 2])
def test_jobs_are_made_a_window_at_a_time(threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "WINDOW", 10)
    monkeypatch.setattr(scheduler, "AHEAD", 4)
    made = list[Job]()

    def coming() -> Iterator[Job]:
        for place, job in enumerate(jobs(requests(40))):
            assert place < 10 or Slow.born
            made.append(job)
            yield job

    run(coming(), Slow, threads=threads)
    assert len(made) == 40
    assert all(job.done for job in made)


def test_a_failure_where_jobs_are_made_stops_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "WINDOW", 10)

    def broken() -> Iterator[Job]:
        yield from jobs([Request([place, 5], 3) for place in range(1, 11)])
        raise UserError("text 14 is too long")

    Failing.error = ValueError("never")
    with pytest.raises(UserError, match="text 14"):
        run(broken(), Failing, threads=2)


def test_engines_share_the_threads() -> None:
    run(jobs(requests(30)), Slow, threads=THREADS)
    assert len(Slow.born) == MAX_ENGINES
    assert {engine.threads for engine in Slow.born if engine.places} == {THREADS // MAX_ENGINES}
    intervals = [engine.interval for engine in Slow.born if engine.places]
    assert intervals == [pytest.approx(scheduler.SWITCH, rel=0.1)] * len(intervals)


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize("error", [ValueError("lost"), KeyboardInterrupt(), SystemExit(3)])
def test_a_failure_reaches_the_caller_and_stops_the_others(error: BaseException, threads: int | None) -> None:
    Failing.error = error
    given = [Request([place, *[5] * (8 - place % 4)], 3) for place in range(4)]
    with pytest.raises(type(error)) as caught:
        run(jobs(given), Failing, threads=threads)
    assert caught.value is error
