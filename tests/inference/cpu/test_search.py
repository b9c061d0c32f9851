"""The whole search in one compiled call: what the readable searches find, token by token."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from limelight.decoding.constraints import Phrase
from limelight.decoding.engine import CALL_TOKENS, Engine
from limelight.decoding.host import NotANumberError
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.inference.cpu.search import MAX_SOURCE
from limelight.inference.cpu.transformer import CompiledTransformer
from limelight.inference.linear import CompiledInt8Linear, int8_kind
from limelight.inference.prepare import prepare
from limelight.models.interface import Path, Query, Seq2Seq
from tests.decoding.decode import found_by
from tests.models.helpers import make_model, transformer

pytestmark = pytest.mark.skipif(int8_kind() is not CompiledInt8Linear, reason="needs numba and avx2")

CONFIGS = {
    "post": transformer(output_bias=True),
    "pre": transformer(norm="pre"),
    "learned": transformer(positions="learned", max_positions=19),
    "narrow-values": transformer(head_size=7, value_size=3, norm="pre"),
    "split": transformer(d_model=12, head_size=None, activation="gelu", tie="two-way"),
    "untied": transformer(norm="pre", activation="swish", tie="none", output_bias=True),
    "deep": transformer(encoder_layers=1, decoder_layers=3, sinusoid_layout="halves", heads=2, head_size=17),
    "rotary": transformer(positions="rotary", norm="pre", head_size=6, value_size=3),
    "ssru": transformer(decoder_autoreg="ssru", decoder_layers=3),
    "ssru-rotary": transformer(decoder_autoreg="ssru", norm="pre", positions="rotary"),
}
LONGEST = 17
"""So many tokens fit into the learned positions."""


def model_of(name: str, precision: str = "int8", *, sharp: float = 4.0, twins: bool = False) -> Seq2Seq:
    """A random model that has preferences and ends some sentences; with `twins` half of its tokens equal another."""
    model = make_model(CONFIGS[name]).eval()
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if "bias" in part:
                weight.normal_()
        weights, _ = model.output_weights()
        weights *= sharp
        if twins:
            weights[1::2][: len(weights) // 2] = weights[::2][: len(weights) // 2]
    ready = prepare(model, precision)
    with torch.inference_mode():
        source = torch.randint(1, 9, (40, 5))
        ids = torch.randint(1, model.output_size, (40, 1))
        logits = ready.project(ready.step(ids, ready.start(ready.encode(source, source > 0)))[0])[:, 0]
    more = logits.amax(dim=1) - logits[:, model.end_id]
    ready.network.output.biases[model.end_id] += float(more.quantile(0.5))  # so that it ends now and then
    return ready


@pytest.fixture(params=[*((name, "int8") for name in CONFIGS), ("rotary", "fp32"), ("ssru", "bf16")], ids="-".join)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return model_of(*request.param)


def random_request(numbers: np.random.Generator, model: Seq2Seq) -> Request:
    beam = int(numbers.integers(1, 8))
    settings = SearchSettings(
        beam_size=beam,
        length_penalty=float(numbers.choice([0, 0.6, 1, 1.7])),
        length_offset=float(numbers.choice([0, 5])),
        patience=float(numbers.choice([0.3, 1, 2, math.inf])),
        prune=float(numbers.choice([0.5, 2, math.inf])) if beam > 1 else math.inf,
        n_best=int(numbers.integers(1, beam + 1)) if numbers.random() < 0.3 else 1,
    )
    source = numbers.integers(1, model.source_padding, size=numbers.integers(0, LONGEST)).tolist()
    return Request([*source, model.end_id], int(numbers.integers(0, LONGEST)), settings)


@torch.inference_mode()
def decoded(model: Seq2Seq, requests: Sequence[Request]) -> list[list[Hypothesis]]:
    """Together: in batches, as far as the engine wants."""
    engine = Engine(model)
    return found_by(engine, [engine.submit(request) for request in requests])


def step_by_step(
    monkeypatch: pytest.MonkeyPatch, model: Seq2Seq, requests: Sequence[Request]
) -> list[list[Hypothesis]]:
    """By the readable searches."""
    with monkeypatch.context() as only:
        only.setattr(Request, "is_plain", False)
        return decoded(model, requests)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[Path] | None]:
    """What the calls have found so far."""
    found: list[list[Path] | None] = []
    original = CompiledTransformer.search

    def counting(model: CompiledTransformer, queries: Sequence[Query]) -> list[list[Path] | None]:
        some = original(model, queries)
        found.extend(some)
        return some

    monkeypatch.setattr(CompiledTransformer, "search", counting)
    return found


def assert_same(found: Sequence[Sequence[Hypothesis]], expected: Sequence[Sequence[Hypothesis]]) -> None:
    assert list(map(len, found)) == list(map(len, expected))
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)


def test_random_searches(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch, calls: list, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    requests = [random_request(numbers, model) for _ in range(60)]
    expected = step_by_step(monkeypatch, model, requests)
    assert not calls
    assert_same([decoded(model, [request])[0] for request in requests], expected)
    assert len(calls) == len(requests)
    assert calls.count(None) <= 2  # equal sums, which the steps decide, are rare


def test_the_batch_changes_no_bit(model: Seq2Seq, calls: list, seed: int) -> None:
    """Those of a width are searched for together, with their own settings and limits, and slots are taken again."""
    numbers = np.random.default_rng(seed)
    requests = [random_request(numbers, model) for _ in range(90)]
    assert decoded(model, requests) == [decoded(model, [request])[0] for request in requests]
    assert len(calls) == 2 * len(requests)


@pytest.mark.parametrize("sooner", [0, -9])
def test_lists_of_translations(
    sooner: int, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch, calls: list, seed: int
) -> None:
    """As many as the beam is wide: finished ones, and active ones where the limit is near."""
    numbers, requests = np.random.default_rng(seed), list[Request]()
    model.network.output.biases[model.end_id] += sooner  # type: ignore[union-attr]
    for limit in (0, 1, 2, 3, 5, LONGEST - 1) * 6:
        request = random_request(numbers, model)
        width = int(numbers.integers(2, 8))
        settings = replace(request.settings, beam_size=width, n_best=int(numbers.integers(2, width + 1)))
        requests.append(replace(request, max_tokens=limit, settings=settings))
    expected = step_by_step(monkeypatch, model, requests)
    assert any(each.finished for each in chain(*expected)) or sooner < 0
    assert not all(each.finished for each in chain(*expected)) or sooner == 0
    assert max(map(len, expected)) > 2
    assert_same(decoded(model, requests), expected)
    assert len(calls) == len(requests)
    assert calls.count(None) <= 2  # equal sums


def test_an_error_of_the_call_is_that_of_its_requests(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    engine = Engine(model_of("pre"))
    monkeypatch.setattr(engine.model, "search", Mock(side_effect=IndexError("7")))
    numbers = [engine.submit(Request([token, 0], 9)) for token in (3, 4)]
    assert [(outcome.id, str(outcome.error)) for outcome in engine.step()] == [(number, "7") for number in numbers]
    assert not engine.busy


def test_equal_sums_are_left_to_the_steps(monkeypatch: pytest.MonkeyPatch, calls: list, seed: int) -> None:
    """What the steps find alone is the result then; others of the call keep theirs."""
    numbers, alone = np.random.default_rng(seed), list[object]()
    for _ in range(4):  # one model may prefer twins everywhere, or nowhere
        model = model_of("pre", twins=True)
        requests = [random_request(numbers, model) for _ in range(12)]
        requests += [replace(request, settings=SearchSettings()) for request in requests]
        expected = step_by_step(monkeypatch, model, requests)
        calls.clear()
        assert_same([decoded(model, [request])[0] for request in requests], expected)
        assert len(calls) == len(requests)
        alone += calls
        assert_same(decoded(model, requests), expected)
    assert 0 < alone.count(None) < len(alone)


@pytest.mark.parametrize("beam", [1, 4])
def test_nan_has_the_error_that_it_has_in_a_batch(beam: int, seed: int) -> None:
    model = model_of("post")
    model.network.output.biases[2] = math.nan  # type: ignore[union-attr]
    with pytest.raises(NotANumberError):
        decoded(model, [Request([3, model.end_id], 9, SearchSettings(beam_size=beam))])


def test_what_the_call_does_not_do_is_not_given_to_it() -> None:
    plain = Request([3, 0], 9, SearchSettings(beam_size=2))
    settings = plain.settings
    assert plain.is_plain
    others = [
        replace(plain, prefix=(4,)),
        replace(plain, first=5),
        replace(plain, shortlist=np.arange(4)),
        replace(plain, phrases=(Phrase(((4,),)),)),
        replace(plain, settings=replace(settings, rules=(("no_repeat_ngram", 2),))),
        replace(plain, settings=replace(settings, beam_size=1, sampling=Sampling(seed=3))),
    ]
    assert not any(other.is_plain for other in others)


def test_long_and_wide_searches_do_not_hold_the_engine(seed: int) -> None:
    model = model_of("pre")
    query = Query([3, model.end_id], 2, 1, 9, 0.0, 5.0, math.inf, math.inf)
    others = [
        query._replace(**changed) for changed in ({"source": [3] * (MAX_SOURCE + 1)}, {"limit": 256}, {"source": []})
    ]
    found = model.search([others[0], query, *others[1:]])
    assert [each is not None for each in found] == [False, True, False, False]
    assert model.search([query._replace(width=17)]) == [None]


def test_a_call_takes_requests_of_one_width_up_to_a_bound(model: Seq2Seq, seed: int) -> None:
    engine, source = Engine(model), [*[3] * 9, model.end_id]
    narrow, wide = (Request(source, 2, SearchSettings(beam_size=beam)) for beam in (1, 4))
    for request in [wide, narrow, wide] * 20:
        engine.submit(request)
    found = [len(engine.step()) for _ in range(3)]
    assert found == [CALL_TOKENS // 40, 20, 40 - CALL_TOKENS // 40]
    assert not engine.busy


def test_a_request_that_is_larger_than_a_call_is_searched_for_in_steps(calls: list) -> None:
    model = model_of("pre")
    source = [*[4] * (CALL_TOKENS // 12), model.end_id]
    decoded(model, [Request(source, 3, SearchSettings(beam_size=width)) for width in (12, 11)])
    assert len(calls) == 1


def test_threads_do_not_disturb_one_another(seed: int) -> None:
    numbers, model = np.random.default_rng(seed), model_of("pre")
    requests = [random_request(numbers, model) for _ in range(64)]
    expected = [decoded(model, [request])[0] for request in requests]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda request: decoded(model, [request])[0], requests))
    assert found == expected
