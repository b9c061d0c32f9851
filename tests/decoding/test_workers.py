"""Engines side by side: what they find, who hears of their failures, and that nothing global stays changed."""

import sys
import time
from collections.abc import Callable, Iterator
from threading import Thread

import pytest
import torch

from limelight.decoding import workers
from limelight.decoding.engine import Engine, Outcome
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchSettings
from limelight.decoding.workers import MAX_WORKERS, SENTENCES_EACH, decode, settings_put_back, workers_for
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


def jobs(count: int) -> list[Request]:
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


def searching(model: TableModel) -> Callable[[], Engine]:
    return lambda: Engine(model, batch_tokens=100)


class Endless(Engine):
    """Finds something at each step, and has never done."""

    born: list["Endless"]

    def __init__(self) -> None:
        self.places: list[int] = []
        self.steps, self.threads, self.interval = 0, 0, 0.0
        self.end = time.monotonic() + PATIENCE
        self.born.append(self)

    def submit(self, request: Request) -> int:
        self.places.append(request.source[0])
        return len(self.places) - 1

    @property
    def busy(self) -> bool:
        return True

    def step(self) -> list[Outcome]:
        assert time.monotonic() < self.end, "nobody stopped it"
        self.steps += 1
        self.threads, self.interval = torch.get_num_threads(), sys.getswitchinterval()
        time.sleep(1e-4)
        return [Outcome(0, [])]


class Brief(Endless):
    """Has done after five steps."""

    @property
    def busy(self) -> bool:
        return self.steps < 5


class Failing(Endless):
    """The one that has the job at place 0 fails at its third step."""

    error: BaseException

    def step(self) -> list[Outcome]:
        if 0 in self.places and self.steps == 2:
            raise self.error
        return super().step()


class BriefThenEndless(Endless):
    """The one that has the job at place 0 has done after a step; the others never."""

    @property
    def busy(self) -> bool:
        return 0 not in self.places or self.steps < 1


@pytest.fixture(autouse=True)
def nobody_born() -> None:
    Endless.born = []


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_any_number_of_workers_finds_the_same(seed: int, count: int) -> None:
    model, given = random_model(7, 11), jobs(53)
    alone = dict(decode(given, searching(model), workers=1, threads=THREADS))
    assert sorted(alone) == list(range(53))
    found = list(decode(given, searching(model), workers=count, threads=THREADS))
    assert len(found) == 53
    assert dict(found) == alone


def test_a_sentence_alone_is_decoded_in_one_thread() -> None:
    assert len(list(decode(jobs(1), Brief, workers=1, threads=THREADS))) == 5
    assert [engine.threads for engine in Brief.born] == [1]
    assert len(list(decode(jobs(2), Brief, workers=1, threads=THREADS))) == 5
    assert [engine.threads for engine in Brief.born] == [1, THREADS]


@pytest.mark.parametrize("count", [1, 2])
def test_without_threads_of_its_own_a_call_changes_nothing(count: int) -> None:
    """Not for a moment: each step sees the settings of whoever owns the process."""
    torch.set_num_threads(THREADS - 1)
    try:
        assert len(list(decode(jobs(count), Brief))) == 5
        assert [engine.threads for engine in Brief.born] == [THREADS - 1]
        assert [engine.interval for engine in Brief.born] == [sys.getswitchinterval()]
    finally:
        torch.set_num_threads(THREADS)


def test_calls_that_own_the_process_wait_for_one_another() -> None:
    """Two at once, each with two workers: what the second one puts back is not what the first one has set."""
    interval, done = sys.getswitchinterval(), []

    def call() -> None:
        done.extend(decode(jobs(4), Brief, workers=2, threads=2))

    others = [Thread(target=call) for _ in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(done) == 3 * 2 * 5
    assert {engine.threads for engine in Brief.born} == {1}
    seen: list[int] = []
    fresh = Thread(target=lambda: seen.append(torch.get_num_threads()))  # a new thread gets what the process has
    fresh.start()
    fresh.join()
    assert (seen, sys.getswitchinterval()) == ([THREADS], interval)


def test_a_sentence_alone_that_fails_leaves_the_threads_as_they_were() -> None:
    Failing.error = ValueError("of its own")
    with pytest.raises(ValueError, match="of its own"):
        list(decode(jobs(1), Failing, workers=1, threads=THREADS))


def test_each_worker_gets_a_share_of_the_jobs_and_of_the_threads() -> None:
    assert len(list(decode(jobs(7), Brief, workers=3, threads=THREADS))) == 15
    assert sorted(sorted(engine.places) for engine in Brief.born) == [[0, 3, 6], [1, 4], [2, 5]]
    assert {engine.threads for engine in Brief.born} == {THREADS // 3}
    assert [engine.interval for engine in Brief.born] == [pytest.approx(workers.SWITCH, rel=0.1)] * 3


@pytest.mark.parametrize("count", [1, 2])
def test_the_longest_come_first(count: int) -> None:
    given = jobs(20)
    list(decode(given, Brief, workers=count, threads=THREADS))
    for engine in Brief.born:
        lengths = [len(given[place].source) for place in engine.places]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] == 8


def test_one_worker_works_in_the_thread_of_its_caller_and_as_it_is_asked() -> None:
    found = decode(jobs(3), Endless, workers=1, threads=THREADS)
    assert [next(found)[0] for _ in range(3)] == [2, 2, 2]
    (engine,) = Endless.born
    assert (engine.steps, engine.threads, engine.interval) == (3, THREADS, sys.getswitchinterval())


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("error", [ValueError("lost"), KeyboardInterrupt(), SystemExit(3)])
def test_a_failure_reaches_the_caller_and_stops_the_others(error: BaseException, number: int) -> None:
    """By the length of its source the job at place 0 is the first of a worker, which fails. The pool waits for all of
    them: if the other were not stopped, it would be what fails."""
    Failing.error = error
    given = [Request([place, *[5] * (8 - (place + number) % 4)], 3) for place in range(4)]
    with pytest.raises(type(error)) as caught:
        list(decode(given, Failing, workers=2, threads=THREADS))
    assert caught.value is error


@pytest.mark.parametrize("count", [2, 3])
def test_who_turns_away_stops_the_work(count: int) -> None:
    given = [Request([place, *[5] * (8 - place)], 3) for place in range(4)]
    found = decode(given, BriefThenEndless, workers=count, threads=THREADS)
    assert next(found) == (0, [])
    found.close()
    found = decode(given, BriefThenEndless, workers=count, threads=THREADS)
    assert next(found) == (0, [])
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt())


@pytest.mark.parametrize("count", [1, 2])
def test_a_failure_at_the_beginning_reaches_the_caller(count: int) -> None:
    def broken() -> Engine:
        raise MemoryError

    with pytest.raises(MemoryError):
        list(decode(jobs(4), broken, workers=count, threads=THREADS))


def test_no_jobs_are_no_work(seed: int) -> None:
    model = random_model(7, 11)
    assert list(decode([], searching(model), workers=1, threads=THREADS)) == []
    assert model.rows_read == []


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("count", "threads", "expected"),
    [
        (0, 8, 1),
        (1, 8, 1),
        (2 * SENTENCES_EACH - 1, 8, 1),
        (2 * SENTENCES_EACH, 8, 2),
        (1000 * SENTENCES_EACH, 1, 1),
        (1000 * SENTENCES_EACH, 3, 3),
        (1000 * SENTENCES_EACH, 64, MAX_WORKERS),
        (1000 * SENTENCES_EACH, None, 1),
    ],
)
def test_there_are_as_many_workers_as_are_worth_it(count: int, threads: int | None, expected: int, device: str) -> None:
    assert workers_for(count, torch.device(device), threads) == (expected if device == "cpu" else 1)


def test_settings_are_put_back_after_an_error_and_for_new_threads() -> None:
    before = torch.get_num_threads(), sys.getswitchinterval()

    def change_and_fail() -> None:
        with settings_put_back():
            torch.set_num_threads(before[0] + 2)
            sys.setswitchinterval(before[1] / 7)
            raise KeyError

    with pytest.raises(KeyError):
        change_and_fail()
    assert (torch.get_num_threads(), sys.getswitchinterval()) == before
    seen: list[int] = []
    fresh = Thread(target=lambda: seen.append(torch.get_num_threads()))
    fresh.start()
    fresh.join()
    assert seen == [before[0]]
