"""The best tokens without a table: those that a search of the whole table finds, with the same bits."""

import math

import numpy as np
import pytest
import torch

from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.top import best_continuations
from limelight.inference.cpu.best_tokens import Int8Ranking
from limelight.inference.cpu.int8 import Int8Weights, pack_rows
from limelight.inference.cpu.simd import LANES, TILE
from limelight.inference.prepare import prepare
from limelight.models.interface import Active
from tests.models.helpers import make_model, transformer

VOCABULARIES = [1, LANES, TILE * LANES - 1, TILE * LANES + 1, 3 * TILE * LANES + 37]
COUNTS = np.array([2, 0, 1, 5, 3])


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def output_layer(numbers: np.random.Generator, vocab: int, features: int = 24) -> Int8Weights:
    values = numbers.integers(-127, 128, size=(vocab, features)).astype(np.int8)
    scales = (0.01 * numbers.uniform(0.5, 2, size=vocab)).astype(np.float32)
    return pack_rows(values, scales, numbers.normal(size=vocab).astype(np.float32))


def rows_of(numbers: np.random.Generator, rows: int, features: int = 24) -> torch.Tensor:
    return torch.from_numpy(numbers.normal(size=(rows, features)).astype(np.float32))


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("count", [1, 9])
def test_the_best_are_those_of_the_whole_table(vocab: int, count: int, numbers: np.random.Generator) -> None:
    active = Active.of(COUNTS)
    ranking = Int8Ranking(rows_of(numbers, active.rows), output_layer(numbers, vocab))
    table, before = ranking[:], torch.from_numpy(numbers.normal(size=active.rows))
    assert ranking.is_sound
    torch.testing.assert_close(
        table.double().logsumexp(1), torch.zeros(active.rows, dtype=torch.float64), atol=5e-6, rtol=0
    )
    expected, found = (best_continuations(each, before, active, count) for each in (table, ranking))
    for name in ("log_probabilities", "parents", "ids", "tied"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_a_row_has_the_same_bits_in_any_batch(numbers: np.random.Generator) -> None:
    layer, given = output_layer(numbers, 301), rows_of(numbers, 9)
    together = Int8Ranking(given, layer)
    for row in range(9):
        alone = Int8Ranking(given[row : row + 1], layer)
        assert torch.equal(alone[:], together[row : row + 1])
        [first], [second] = (
            each.best(np.array([-1.5] * rows), Active.of(counts).firsts, 4).sums[-1:]
            for each, rows, counts in ((alone, 1, np.array([1])), (Int8Ranking(given[: row + 1], layer), row + 1,
                                                                  np.array([row, 1])))
        )  # fmt: skip
        np.testing.assert_array_equal(first, second)


def test_equal_sums_are_found_and_told(numbers: np.random.Generator) -> None:
    layer = output_layer(numbers, 3 * TILE * LANES)
    for part in (layer.values, layer.scales, layer.sums, layer.biases):
        part[:] = 0
    found = best_continuations(Int8Ranking(rows_of(numbers, 2), layer), torch.zeros(2), Active.of(np.array([2])), 4)
    np.testing.assert_allclose(found.log_probabilities, np.full((1, 4), -math.log(3 * TILE * LANES)), rtol=1e-6)
    assert found.tied.all()


@pytest.mark.parametrize("damage", [math.nan, math.inf, -math.inf])
def test_damaged_weights_are_noticed(damage: float, numbers: np.random.Generator) -> None:
    layer, given = output_layer(numbers, 131), rows_of(numbers, 3)
    layer.biases[129] = damage
    ranking = Int8Ranking(given, layer)
    assert not ranking.is_sound
    assert ranking[:].isnan().all()


def test_requests_beside_those_with_rules_have_the_results_that_they_have_alone(seed: int) -> None:
    """With a rule in the lane a table is written; without one it is not."""
    model = make_model(transformer(norm="pre"))
    engine = Engine(prepare(model.eval(), "int8"))
    plain = Request([3, 5, 7, model.end_id], 12, SearchSettings(beam_size=3, n_best=3))
    ruled = Request([4, 6, model.end_id], 12, SearchSettings(beam_size=3, rules=(("no_repeat_ngram", 1),)))

    def results(*requests: Request) -> dict:
        ids = [engine.submit(request) for request in requests]
        found = {}
        while engine.busy:
            found |= {outcome.id: outcome.hypotheses for outcome in engine.step()}
        return [found[each] for each in ids]

    alone = results(plain)
    assert results(plain, ruled, plain) == [*alone, *results(ruled), *alone]
    for one, other in zip(alone[0], results(ruled, plain)[1], strict=True):
        assert (one.score, one.log_probabilities) == (other.score, other.log_probabilities)
