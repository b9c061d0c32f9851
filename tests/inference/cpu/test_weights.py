"""The compiled layers of eight bits: sums of bytes exactly, and what surrounds them as torch has it."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from limelight.inference.cpu import weights
from limelight.inference.cpu.lanes import LANES
from limelight.inference.cpu.products import STEPS, TILE
from limelight.inference.cpu.weights import (
    Weights,
    multiply,
    pack,
    pack_rows,
    select_outputs,
    without_overflow,
)

SIZES = [(1, 1, 1), (3, 5, 2), (4, 16, 4), (5, 17, 13), (2, 37, 64), (11, 64, 67)]
"""Rows, outputs and inputs: none, one and several whole groups of each, and what is left of one."""


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(numbers: np.random.Generator, *shape: int) -> np.ndarray:
    return numbers.normal(size=shape).astype(np.float32)


class Layer:
    """A random layer, and its weights as they are after rounding, in double precision."""

    def __init__(self, numbers: np.random.Generator, outputs: int, inputs: int) -> None:
        values = numbers.integers(-127, 128, size=(outputs, inputs)).astype(np.int8)
        scales = (0.01 * numbers.uniform(0.5, 2, size=outputs)).astype(np.float32)
        biases = normal(numbers, outputs)
        values, scales = without_overflow(values, scales)
        self.packed = pack_rows(values, scales, biases)
        self.weight = values.astype(np.float64) * scales[:, None]
        self.bias = biases.astype(np.float64)

    def exact(self, inputs: np.ndarray) -> np.ndarray:
        return inputs.astype(np.float64) @ self.weight.T + self.bias

    def rounding(self, inputs: np.ndarray) -> np.ndarray:
        """The most that rounding the inputs to eight bits can change: half a step of each, and a little for fp32."""
        step = (np.maximum(inputs.max(1), 0) - np.minimum(inputs.min(1), 0)) / STEPS
        return 0.51 * step[:, None] * np.abs(self.weight).sum(1) + 1e-4 * (1 + np.abs(self.exact(inputs)))


def product(inputs: np.ndarray, layer: Weights) -> np.ndarray:
    outputs = np.full((len(inputs), layer.outputs), np.nan, np.float32)
    multiply(inputs, layer, outputs)
    return outputs


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "outputs", "inputs"), SIZES)
def test_products_differ_by_what_rounding_allows(
    rows: int, outputs: int, inputs: int, numbers: np.random.Generator
) -> None:
    layer, given = Layer(numbers, outputs, inputs), normal(numbers, rows, inputs)
    assert (np.abs(product(given, layer.packed) - layer.exact(given)) <= layer.rounding(given)).all()


def test_a_row_does_not_depend_on_its_company(numbers: np.random.Generator) -> None:
    layer = Layer(numbers, 19, 23)
    given = normal(numbers, 7, 23) * 10.0 ** numbers.integers(-5, 5, size=(7, 1)).astype(np.float32)
    together = product(given, layer.packed)
    for row in range(7):
        np.testing.assert_array_equal(product(given[row : row + 1], layer.packed)[0], together[row])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(("rows", "outputs", "inputs"), [*SIZES, (9, 2 * TILE * LANES + 21, 13)])
def test_products_of_numbers_are_those_of_torch_in_any_batch(
    precision: str, rows: int, outputs: int, inputs: int, seed: int
) -> None:
    weight, bias, given = torch.randn(outputs, inputs), torch.randn(outputs), torch.randn(rows, inputs)
    packed = pack([(weight, bias)], precision)
    together = product(given.numpy(), packed)
    if precision == "bf16":
        weight, given = weight.bfloat16().float(), given.bfloat16().float()
    torch.testing.assert_close(torch.from_numpy(together), functional.linear(given, weight, bias), rtol=1e-5, atol=1e-5)
    for row in range(rows):
        np.testing.assert_array_equal(product(given[row : row + 1].numpy(), packed)[0], together[row])


@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
def test_the_default_type_of_torch_changes_nothing(default: torch.dtype) -> None:
    torch.set_default_dtype(default)
    try:
        assert pack([(torch.ones(3, 4, dtype=torch.float32), None)], "fp32").biases.dtype == np.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_many_outputs_are_those_of_a_few(numbers: np.random.Generator) -> None:
    """More than one tile of them, and the last one is not full."""
    layer = Layer(numbers, 2 * TILE * LANES + 21, 13)
    given = normal(numbers, 9, 13)
    assert (np.abs(product(given, layer.packed) - layer.exact(given)) <= layer.rounding(given)).all()
    ids = numbers.permutation(len(layer.bias))[:37]
    np.testing.assert_array_equal(
        product(given, select_outputs(layer.packed, ids)), product(given, layer.packed)[:, ids]
    )


def added_in_16_bits(values: np.ndarray) -> np.ndarray:
    """The largest sum of 16 bits there can be for each output, by a loop."""
    largest = np.zeros(len(values), np.int64)
    for first in range(0, values.shape[1], 16):
        for pair in (0, 2):
            some = values[:, [first + 4 * group + pair + place for group in range(4) for place in range(2)]]
            for sign in (1, -1):
                largest = np.maximum(largest, 127 * np.maximum(sign * some.astype(np.int64), 0).sum(1))
    return largest


def test_no_sum_of_products_exceeds_16_bits(numbers: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only outputs that need it have another scale, and their weights are off by at most half of it."""
    monkeypatch.setattr(weights, "ADDS_IN_16_BITS", True)
    values = np.concatenate([
        numbers.integers(-127, 128, size=(40, 64)), numbers.integers(-30, 31, size=(40, 64)), np.full((1, 64), -127),
    ]).astype(np.int8)  # fmt: skip
    scales = numbers.uniform(0.5, 2, size=81).astype(np.float32)
    changed, coarser = without_overflow(values, scales)
    assert (added_in_16_bits(values) > 32767).sum() == (coarser != scales).sum() > 30
    assert added_in_16_bits(changed).max() <= 32767
    kept = coarser == scales
    assert kept.sum() >= 40
    np.testing.assert_array_equal(changed[kept], values[kept])
    wrong = np.abs(changed * coarser[:, None] - values * scales[:, None])
    assert (wrong <= 0.5001 * coarser[:, None]).all()
    assert (coarser <= 4.01 * scales).all()
    np.testing.assert_array_equal(without_overflow(changed, coarser)[0], changed)

    monkeypatch.setattr(weights, "ADDS_IN_16_BITS", False)
    np.testing.assert_array_equal(without_overflow(values, scales)[0], values)
