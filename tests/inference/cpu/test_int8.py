"""The compiled layers of eight bits: sums of bytes exactly, and what surrounds them as torch has it."""

import os
import random
import subprocess
import sys

import numba
import numpy as np
import pytest
import torch
from numba.core.registry import cpu_target
from torch import nn
from torch.nn import functional

from limelight.inference.cpu import int8 as loops
from limelight.inference.cpu.int8 import (
    ByteLinear,
    Norm,
    byte_linear,
    compiled,
    enter,
    larger,
    leave,
    multiply,
    normalise,
    some_outputs,
    think,
)
from limelight.layers.feed_forward import ACTIVATIONS

SIZES = [(1, 1, 1), (3, 5, 2), (4, 16, 4), (5, 17, 13), (2, 37, 64), (11, 64, 67)]
"""Rows, outputs and inputs: none, one and several whole groups of each, and what is left of one."""

OWN_KIND = loops._kind_of(cpu_target.target_context)
STEPS = 127 if OWN_KIND == "avx2" else 255


@pytest.mark.parametrize("broken", ["full", "nowhere"])
def test_without_a_place_for_the_cache_everything_works(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """A disk that is full, an installation and a home that cannot be written to."""

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device") if broken == "full" else RuntimeError("no locator available")

    monkeypatch.setattr(loops.FunctionCache, "save_overload" if broken == "full" else "__init__", fail)
    doubled = compiled(lambda values: 2 * values)
    assert doubled(np.float32(3.5)) == 7


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
        self.packed = byte_linear(values, scales, biases)
        self.weight = values.astype(np.float64) * scales[:, None]
        self.bias = biases.astype(np.float64)

    def exact(self, inputs: np.ndarray) -> np.ndarray:
        return inputs.astype(np.float64) @ self.weight.T + self.bias

    def rounding(self, inputs: np.ndarray) -> np.ndarray:
        """The most that rounding the inputs to eight bits can change: half a step of each, and a little for fp32."""
        step = (np.maximum(inputs.max(1), 0) - np.minimum(inputs.min(1), 0)) / STEPS
        return 0.51 * step[:, None] * np.abs(self.weight).sum(1) + 1e-4 * (1 + np.abs(self.exact(inputs)))


def product(inputs: np.ndarray, layer: ByteLinear) -> np.ndarray:
    outputs = np.full((len(inputs), len(layer.scales)), np.nan, np.float32)
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


@pytest.mark.parametrize(("rows", "outputs", "inputs"), SIZES)
def test_bytes_are_multiplied_exactly(rows: int, outputs: int, inputs: int, numbers: np.random.Generator) -> None:
    """Whole numbers from -100 to as many steps above it, both of them there, are what a byte can be."""
    layer = Layer(numbers, outputs, inputs + 2)
    given = numbers.integers(-100, STEPS - 99, size=(rows, inputs + 2)).astype(np.float32)
    given[:, :2] = -100, STEPS - 100
    np.testing.assert_allclose(product(given, layer.packed), layer.exact(given), rtol=1e-5, atol=1e-3)


def test_a_row_does_not_depend_on_its_company(numbers: np.random.Generator) -> None:
    layer = Layer(numbers, 19, 23)
    given = normal(numbers, 7, 23) * 10.0 ** numbers.integers(-5, 5, size=(7, 1)).astype(np.float32)
    together = product(given, layer.packed)
    for row in range(7):
        np.testing.assert_array_equal(product(given[row : row + 1], layer.packed)[0], together[row])


def test_of_nothing_comes_the_bias(numbers: np.random.Generator) -> None:
    layer = Layer(numbers, 19, 23)
    np.testing.assert_array_equal(product(np.zeros((2, 23), np.float32), layer.packed), [layer.packed.biases] * 2)


@pytest.mark.parametrize(("kind", "most"), [("vnni", 255), ("avx2", 127), ("any", 255)])
def test_sums_are_the_same_with_every_instruction(
    kind: str, most: int, numbers: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest bytes there are among them: nothing overflows on the way."""
    if OWN_KIND not in ("vnni", kind) and kind != "any":
        pytest.skip(f"numba compiles for {OWN_KIND} here")
    activations = numbers.integers(0, most + 1, size=(8, 4 * 9)).astype(np.uint8)
    values = numbers.integers(-127, 128, size=(3, 9, 64)).astype(np.int8)
    activations[0], values[0], values[1] = most, 127, -127
    # (blocks, groups, lanes, places) -> (blocks, lanes, groups, places) -> (outputs, inputs)
    weights = values.reshape(3, 9, 16, 4).transpose(0, 2, 1, 3).reshape(48, 36)
    monkeypatch.setattr(loops, "_kind_of", lambda _: kind)
    sums = np.full((8, 48), -1, np.int32)
    numba.njit(loops._sum_products.py_func)(activations, values, sums)
    np.testing.assert_array_equal(sums, activations.astype(np.int64) @ weights.T.astype(np.int64))
    assert numba.njit(lambda: loops.steps())() == most


def test_many_outputs_are_those_of_a_few(numbers: np.random.Generator) -> None:
    """More than one panel of them, and the last one is not full."""
    layer = Layer(numbers, 2 * loops.PANEL * loops.LANES + 21, 13)
    given = normal(numbers, 9, 13)
    assert (np.abs(product(given, layer.packed) - layer.exact(given)) <= layer.rounding(given)).all()
    ids = numbers.permutation(len(layer.bias))[:37]
    np.testing.assert_array_equal(product(given, some_outputs(layer.packed, ids)), product(given, layer.packed)[:, ids])


def test_numba_compiles_for_no_more_than_is_permitted() -> None:
    """`LIMELIGHT_CAPABILITIES` holds for the compiled loops, too."""
    code = "from limelight.inference.cpu import int8 as loops; import numba; print(numba.njit(lambda: loops.steps())())"
    found = {}
    for level in ("avx2", "all"):
        environment = {**os.environ, "LIMELIGHT_CAPABILITIES": level}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found[level] = float(said.stdout)
    assert found["all"] == (255 if OWN_KIND == "vnni" else found["avx2"])
    assert found["avx2"] == (255 if OWN_KIND == "any" else 127)


def test_the_larger_of_two() -> None:
    @compiled
    def largest(values: np.ndarray) -> float:
        most = values[0]
        for place in range(1, len(values)):
            most = larger(most, values[place])
        return most

    values = np.array([random.uniform(-9, 9) for _ in range(67)], np.float32)
    assert largest(values) == values.max()
    assert largest(-values) == -values.min()


def random_norm(numbers: np.random.Generator, size: int, *, first: bool) -> Norm:
    return Norm(normal(numbers, size), normal(numbers, size), 1e-5, first)


def normed(rows: np.ndarray, norm: Norm) -> np.ndarray:
    each = (torch.from_numpy(np.asarray(part, np.float64)) for part in (rows, norm.weight, norm.bias))
    given, weight, bias = each
    return functional.layer_norm(given, weight.shape, weight, bias, norm.epsilon).numpy()


@pytest.mark.parametrize(("rows", "size"), [(1, 2), (5, 13), (3, 64)])
def test_normalisation_is_that_of_torch(rows: int, size: int, numbers: np.random.Generator) -> None:
    given, norm = 3 + 2 * normal(numbers, rows, size), random_norm(numbers, size, first=True)
    found = np.full_like(given, np.nan)
    normalise(given, norm, found)
    np.testing.assert_allclose(found, normed(given, norm), rtol=1e-3, atol=1e-3)
    normalise(given, norm, given)  # in place
    np.testing.assert_array_equal(given, found)


@pytest.mark.parametrize("first", [True, False])
def test_a_sublayer_begins_and_ends_with_a_product(first: bool, numbers: np.random.Generator) -> None:
    norm, layer, rows = random_norm(numbers, 13, first=first), Layer(numbers, 17, 13), normal(numbers, 3, 13)
    given, entered = rows.copy(), np.full((3, 17), np.nan, np.float32)
    enter(rows, norm, layer.packed, entered)
    np.testing.assert_array_equal(rows, given)
    asked = np.empty_like(rows)
    normalise(rows, norm, asked)
    assert_close(entered, product(asked if first else rows, layer.packed))

    back, context = Layer(numbers, 13, 17), normal(numbers, 3, 17)
    leave(context, back.packed, norm, rows)
    total = given + product(context, back.packed)
    np.testing.assert_allclose(rows, total if first else normed(total, norm), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_the_network_has_the_activation_it_is_told(kind: str, first: bool, numbers: np.random.Generator) -> None:
    """What is left to allow for are values on the edge of two bytes, which may fall to either side."""
    norm, rows = random_norm(numbers, 13, first=first), normal(numbers, 3, 13)
    inner, outer = Layer(numbers, 29, 13), Layer(numbers, 13, 29)
    entered = np.empty((3, 29), np.float32)
    enter(rows, norm, inner.packed, entered)
    activation: nn.Module = ACTIVATIONS[kind]()
    activated, expected = activation(torch.from_numpy(entered)).numpy(), rows.copy()
    leave(activated, outer.packed, norm, expected)
    think(rows, norm, inner.packed, list(ACTIVATIONS).index(kind), outer.packed)
    np.testing.assert_allclose(rows, expected, rtol=0, atol=outer.rounding(activated).max())


def test_without_a_folder_to_keep_it_in_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**options: object) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", full)  # how numba finds out whether it may write

    @compiled
    def doubled(values: np.ndarray) -> None:
        for place in range(len(values)):
            values[place] *= 2

    values = np.array([random.randrange(100), 3])
    expected = 2 * values
    doubled(values)
    assert values.tolist() == expected.tolist()
    assert doubled.signatures  # it is not Python that ran
