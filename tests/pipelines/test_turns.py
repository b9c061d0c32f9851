"""What is short does not wait for what is long, what is long is not starved, and no answer is another. Time is counted:
a step costs the hypotheses that it reads."""

import random

import pytest

from limelight.decoding.decode import decode_batch
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchSettings
from limelight.pipelines.scheduler import FEW_ROWS, FEW_TOKENS, SHARE, Turns
from tests.decoding.fakes import TableModel, random_model

KINDS, VOCABULARY, OVERHEAD = 23, 7, 4


class Timed(TableModel):
    """Counts what its steps cost."""

    cost = 0

    def step_some(self, ids, state, active):
        self.cost += OVERHEAD + active.rows
        return super().step_some(ids, state, active)


def timed() -> Timed:
    model = Timed(random_model(KINDS, VOCABULARY).logits)
    model.logits[..., 0] = -60
    return model


def turns_of(model: Timed) -> Turns:
    return Turns(lambda: Engine(model), clock=lambda: model.cost)


def asked(kind: int, most: int, width: int = 4) -> Request:
    return Request([kind, 1, 1], most, SearchSettings(beam_size=width))


def cost_of(turns: Turns, model: Timed, request: Request) -> int:
    """What it costs until a short request has its answer."""
    began, number = model.cost, turns.submit(request)
    while number not in [outcome.id for outcome in turns.step()]:
        pass
    return model.cost - began


def flooded(*, long: bool) -> tuple[Turns, Timed]:
    """Turns with more than enough to do."""
    model = timed()
    turns = turns_of(model)
    for number in range(400):
        turns.submit(asked(number % KINDS, 30), long=long)
    for _ in range(10):
        turns.step()
    return turns, model


def mean_cost(turns: Turns, model: Timed) -> float:
    """Of short requests, each sent when the one before has its answer."""
    return sum(cost_of(turns, model, asked(number, 10)) for number in range(12)) / 12


def test_a_short_request_takes_little_longer_beside_long_ones(seed: int) -> None:
    model = timed()
    alone = mean_cost(turns_of(model), model)
    turns, model = flooded(long=True)
    first = cost_of(turns, model, asked(1, 10))
    assert first <= alone * SHARE / (SHARE - 1) + 2 * (OVERHEAD + 256), "one full step at most before the first"
    assert mean_cost(turns, model) <= 2 * alone + OVERHEAD + FEW_ROWS


def test_control_one_engine_for_all_is_seen(seed: int) -> None:
    model = timed()
    alone = mean_cost(turns_of(model), model)
    turns, model = flooded(long=False)
    assert mean_cost(turns, model) > 4 * alone


def test_long_requests_are_not_starved(seed: int) -> None:
    """They have their share of the time while short ones come without end."""
    turns, model = flooded(long=True)
    short = {turns.submit(asked(number % KINDS, 10)) for number in range(20)}
    began, of_short = model.cost, 0
    for _ in range(600):
        before, long = model.cost, turns._turn_of_long()
        ended = {outcome.id for outcome in turns.step()} & short
        of_short += 0 if long else model.cost - before
        short = (short - ended) | {turns.submit(asked(number % KINDS, 10)) for number in ended}
    spent = model.cost - began
    assert 0.15 * spent < spent - of_short < 0.4 * spent


def test_long_ones_join_a_few_at_a_time_beside_short_ones(seed: int) -> None:
    turns, model = flooded(long=True)
    joined: list[int] = []
    encode = model.encode
    model.encode = lambda source, valid, **rest: joined.append(source.numel()) or encode(source, valid, **rest)  # type: ignore[method-assign]
    while turns.long.busy:
        if not turns.short.busy:
            turns.submit(asked(2, 30))
            joined.clear()
        turns.step()
        assert max(joined, default=0) <= FEW_TOKENS
    turns, model = flooded(long=True)
    assert turns.long.active > FEW_TOKENS / 3, "without short ones all there is room for is taken at once"


@pytest.mark.parametrize("clock", ["counted", "random"])
def test_answers_do_not_depend_on_the_turns(seed: int, clock: str) -> None:
    random.seed(seed)
    model = Timed(random_model(KINDS, VOCABULARY).logits)
    turns = Turns(lambda: Engine(model), clock=random.random if clock == "random" else lambda: model.cost)
    asks = [asked(random.randrange(KINDS), random.randrange(12), random.choice((1, 2, 4))) for _ in range(60)]
    numbers, found = {}, {}
    waiting = list(asks)
    while waiting or turns.busy:
        for request in (waiting.pop() for _ in range(min(len(waiting), random.randint(0, 5)))):
            numbers[turns.submit(request, long=random.random() < 0.5)] = request
        found.update({outcome.id: outcome.hypotheses for outcome in turns.step()})
    assert len(found) == len(numbers) == len(asks)
    for number, request in numbers.items():
        assert found[number] == decode_batch(model, [request])[0]


def test_each_is_canceled_and_shown_by_its_number(seed: int) -> None:
    turns = turns_of(timed())
    short, long = turns.submit(asked(1, 30, 1)), turns.submit(asked(2, 30, 1), long=True)
    other = turns.submit(asked(3, 30, 1), long=True)
    for _ in range(20):
        turns.step()
    assert len({number: turns.partial(number) for number in (short, long, other)}) == 3
    assert all(turns.partial(number) is not None for number in (short, long, other))
    assert turns.cancel(long)
    assert not turns.cancel(long)
    assert turns.partial(long) is None
    assert turns.partial(other) is not None
    assert turns.cancel(short)
    assert turns.cancel(other)
    assert not turns.busy
