"""The best tokens without a table: those that a search of the whole table finds."""

import math

import numpy as np
import pytest
import torch

from limelight.inference.cpu.best_tokens import Best, find_best
from limelight.inference.cpu.lanes import LANES
from limelight.inference.cpu.products import TILE
from limelight.inference.cpu.weights import Weights, multiply, pack_rows
from limelight.models.interface import Active

VOCABULARIES = [1, LANES, TILE * LANES - 1, TILE * LANES + 1, 3 * TILE * LANES + 37]
COUNTS = np.array([2, 0, 1, 5, 3])


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def output_layer(numbers: np.random.Generator, vocab: int, features: int = 24) -> Weights:
    values = numbers.integers(-127, 128, size=(vocab, features)).astype(np.int8)
    scales = (0.01 * numbers.uniform(0.5, 2, size=vocab)).astype(np.float32)
    return pack_rows(values, scales, numbers.normal(size=vocab).astype(np.float32))


def rows_of(numbers: np.random.Generator, rows: int, features: int = 24) -> torch.Tensor:
    return torch.from_numpy(numbers.normal(size=(rows, features)).astype(np.float32))


def best_of(given: torch.Tensor, layer: Weights, before: np.ndarray, firsts: np.ndarray, count: int) -> Best | None:
    """None where a prediction is NaN."""
    shape = len(firsts) - 1, count
    best = np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.int64)
    return best if find_best(given.numpy(), layer, before.astype(np.float32), firsts, best) else None


def table_of(given: torch.Tensor, layer: Weights) -> torch.Tensor:
    logits = np.empty((len(given), layer.outputs), np.float32)
    multiply(given.numpy(), layer, logits)
    return torch.from_numpy(logits).log_softmax(dim=1)


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("count", [1, 9])
def test_the_best_are_those_of_the_whole_table(vocab: int, count: int, numbers: np.random.Generator) -> None:
    active = Active(COUNTS)
    rows = len(active.sentences)
    given, layer, before = rows_of(numbers, rows), output_layer(numbers, vocab), numbers.normal(size=rows)
    table = table_of(given, layer).numpy()
    sums, gained, indices = best_of(given, layer, before, active.firsts, count)
    for sentence, (first, end) in enumerate(zip(active.firsts, active.firsts[1:], strict=False)):
        own = table[first:end].ravel()
        best = np.argsort(-(own + before[first:end].repeat(vocab)), kind="stable")[:count]
        assert (sums[sentence] > -np.inf).tolist() == [True] * len(best) + [False] * (count - len(best))
        assert indices[sentence, : len(best)].tolist() == best.tolist()
        np.testing.assert_allclose(gained[sentence, : len(best)], own[best], atol=1e-5)


def test_a_row_has_the_same_bits_in_any_batch(numbers: np.random.Generator) -> None:
    layer, given = output_layer(numbers, 301), rows_of(numbers, 9)
    together = best_of(given, layer, np.full(9, -1.5), np.arange(10), 4)
    for row in range(9):
        alone = best_of(given[row : row + 1], layer, np.array([-1.5]), np.array([0, 1]), 4)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], other[row])


def test_equal_sums_are_neighbors(numbers: np.random.Generator) -> None:
    layer = output_layer(numbers, 3 * TILE * LANES)
    for part in (layer.values, layer.scales, layer.sums, layer.biases):
        part[:] = 0
    sums, _, _ = best_of(rows_of(numbers, 2), layer, np.zeros(2), np.array([0, 2]), 4)
    np.testing.assert_allclose(sums, np.full((1, 4), -math.log(3 * TILE * LANES)), rtol=1e-6)


@pytest.mark.parametrize("damage", [math.nan, math.inf, -math.inf])
def test_damaged_weights_are_noticed(damage: float, numbers: np.random.Generator) -> None:
    layer, given = output_layer(numbers, 131), rows_of(numbers, 3)
    layer.biases[129] = damage
    assert best_of(given, layer, np.zeros(3), np.array([0, 3]), 4) is None
