"""One engine serves requests with different settings side by side, and each gets what it would get alone."""

import math
import random
from dataclasses import replace

import pytest
import torch

from limelight.decoding.constraints import Phrase
from limelight.decoding.engine import ROWS, SOURCES, Engine, Outcome
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.errors import RunError, UserError
from limelight.layers.embedding import LearnedPositions
from tests.decoding.decode import decode_batch
from tests.decoding.fakes import TableModel, log_probabilities, random_model

KINDS, VOCABULARY = 23, 7


def random_settings() -> SearchSettings:
    """Any search there is, each setting drawn for itself."""
    rules = random.choice(((), (), (("no_repeat_ngram", 2),), (("repetition_penalty", 1.5),)))
    if random.random() < 0.3:
        sampling = Sampling(
            temperature=random.choice((0.7, 1.0, 1.5)),
            top_k=random.choice((0, 3)),
            top_p=random.choice((0.8, 1.0)),
            seed=random.randint(0, 99),
        )
        return SearchSettings(n_best=random.choice((1, 2)), sampling=sampling, rules=rules)
    beam_size = random.choice((1, 2, 4))
    return SearchSettings(
        beam_size=beam_size,
        n_best=random.randint(1, beam_size),
        length_penalty=random.choice((0.0, 0.6, 1.0, 2.0)),
        length_offset=random.choice((0.0, 5.0)),
        patience=random.choice((0.5, 1.0, math.inf)),
        prune=random.choice((1.0, 4.0, math.inf)),
        rules=rules,
    )


def random_request(number: int) -> Request:
    settings = random_settings()
    form = tuple(random.choices(range(1, VOCABULARY), k=random.choice((1, 2))))
    return Request(
        [random.randrange(KINDS)] + [1] * random.randint(0, 8),
        random.randint(0, 12),
        settings,
        tuple(random.choices(range(1, VOCABULARY), k=random.choice((0, 0, 1, 4)))),
        substream=(number,),
        phrases=() if settings.sampling or random.random() < 0.6 else (Phrase((form,)),),
    )


def drained(engine: Engine) -> list[Outcome]:
    outcomes = []
    while engine.busy:
        outcomes += engine.step()
    return outcomes


@pytest.mark.parametrize("budget", [1, 40, 10_000])
def test_whatever_is_asked_beside_it_each_gets_what_it_gets_alone(seed: int, budget: int) -> None:
    random.seed(seed)
    model, requests = random_model(KINDS, VOCABULARY), [random_request(number) for number in range(30)]
    engine, found, waiting = Engine(model, batch_tokens=budget), {}, list(requests)
    while waiting or engine.busy:
        for _ in range(min(random.randint(0, 4), len(waiting))):
            engine.submit(waiting.pop(0))
        found.update({number: hypotheses for number, hypotheses, error in engine.step() if error is None})
    assert len({(each.width, each.settings.sampling is None) for each in requests}) > 3
    for number, request in enumerate(requests):
        assert found[number] == decode_batch(model, [request])[0]


def test_requests_of_one_width_take_their_steps_together(seed: int) -> None:
    """Greedy and sampled ones share a lane: a step of the engine is one of the model for each width."""
    model = random_model(KINDS, VOCABULARY)
    model.logits[..., 0] = -60
    engine = Engine(model)
    for kind in range(12):
        sampling = Sampling(seed=kind) if kind % 4 == 1 else None
        beam_size = (1, 1, 2, 3)[kind % 4]
        engine.submit(Request([kind], 5, SearchSettings(beam_size=beam_size, sampling=sampling)))
    engine.step()
    assert sorted(model.rows_read) == [6, 2 * 3, 3 * 3]
    assert (len(in_lanes(engine)), engine.waiting) == (12, 0)


def test_a_short_request_does_not_wait_for_a_long_one(seed: int) -> None:
    """Of another width too: it ends after as many steps as it has tokens, whatever the others do."""
    model = random_model(KINDS, VOCABULARY)
    model.logits[..., 0] = -60
    engine = Engine(model)
    long = [engine.submit(Request([1], 90, SearchSettings(beam_size=beam_size))) for beam_size in (1, 2, 3)]
    for _ in range(7):
        assert engine.step() == []
    short = {engine.submit(Request([2], 3, SearchSettings(beam_size=beam_size))) for beam_size in (1, 3, 5)}
    ended = [{outcome.id for outcome in engine.step()} for _ in range(4)]
    assert ended == [set(), set(), set(), short]
    assert len(in_lanes(engine)) == len(long)


# ---- capacity


@pytest.mark.parametrize("budget", [30, 200, 10**9])
def test_the_lanes_share_one_budget(seed: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROWS, "cpu", 40)
    monkeypatch.setitem(SOURCES, "cpu", 19)
    random.seed(seed)
    model, requests = random_model(KINDS, VOCABULARY), [random_request(number) for number in range(80)]
    engine = Engine(model, batch_tokens=budget)
    numbers = {engine.submit(request): request for request in requests}
    most = decided = 0
    while engine.busy:
        leaving = [outcome.id for outcome in engine.step()]
        active = [numbers[number] for number in (*leaving, *in_lanes(engine))]
        assert len(in_lanes(engine)) == len(active) - len(leaving)
        lanes = [[each for each in active if each.width == width] for width in {each.width for each in active}]
        tokens = sum(each[0].width * len(each) * max(len(one.source) for one in each) for each in lanes)
        assert len(active) == 1 or (tokens <= budget and len(active) <= 19)
        assert sum(request.width for request in active) <= 40
        most, decided = max(most, len(active)), decided + len(leaving)
        assert engine.waiting + len(in_lanes(engine)) + decided == 80
    assert most > 1
    assert most >= 9 or budget < 10**9


def in_lanes(engine: Engine) -> list[int]:
    return [entry.id for lane in engine._lanes.values() for entry in lane.entries.values()]


# ---- cancelling


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_canceled_request_has_released_its_slot_at_the_next_step(seed: int, beam_size: int) -> None:
    model = random_model(KINDS, VOCABULARY)
    model.logits[..., 0] = -60
    settings = SearchSettings(beam_size=beam_size)
    engine = Engine(model, batch_tokens=4 * beam_size)
    numbers = [engine.submit(Request([kind], 40, settings)) for kind in range(4)]
    late = engine.submit(Request([5], 2, settings))
    engine.step()
    assert (len(in_lanes(engine)), engine.waiting) == (4, 1)
    assert engine.cancel(numbers[1])
    assert len(in_lanes(engine)) == 3
    rows = len(model.rows_read)
    ended = [outcome.id for _ in range(3) for outcome in engine.step()]
    assert ended == [late]
    assert model.rows_read[rows:] == [4 * beam_size] * 3  # the state did not grow: its slot was taken
    assert not engine.cancel(numbers[1])
    assert not engine.cancel(late)
    for number in (numbers[0], numbers[2], numbers[3]):
        assert engine.cancel(number)
    assert (engine.busy, len(in_lanes(engine))) == (False, 0)


def test_who_cancels_changes_nothing_for_the_others(seed: int) -> None:
    random.seed(seed)
    model, requests = random_model(KINDS, VOCABULARY), [random_request(number) for number in range(30)]
    engine = Engine(model, batch_tokens=300)
    numbers = [engine.submit(request) for request in requests]
    given_up, found = set(), {}
    while engine.busy:
        found.update({outcome.id: outcome.hypotheses for outcome in engine.step()})
        active = [number for number in numbers if number not in found.keys() | given_up]
        if active and (not given_up or random.random() < 0.5):
            given_up.add(number := random.choice(active))
            assert engine.cancel(number)
    assert set(found) == set(numbers) - given_up
    assert given_up
    for number, hypotheses in found.items():
        assert hypotheses == decode_batch(model, [requests[number]])[0]


# ---- what there is by now


def test_tokens_can_be_followed_as_they_come(seed: int) -> None:
    """Of greedy and of sampled hypotheses: what was said token by token is what is found at the end."""
    random.seed(seed)
    model = random_model(KINDS, VOCABULARY)
    engine = Engine(model, batch_tokens=100)
    requests = {}
    for kind in range(KINDS):
        sampling = Sampling(seed=seed) if kind % 2 else None
        request = Request([kind], 12, SearchSettings(sampling=sampling), substream=(kind,))
        requests[engine.submit(request)] = request
    said: dict[int, list[int]] = {number: [] for number in requests}
    found = {}
    while engine.busy:
        found.update({outcome.id: outcome.hypotheses for outcome in engine.step()})
        for number in requests:
            latest = engine.partial(number, since=len(said[number]))
            if latest is None:
                continue
            assert len(latest.ids) == 1
            said[number] += latest.ids
            kind = requests[number].source[0]
            assert latest.log_probability == pytest.approx(math.fsum(log_probabilities(model, kind, said[number])))
            assert engine.partial(number).ids == tuple(said[number])
    for number, (path,) in found.items():
        assert path.ids == tuple(said[number])
    assert engine.partial(0) is None


# ---- errors


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_without_probabilities_fails_alone(seed: int, width: int, dtype: torch.dtype) -> None:
    """Some steps after the beginning; greedy, sampled and beam searches that stand beside it go on as if alone."""
    random.seed(seed)
    model = random_model(KINDS, VOCABULARY)
    model.logits = model.logits.to(dtype)
    requests = []
    for kind in range(12):
        sampled = width == 1 and kind % 2
        settings = SearchSettings(beam_size=width, sampling=Sampling(seed=kind) if sampled else None)
        requests.append(Request([kind], 9, settings))
    expected = [decode_batch(model, [request])[0] for request in requests]
    broken = {2, 3, 7}
    for kind in broken:
        model.logits[kind, 100:, 4] = math.nan
        model.logits[kind, :100, 0] = -60
    engine = Engine(model)
    numbers = [engine.submit(request) for request in requests]
    for number, hypotheses, error in drained(engine):
        kind = numbers.index(number)
        if kind in broken:
            assert isinstance(error, RunError)
            assert "not a number (NaN)" in str(error)
            assert hypotheses == []
        else:
            assert (hypotheses, error) == (expected[kind], None)
    assert not engine.busy


class Fragile(TableModel):
    """Cannot read a source of kind 3, and breaks in the step of a beam of two."""

    def encode(self, source, source_valid):
        if (source[:, 0] == 3).any():
            raise MemoryError("too long")
        return super().encode(source, source_valid)

    def step(self, ids, state):
        if ids.shape[1] == 2 and self.rows_read.count(ids.numel()) == 2:
            self.rows_read.clear()
            raise RuntimeError("out of memory")
        return super().step(ids, state)


def test_what_a_model_raises_is_told_to_those_it_concerns(seed: int) -> None:
    """A source that cannot be read concerns those who join with it; a step, those of its lane; the others go on."""
    model = Fragile(random_model(KINDS, VOCABULARY).logits)
    model.logits[..., 0] = -60
    engine = Engine(model)
    greedy = engine.submit(Request([1], 6))
    engine.step()
    unreadable = engine.submit(Request([3], 6))
    ((number, _, error),) = engine.step()
    assert (number, type(error)) == (unreadable, MemoryError)
    beams = {engine.submit(Request([kind], 6, SearchSettings(beam_size=2))) for kind in (4, 5)}
    wide = engine.submit(Request([4], 6, SearchSettings(beam_size=3)))
    failed = [outcome for _ in range(3) for outcome in engine.step()]
    assert {outcome.id for outcome in failed} == beams
    assert {str(outcome.error) for outcome in failed} == {"out of memory"}
    assert {outcome.id for outcome in drained(engine) if outcome.error is None} == {greedy, wide}
    engine.submit(Request([4], 1, SearchSettings(beam_size=2)))
    assert [outcome.error for outcome in drained(engine)] == [None]


GOOD = Request([1, 2], 5)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (replace(GOOD, max_tokens=-1), "max_tokens must be at least 0, not -1"),
        (replace(GOOD, source=[1, 97]), "the source has an id outside 0 to 96"),
        (replace(GOOD, source=[-1]), "the source has an id outside 0 to 96"),
        (replace(GOOD, prefix=(0,)), "the prefix forces the id 0: a token is an id from 0 to 6 other than 0, the end"),
        (replace(GOOD, prefix=(7,)), "the prefix forces the id 7"),
    ],
)
def test_a_request_that_cannot_be_searched_never_reaches_the_others(seed: int, request_: Request, message: str) -> None:
    engine = Engine(random_model(KINDS, VOCABULARY))
    engine.submit(GOOD)
    with pytest.raises(UserError, match=message):
        engine.submit(request_)
    assert engine.waiting == 1


def test_a_request_stays_within_the_positions_of_the_model(seed: int) -> None:
    model = random_model(KINDS, VOCABULARY)
    model.positions = LearnedPositions(4, longest=8)
    engine = Engine(model)
    engine.submit(Request([1] * 8, 7))
    with pytest.raises(UserError, match="the source has 9 tokens, and this model takes at most 8"):
        engine.submit(Request([1] * 9, 7))
    for beyond in (Request([1], 8), Request([1], 0, prefix=(1,) * 8)):
        with pytest.raises(UserError, match="max_tokens and the prefix must be at most 7 here, not 8"):
            engine.submit(beyond)
