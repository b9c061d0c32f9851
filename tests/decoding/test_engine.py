"""Sentences come and go, and each gets what it would get alone: with a table, where equal means equal."""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest
import torch

from limelight.config import DecoderOnlyConfig, ModelConfig, RecurrentLanguageModelConfig
from limelight.decoding.beam import BeamSearch
from limelight.decoding.engine import ROWS, Engine, decode_batch
from limelight.decoding.greedy import PathSearch
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.length_penalty import LengthPenalty
from limelight.decoding.sampling import Sampling, generator_for, path_search
from limelight.decoding.search import Request, Search
from limelight.decoding.top import most_probable
from limelight.models.build import build_model
from limelight.models.interface import Seq2Seq
from limelight.models.language_model import LanguageModel
from tests.decoding.fakes import TableModel, characters, log_probabilities, random_model, sources

KINDS, VOCABULARY = 23, 7


class Sentence(NamedTuple):
    """Its kind is its name: each comes once."""

    kind: int
    length: int
    request: Request

    @property
    def source(self) -> list[int]:
        return [self.kind] + [1] * (self.length - 1)


class Watched(TableModel):
    """Knows which kinds stand in each step's state, dead ones among them, and which were read by the encoder."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__(logits)
        self.encoded: list[list[int]] = []
        self.rows: list[list[int]] = []

    def encode(self, source, source_valid, *, keep_heads=None):
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


def search_of(model: Seq2Seq, width: int, *, n_best: int = 1, patience: float = math.inf) -> Search:
    special = {"start_id": model.start_id, "end_id": model.end_id}
    if width == 1:
        return PathSearch(1, choose=most_probable, **special)
    return BeamSearch(width, n_best=n_best, penalty=LengthPenalty(0.6), patience=patience, **special)


def random_sentences(count: int = KINDS, longest: int = 9) -> list[Sentence]:
    """One of each kind, some of them with a prefix, in any order."""
    return [
        Sentence(
            kind,
            random.randint(1, longest),
            Request(random.randint(0, 11), tuple(random.choices(range(1, VOCABULARY), k=random.choice((0, 0, 1, 4))))),
        )
        for kind in random.sample(range(KINDS), count)
    ]


def alone(model: Seq2Seq, search: Search, sentence: Sentence) -> list[Hypothesis]:
    source = torch.tensor([sentence.source], dtype=torch.int64)
    return decode_batch(model, search, source, torch.ones_like(source, dtype=torch.bool), [sentence.request])[0]


def run(engine: Engine[int], arrivals: Sequence[tuple[int, Sentence]]) -> dict[int, tuple[int, list[Hypothesis]]]:
    """Each sentence is added before the step at which it arrives; what was found for it, and at which step."""
    waiting, found, now = sorted(arrivals, key=lambda arrival: arrival[0]), {}, 0
    while waiting or engine.busy:
        while waiting and waiting[0][0] <= now:
            _, sentence = waiting.pop(0)
            engine.add(sentence.kind, sentence.source, sentence.request)
        for kind, hypotheses in engine.step():
            assert kind not in found
            found[kind] = now, hypotheses
        now += 1
    return found


def at_random(sentences: Sequence[Sentence], last: int) -> list[tuple[int, Sentence]]:
    return [(random.randint(0, last), sentence) for sentence in sentences]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("budget", [1, 30, 10_000])
@pytest.mark.parametrize("patience", [1.0, math.inf])
def test_whenever_it_comes_each_gets_what_it_gets_alone(seed: int, width: int, budget: int, patience: float) -> None:
    random.seed(seed)
    model, sentences = watched(), random_sentences()
    options = {"n_best": min(2, width), "patience": patience}
    found = run(Engine(model, search_of(model, width, **options), batch_tokens=budget), at_random(sentences, 30))
    assert found.keys() == set(range(KINDS))
    for sentence in sentences:
        assert found[sentence.kind][1] == alone(model, search_of(model, width, **options), sentence)


@pytest.mark.parametrize("width", [2, 4])
def test_equal_probabilities_are_settled_the_same_way(seed: int, width: int) -> None:
    random.seed(seed)
    model, sentences = TableModel(torch.randint(3, (KINDS, 1009, VOCABULARY)).double()), random_sentences()
    found = run(Engine(model, search_of(model, width), batch_tokens=90), at_random(sentences, 20))
    for sentence in sentences:
        assert found[sentence.kind][1] == alone(model, search_of(model, width), sentence)


@pytest.mark.parametrize("draws", [1, 3])
def test_samples_are_drawn_from_the_right_sentence(seed: int, draws: int) -> None:
    """What is drawn depends on who else is there; how probable it is does not."""
    random.seed(seed)
    model, sentences, sampling = watched(), random_sentences(), Sampling(seed=seed)
    search = path_search(model, sampling, generator_for(sampling, torch.device("cpu")), draws)
    found = run(Engine(model, search, batch_tokens=60), at_random(sentences, 20))
    for sentence in sentences:
        _, hypotheses = found[sentence.kind]
        assert len(hypotheses) == draws
        assert hypotheses == sorted(hypotheses, key=lambda one: -one.score)
        for hypothesis in hypotheses:
            limit, prefix, _ = sentence.request
            assert hypothesis.ids[: len(prefix)] == prefix
            assert hypothesis.finished or len(hypothesis.ids) == max(limit, len(prefix))
            ids = [*hypothesis.ids, 0] if hypothesis.finished else hypothesis.ids
            exact = math.fsum(log_probabilities(model, sentence.kind, ids))
            assert hypothesis.log_probability == pytest.approx(exact, abs=1e-9)


def test_a_draw_among_one_is_greedy_search(seed: int) -> None:
    random.seed(seed)
    model, sentences = watched(), random_sentences()
    search = path_search(model, Sampling(top_k=1), generator_for(Sampling(), torch.device("cpu")), 2)
    found = run(Engine(model, search, batch_tokens=60), at_random(sentences, 20))
    for sentence in sentences:
        assert found[sentence.kind][1] == 2 * alone(model, search_of(model, 1), sentence)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("budget", [1, 20, 101, 1000])
def test_the_budget_is_kept_at_every_step(seed: int, width: int, budget: int) -> None:
    """Of those that are being decoded: sentences * longest source * hypotheses; one alone may have more."""
    random.seed(seed)
    model, sentences = watched(), random_sentences(longest=40)
    lengths, alive, busy = {sentence.kind: sentence.length for sentence in sentences}, set(), 0
    engine = Engine(model, search_of(model, width), batch_tokens=budget)
    for sentence in sentences:
        engine.add(sentence.kind, sentence.source, sentence.request)
    while engine.busy:
        decided = {kind for kind, _ in engine.step()}
        alive |= {kind for joined in model.encoded for kind in joined}
        model.encoded.clear()
        assert len(alive) * max(lengths[kind] for kind in alive) * width <= budget or len(alive) == 1
        busy = max(busy, len(alive))
        alive -= decided
    assert not alive
    assert busy > 1 or budget < 1000


@pytest.mark.parametrize("width", [1, 4])
def test_what_stands_in_memory_is_bounded_too(seed: int, width: int) -> None:
    """A long one may join when short ones have left, but not beside as many places as those had."""
    model, budget = watched(endless=True), 40 * width
    engine = Engine(model, search_of(model, width), batch_tokens=budget)
    for number in range(40):
        engine.add(number, [0], Request(3 if number else 30))
    for _ in range(4):
        engine.step()
    for number in range(10):  # one joins at each step
        engine.add(100 + number, [1] * 20, Request(0))
        engine.step()
        assert 1 in model.rows[-1]
        assert len(model.rows[-1]) * 20 * width <= 2 * budget


def test_so_many_hypotheses_are_enough(seed: int) -> None:
    model = watched(endless=True)
    engine = Engine(model, search_of(model, 4), batch_tokens=10**9)
    for number in range(300):
        engine.add(number, [number], Request(2))
    while engine.busy:
        engine.step()
    assert max(model.rows_read) == ROWS["cpu"]


def test_the_short_ones_leave_first(seed: int) -> None:
    """Each is told at the step in which its limit is reached, whatever the others do."""
    model, limits = watched(endless=True), [2, 17, 5, 3, 11, 7, 0]
    for width in (1, 3):
        sentences = [Sentence(kind, 1, Request(limit)) for kind, limit in enumerate(limits)]
        found = run(Engine(model, search_of(model, width), batch_tokens=1000), [(0, each) for each in sentences])
        assert {kind: step for kind, (step, _) in found.items()} == dict(enumerate(limits))


def test_a_place_that_is_free_is_taken(seed: int) -> None:
    """One leaves at each step and one waits: the state never has more rows than sentences were there at once."""
    model = watched(endless=True)
    engine = Engine(model, search_of(model, 1), batch_tokens=4)
    arrivals = [(0, Sentence(kind, 1, Request(kind))) for kind in range(4)]
    arrivals += [(kind - 3, Sentence(kind, 1, Request(3))) for kind in range(4, 12)]
    found = run(engine, arrivals)
    assert {kind: step for kind, (step, _) in found.items() if kind >= 4} == {kind: kind for kind in range(4, 12)}
    assert all(len(rows) == 4 for rows in model.rows[:9])
    assert max(map(len, model.rows)) == 4


def test_dead_places_are_left_out_when_they_are_many(seed: int) -> None:
    model = watched(endless=True)
    found = run(
        Engine(model, search_of(model, 1), batch_tokens=1000),
        [(0, Sentence(kind, 1, Request(2 if kind < 15 else 9))) for kind in range(20)],
    )
    assert len(found) == 20
    assert [len(rows) for rows in model.rows] == [20] * 3 + [5] * 7


def test_what_is_decided_blocks_nobody(seed: int) -> None:
    """With room for two, a sentence that never ends lets all others pass beside it."""
    model = watched(endless=True)
    endless_one = Sentence(0, 1, Request(40))
    others = [Sentence(kind, 1, Request(2)) for kind in range(1, 11)]
    found = run(Engine(model, search_of(model, 1), batch_tokens=2), [(0, each) for each in (endless_one, *others)])
    assert [found[each.kind][0] for each in others] == [3 * number + 2 for number in range(10)]
    assert found[0][0] == 40


def test_each_is_encoded_once_and_none_is_lost(seed: int) -> None:
    random.seed(seed)
    model, sentences = watched(), random_sentences()
    run(Engine(model, search_of(model, 2), batch_tokens=40), at_random(sentences, 40))
    assert sorted(kind for joined in model.encoded for kind in joined) == list(range(KINDS))


def test_one_at_a_time_where_the_budget_is_a_single_token(seed: int) -> None:
    random.seed(seed)
    model, sentences = watched(), random_sentences()
    found = run(Engine(model, search_of(model, 4), batch_tokens=1), [(0, sentence) for sentence in sentences])
    assert model.encoded == [[sentence.kind] for sentence in sentences]
    assert set(model.rows_read) == {4}
    assert list(found) == [sentence.kind for sentence in sentences]


def test_an_engine_that_has_done_its_work_takes_more(seed: int) -> None:
    random.seed(seed)
    model, (first, second, *_) = watched(), random_sentences()
    engine = Engine(model, search_of(model, 3), batch_tokens=100)
    assert not engine.busy
    assert engine.step() == []
    for sentence in (first, second, first):
        (found,) = run(engine, [(0, sentence)]).values()
        assert found[1] == alone(model, search_of(model, 3), sentence)
        assert not engine.busy


def test_the_same_key_may_come_twice(seed: int) -> None:
    """Keys belong to who adds them."""
    model = watched()
    engine = Engine(model, search_of(model, 1), batch_tokens=100)
    for _ in range(2):
        engine.add(5, [5], Request(7))
    found = []
    while engine.busy:
        found += engine.step()
    assert found[0] == found[1]


def test_a_batch_is_decoded_in_its_order(seed: int) -> None:
    model = watched()
    source = torch.tensor([[4, 1, 1], [2, 97, 97], [9, 1, 97]])
    valid = torch.tensor([[True] * 3, [True, False, False], [True, True, False]])
    requests = [Request(5), Request(0), Request(9, (3,))]
    found = decode_batch(model, search_of(model, 2), source, valid, requests)
    sentences = [Sentence(4, 3, requests[0]), Sentence(2, 1, requests[1]), Sentence(9, 2, requests[2])]
    assert found == [alone(model, search_of(model, 2), sentence) for sentence in sentences]


# ---- prompts

WRITERS = {
    "decoder only": DecoderOnlyConfig(
        layers=2, d_model=12, heads=3, d_ff=7, dropout=0.0, norm="pre", positions="learned", max_positions=29
    ),
    "decoder only, rotary": DecoderOnlyConfig(layers=1, d_model=12, heads=3, d_ff=7, dropout=0.0, positions="rotary"),
    "cells alone": RecurrentLanguageModelConfig(embedding=5, hidden=7, layers=2, dropout=0.0),
}


class Text(NamedTuple):
    """A prompt as the engine takes it: its last piece is what the decoder reads first."""

    kind: int
    source: list[int]
    request: Request


def random_texts(count: int) -> list[Text]:
    """Prompts of any length, none at all among them, with limits and now and then a prefix."""
    texts = []
    for kind in range(count):
        prompt = random.choices(range(2, 11), k=random.choice((0, 1, 1, 2, 5, 9)))
        forced = tuple(random.choices(range(2, 11), k=random.choice((0, 0, 2))))
        source, first = ([0, *prompt[:-1]], prompt[-1]) if prompt else ([], None)
        texts.append(Text(kind, source, Request(random.randint(0, 11), forced, first)))
    return texts


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, seed: int) -> LanguageModel:
    return written_by(WRITERS[request.param])


def written_by(config: ModelConfig) -> LanguageModel:
    """In double precision, with weights so large that the model is sure of something."""
    model = build_model(config, characters()).double().eval()
    assert isinstance(model, LanguageModel)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    return model


@torch.inference_mode()
def gone_on(model: LanguageModel, text: Text) -> tuple[tuple[int, ...], bool]:
    """The most probable pieces one after the other, each from the whole text before it."""
    limit, forced, first = text.request
    read, found = [*text.source, 0 if first is None else first], []
    while len(found) < max(limit, len(forced)):
        features, _ = model.read(torch.tensor([[*read, *found]]))
        best = int(model.project(features)[0, -1].argmax())
        if len(found) < len(forced):
            best = forced[len(found)]
        if best == 0:
            return tuple(found), True
        found.append(best)
    features, _ = model.read(torch.tensor([[*read, *found]]))
    return tuple(found), int(model.project(features)[0, -1].argmax()) == 0


def test_texts_go_on_where_their_prompts_end(writer: LanguageModel, seed: int) -> None:
    random.seed(seed)
    texts = random_texts(17)
    engine = Engine(writer, search_of(writer, 1), batch_tokens=random.choice((1, 40, 1000)))
    found = run(engine, at_random(texts, 20))
    for text in texts:
        (_, (hypothesis,)) = found[text.kind]
        assert (hypothesis.ids, hypothesis.finished) == gone_on(writer, text)


def test_beams_of_texts_are_those_of_each_alone(writer: LanguageModel, seed: int) -> None:
    random.seed(seed)
    texts = random_texts(17)
    found = run(Engine(writer, search_of(writer, 3, n_best=2), batch_tokens=90), at_random(texts, 20))
    for text in texts:
        together, apart = found[text.kind][1], alone(writer, search_of(writer, 3, n_best=2), text)
        assert [(each.ids, each.finished) for each in together] == [(each.ids, each.finished) for each in apart]
        scores = [[each.score for each in hypotheses] for hypotheses in (together, apart)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-9)


def test_what_is_read_first_is_said_for_each(seed: int) -> None:
    model = written_by(WRITERS["cells alone"])
    first = [None, 5, 0, 7]
    search = search_of(model, 2)
    engine = Engine(model, search, batch_tokens=100)
    for number, piece in enumerate(first):
        engine.add(number, [], Request(3, first=piece))
    read = []
    step = model.step
    model.step = lambda ids, state: (read.append(ids.tolist()), step(ids, state))[1]
    engine.step()
    assert read == [[[0, 0], [5, 5], [0, 0], [7, 7]]]


@pytest.mark.parametrize("budget", [1, 6, 1000])
def test_a_prompt_of_nothing_counts_as_one_piece(budget: int, seed: int) -> None:
    model = written_by(WRITERS["cells alone"])
    engine = Engine(model, search_of(model, 2), batch_tokens=budget)
    for number in range(7):
        engine.add(number, [], Request(0))
    together = []
    while engine.busy:
        together.append(len(engine.step()))
    assert together == {1: [1] * 7, 6: [3, 3, 1], 1000: [7]}[budget]


def test_a_batch_without_any_source_is_decoded_at_once(writer: LanguageModel, seed: int) -> None:
    source = torch.zeros(5, 0, dtype=torch.int64)
    requests = [Request(limit, (), first) for limit, first in enumerate((None, 3, 4, 0, 5))]
    found = decode_batch(writer, search_of(writer, 1), source, source.bool(), requests)
    for (hypothesis,), request in zip(found, requests, strict=True):
        assert (hypothesis.ids, hypothesis.finished) == gone_on(writer, Text(0, [], request))


def test_paths_can_be_followed_and_given_up(seed: int) -> None:
    """What was said piece by piece is what is found at the end; who is given up changes nothing for the others."""
    random.seed(seed)
    model = random_model(KINDS, VOCABULARY)
    search = search_of(model, 1)
    engine = Engine[int](model, search, batch_tokens=100)
    wanted = {key: decode_batch(model, search_of(model, 1), *sources(key), [Request(12)])[0] for key in range(KINDS)}
    for key in range(KINDS):
        engine.add(key, [key], Request(12))
    given_up = {key for key in range(KINDS) if random.random() < 0.4}
    said: dict[int, list[int]] = {key: [] for key in range(KINDS)}
    found = {}
    while engine.busy:
        found.update(engine.step())
        for key, (piece,), (log_probability,) in engine.latest():
            said[key].append(piece)
            assert log_probability == pytest.approx(math.fsum(log_probabilities(model, key, said[key])))
        engine.drop([key for key, _, _ in engine.latest() if key in given_up and random.random() < 0.5])
    assert set(range(KINDS)) - given_up <= set(found)
    for key, (path,) in found.items():
        assert path.ids == wanted[key][0].ids == tuple(said[key])
    engine.drop(range(KINDS))  # there is nobody any more
    assert not engine.busy
