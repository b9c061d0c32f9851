"""Requests come and go, and each gets what it would get alone: with a table, where equal means equal."""

import random
from collections.abc import Sequence

import pytest
import torch

from limelight.config import DecoderOnlyConfig, ModelConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.models.transformer.halves import DecoderOnly
from tests.decoding.decode import decode_batch
from tests.decoding.fakes import TableModel, characters, random_model

KINDS, VOCABULARY = 23, 7


class Watched(TableModel):
    """Knows which kinds stand in each step's state, free slots among them, and which were read by the encoder."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__(logits)
        self.encoded: list[list[int]] = []
        self.rows: list[list[int]] = []

    def encode(self, source, source_valid):
        self.encoded.append((source[:, 0] % len(self.logits)).tolist())
        return super().encode(source, source_valid)

    def step(self, ids, state):
        self.rows.append(state.kinds.tolist())
        return super().step(ids, state)


def watched(*, endless: bool = False, vocab: int = VOCABULARY) -> Watched:
    logits = random_model(KINDS, vocab).logits
    if endless:
        logits[..., 0] = -60
    return Watched(logits)


def searched(width: int) -> SearchSettings:
    return SearchSettings(beam_size=width, length_penalty=0.0 if width == 1 else 0.6)


def asked(kind: int, most: int, settings: SearchSettings, *, length: int = 1) -> Request:
    return Request([kind] + [1] * (length - 1), most, settings)


def alone(model: Seq2Seq, request: Request) -> list[Hypothesis]:
    return decode_batch(model, [request])[0]


def run(engine: Engine, arrivals: Sequence[tuple[int, Request]]) -> list[tuple[int, list[Hypothesis]]]:
    """Each is submitted before the step at which it arrives; for each, in the order of `arrivals`, at which step it was
    decided and what was found."""
    waiting, found, now = sorted(enumerate(arrivals), key=lambda arrival: arrival[1][0]), {}, 0
    places: dict[int, int] = {}
    while waiting or engine.busy:
        while waiting and waiting[0][1][0] <= now:
            place, (_, request) = waiting.pop(0)
            places[engine.submit(request)] = place
        for number, hypotheses, error in engine.step():
            assert error is None
            assert places[number] not in found
            found[places[number]] = now, hypotheses
        now += 1
    return [found[place] for place in range(len(arrivals))]


def at_random(requests: Sequence[Request], last: int) -> list[tuple[int, Request]]:
    return [(random.randint(0, last), request) for request in requests]


def at_once(requests: Sequence[Request]) -> list[tuple[int, Request]]:
    return [(0, request) for request in requests]


@pytest.mark.parametrize("width", [1, 4])
def test_what_stands_in_memory_is_bounded_too(seed: int, width: int) -> None:
    """A long one may join when short ones have left, but not beside as many slots as those had."""
    model, budget = watched(endless=True), 40 * width
    engine = Engine(model, batch_tokens=budget)
    for number in range(40):
        engine.submit(asked(0, 3 if number else 30, searched(width)))
    for _ in range(4):
        engine.step()
    for _ in range(10):  # one joins at each step
        engine.submit(asked(1, 0, searched(width), length=20))
        engine.step()
        assert 1 in model.rows[-1]
        assert len(model.rows[-1]) * 20 * width <= 2 * budget


def test_a_slot_that_is_free_is_taken(seed: int) -> None:
    """One leaves at each step and one waits: the state never has more rows than requests were there at once."""
    model = watched(endless=True)
    arrivals = [(0, asked(kind, kind, searched(1))) for kind in range(4)]
    arrivals += [(kind - 3, asked(kind, 3, searched(1))) for kind in range(4, 12)]
    found = run(Engine(model, batch_tokens=4), arrivals)
    assert [step for step, _ in found[4:]] == list(range(4, 12))
    assert all(len(rows) == 4 for rows in model.rows[:9])
    assert max(map(len, model.rows)) == 4


def test_free_slots_are_left_out_when_they_are_many(seed: int) -> None:
    model = watched(endless=True)
    requests = [asked(kind, 2 if kind < 15 else 9, searched(1)) for kind in range(20)]
    assert len(run(Engine(model, batch_tokens=1000), at_once(requests))) == 20
    assert [len(rows) for rows in model.rows] == [20] * 3 + [5] * 7


# ---- prompts

WRITERS = {
    "decoder only": DecoderOnlyConfig(
        layers=2, d_model=12, heads=3, d_ff=7, dropout=0.0, norm="pre", positions="learned", max_positions=29
    ),
    "decoder only, rotary": DecoderOnlyConfig(layers=1, d_model=12, heads=3, d_ff=7, dropout=0.0, positions="rotary"),
}


def random_texts(settings: SearchSettings, count: int) -> list[Request]:
    """Prompts of any length, none at all among them, with limits and now and then a prefix. The last token of a prompt
    is what the decoder reads first."""
    texts = []
    for _ in range(count):
        prompt = random.choices(range(2, 11), k=random.choice((0, 1, 1, 2, 5, 9)))
        forced = tuple(random.choices(range(2, 11), k=random.choice((0, 0, 2))))
        source, first = ([0, *prompt[:-1]], prompt[-1]) if prompt else ([], None)
        texts.append(Request(source, random.randint(0, 11), settings, forced, first))
    return texts


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, seed: int) -> DecoderOnly:
    return written_by(WRITERS[request.param])


def written_by(config: ModelConfig) -> DecoderOnly:
    """In double precision, with weights so large that the model is sure of something."""
    model = build_model(config, characters()).double().eval()
    assert isinstance(model, DecoderOnly)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    return model


@torch.inference_mode()
def gone_on(model: DecoderOnly, text: Request) -> tuple[tuple[int, ...], bool]:
    """The most probable tokens one after the other, each from the whole text before it."""
    read, found = [*text.source, 0 if text.first is None else text.first], []
    while len(found) < text.limit:
        features = model.read(torch.tensor([[*read, *found]]))
        best = int(model.project(features)[0, -1].argmax())
        if len(found) < len(text.prefix):
            best = text.prefix[len(found)]
        if best == 0:
            return tuple(found), True
        found.append(best)
    features = model.read(torch.tensor([[*read, *found]]))
    return tuple(found), int(model.project(features)[0, -1].argmax()) == 0


def test_texts_go_on_where_their_prompts_end(writer: DecoderOnly, seed: int) -> None:
    random.seed(seed)
    texts = random_texts(searched(1), 17)
    found = run(Engine(writer, batch_tokens=random.choice((1, 40, 1000))), at_random(texts, 20))
    for text, (_, (hypothesis,)) in zip(texts, found, strict=True):
        assert (hypothesis.ids, hypothesis.finished) == gone_on(writer, text)


def test_what_is_read_first_is_said_for_each(seed: int) -> None:
    model = written_by(WRITERS["decoder only, rotary"])
    engine = Engine(model, batch_tokens=100)
    for token in (None, 5, 0, 7):
        engine.submit(Request([], 3, searched(2), first=token))
    read = []
    step = model.step
    model.step = lambda ids, state: (read.append(ids.tolist()), step(ids, state))[1]
    engine.step()
    assert read == [[[0, 0], [5, 5], [0, 0], [7, 7]]]


def test_a_model_in_another_form_serves_the_lanes_that_begin_later() -> None:
    """Another form gives the same results. Here it does not, to show which one has decoded what."""
    first, second = watched(), watched()
    settings = searched(2)
    engine = Engine(first)
    early = engine.submit(asked(3, 9, settings))
    engine.step()
    engine.change_form(second, None)
    late = engine.submit(asked(3, 9, searched(3)))
    found = {}
    while engine.busy:
        found |= {outcome.id: outcome.hypotheses for outcome in engine.step()}
    assert found[early] == alone(first, asked(3, 9, settings))
    assert found[late] == alone(second, asked(3, 9, searched(3)))
    assert (len(first.encoded), len(second.encoded)) == (2, 2)
