"""Vector instructions: the sums of bytes that plain integers give, with every kind of instruction."""

import random

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from limelight.inference.cpu import int8, simd
from limelight.inference.cpu.jit import compiled
from limelight.inference.cpu.simd import maximum

OWN_KIND = simd._kind_of(cpu_target.target_context)


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


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
    monkeypatch.setattr(simd, "_kind_of", lambda _: kind)
    sums = np.full((8, 48), -1, np.int32)
    numba.njit(int8._sum_products.py_func)(activations, values, sums)
    np.testing.assert_array_equal(sums, activations.astype(np.int64) @ weights.T.astype(np.int64))
    assert numba.njit(lambda: simd.steps())() == most


def test_the_larger_of_two() -> None:
    @compiled
    def largest(values: np.ndarray) -> float:
        most = values[0]
        for place in range(1, len(values)):
            most = maximum(most, values[place])
        return most

    values = np.array([random.uniform(-9, 9) for _ in range(67)], np.float32)
    assert largest(values) == values.max()
    assert largest(-values) == -values.min()
