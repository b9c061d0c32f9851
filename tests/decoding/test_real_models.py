"""Searches over the real models: what holds for the table must hold for them."""

import math
import random
from collections.abc import Iterator, Sequence

import pytest
import torch

from limelight.batching.batch import make_batch, pad_rows
from limelight.config import ModelConfig, RecurrentConfig, TransformerConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from tests.decoding.decode import beam_search, greedy_search, sample_search
from tests.decoding.fakes import characters

SMALL = {"d_model": 12, "heads": 3, "d_ff": 7, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
RECURRENT = {"embedding": 5, "hidden": 7, "dropout": 0.0}
MODELS = {
    "transformer": TransformerConfig(**SMALL),
    "transformer, pre-norm, rotary": TransformerConfig(**SMALL, norm="pre", positions="rotary"),
    "transformer, learned positions": TransformerConfig(**SMALL, positions="learned", max_positions=17),
    "recurrent, fixed": RecurrentConfig(**RECURRENT, wiring="fixed"),
    "recurrent, bahdanau": RecurrentConfig(**RECURRENT, wiring="bahdanau"),
    "recurrent, luong": RecurrentConfig(**RECURRENT, wiring="luong", cell="lstm", score="general"),
    "recurrent, luong, no feeding": RecurrentConfig(**RECURRENT, wiring="luong", score="dot", input_feeding=False),
}
ROWS = [[3, 4, 5, 6, 7, 8, 0], [9, 0], [2, 2, 9, 0], [10, 9, 8, 7, 0], [1, 0]]
LIMITS = torch.tensor([13, 5, 7, 11, 3])


def built(config: ModelConfig) -> Seq2Seq:
    """In double precision, with weights so large that the model is sure of something."""
    model = build_model(config, characters()).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    return model


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(seed: int, request: pytest.FixtureRequest) -> Seq2Seq:
    return built(request.param)


def batch_of(rows: list[list[int]], padding: int = 11) -> tuple[torch.Tensor, torch.Tensor]:
    return pad_rows(rows, padding)


def agree(found: list[Hypothesis], expected: list[Hypothesis]) -> bool:
    same = [(one.ids, one.finished) for one in found] == [(one.ids, one.finished) for one in expected]
    return same and all(
        math.isclose(one.score, other.score, abs_tol=1e-6) for one, other in zip(found, expected, strict=True)
    )


@torch.no_grad()
def teacher_forced(model: Seq2Seq, source: list[int], hypothesis: Hypothesis) -> float:
    """Log-probability of a hypothesis by one pass over all positions."""
    batch = make_batch([source[:-1]], [hypothesis.ids], source_padding=11, target_padding=11)
    scores = model.project(model(batch)).log_softmax(-1)[0].gather(-1, batch.target_out[0][:, None])[:, 0]
    return float(scores.sum() if hypothesis.finished else scores[:-1].sum())


@pytest.mark.parametrize("how", ["greedy", "beam", "sampling"])
def test_log_probabilities_are_those_of_teacher_forcing(model: Seq2Seq, how: str) -> None:
    source, prefix = batch_of(ROWS), [[4, 2], [], [3], [], [5, 5, 5, 5]]
    if how == "greedy":
        found = [[path] for path in greedy_search(model, *source, max_lengths=LIMITS, prefix=prefix)]
    elif how == "beam":
        found = beam_search(model, *source, max_lengths=LIMITS, prefix=prefix, beam_size=3, n_best=3)
    else:
        paths = sample_search(model, *source, max_lengths=LIMITS, prefix=prefix, sampling=Sampling())
        found = [[path] for path in paths]
    for row, forced, hypotheses in zip(ROWS, prefix, found, strict=True):
        for hypothesis in hypotheses:
            assert hypothesis.ids[: len(forced)] == tuple(forced)
            assert hypothesis.log_probability == pytest.approx(teacher_forced(model, row, hypothesis), abs=1e-5)


Arrival = tuple[int, Request]
"""Before which step a request comes."""


def arrivals_of(settings: SearchSettings, count: int, last: int) -> list[Arrival]:
    """Random requests, in the order in which they come; limits that learned positions still hold."""
    return [
        (
            now,
            Request(
                [*random.choices(range(1, 11), k=random.randint(0, 9)), 0],
                random.randint(0, 15),
                settings,
                tuple(random.choices(range(2, 11), k=random.choice((0, 0, 3)))),
            ),
        )
        for now in sorted(random.choices(range(last), k=count))
    ]


def run(model: Seq2Seq, arrivals: Sequence[Arrival], budget: int) -> Iterator[list[Hypothesis]]:
    """What is found for each, in the order in which they came."""
    engine, waiting, found, now = Engine(model, batch_tokens=budget), list(arrivals), {}, 0
    while waiting or engine.busy:
        while waiting and waiting[0][0] <= now:
            engine.submit(waiting.pop(0)[1])
        for number, hypotheses, error in engine.step():
            assert error is None
            found[number] = hypotheses
        now += 1
    return (found[number] for number in range(len(arrivals)))


def searched(width: int) -> SearchSettings:
    if width == 1:
        return SearchSettings()
    return SearchSettings(beam_size=width, n_best=2, length_penalty=0.6, patience=1.0)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_whenever_a_request_comes_it_gets_what_it_gets_alone(model: Seq2Seq, width: int, seed: int) -> None:
    random.seed(seed)
    arrivals = arrivals_of(searched(width), 19, 25)
    for (_, request), found in zip(arrivals, run(model, arrivals, 25 * width), strict=True):
        (alone,) = run(model, [(0, request)], 1)
        assert agree(found, alone)


def endless(model: Seq2Seq) -> Seq2Seq:
    """The same model, in which the end has no chance."""
    project = model.project

    def without_end(features: torch.Tensor) -> torch.Tensor:
        logits = project(features)
        logits[..., model.end_id] = -1e9
        return logits

    model.project = without_end
    return model


@pytest.mark.parametrize("width", [1, 3])
def test_the_last_learned_position_serves_and_free_slots_need_none(width: int, seed: int) -> None:
    """Requests reach the last position there is while younger ones go on beside them."""
    model = endless(built(TransformerConfig(**SMALL, positions="learned", max_positions=7)))
    arrivals = [(max(0, number - 3), Request([number % 9 + 1, 0], 6, searched(width))) for number in range(24)]
    found = run(model, arrivals, 1000)
    assert [len(hypotheses[0].ids) for hypotheses in found] == [6] * 24
