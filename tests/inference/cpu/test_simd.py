"""Vector instructions: the sums of bytes that plain integers give, with every kind of instruction."""

import random

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from limelight.inference.cpu import simd
from limelight.inference.cpu.int8 import Int8Rows, Int8Weights, pack_rows
from limelight.inference.cpu.jit import compiled
from limelight.inference.cpu.simd import GROUP, LANES, TILE, maximum, multiply_tile

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
    values = numbers.integers(-127, 128, size=(5, 9, 64)).astype(np.int8)
    activations[0], values[0], values[1] = most, 127, -127
    # (blocks, groups, lanes, places) -> (blocks, lanes, groups, places) -> (outputs, inputs)
    weights = values.reshape(5, 9, 16, 4).transpose(0, 2, 1, 3).reshape(80, 36)
    monkeypatch.setattr(simd, "_kind_of", lambda _: kind)
    exact = activations.astype(np.int64) @ weights.T.astype(np.int64)

    rows = Int8Rows(activations, np.ones(8, np.float32), np.zeros(8, np.float32))
    layer = pack_rows(weights, np.ones(80, np.float32), np.zeros(80, np.float32))
    np.testing.assert_array_equal(layer.values, values)

    @numba.njit
    def multiply_some(
        rows: Int8Rows, first: int, layer: Int8Weights, block: int, blocks: int, found: np.ndarray
    ) -> None:
        multiply_tile(rows, first, layer, block, blocks, found)

    for first, block, blocks in [(0, 0, TILE), (4, 0, TILE), (4, 1, 3), (2, 3, 1)]:
        found = np.full((GROUP, TILE * LANES), -1, np.float32)
        multiply_some(rows, first, layer, block, blocks, found)
        outputs = slice(block * LANES, (block + blocks) * LANES)
        np.testing.assert_array_equal(found[:, : blocks * LANES], exact[first : first + GROUP, outputs])
        assert (found[:, blocks * LANES :] == -1).all()
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
