"""Vector instructions: the sums of bytes that plain integers give, with every kind of instruction."""

import random
from itertools import product

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from limelight.inference.cpu import simd
from limelight.inference.cpu.int8 import Int8Rows, Int8Weights, pack_rows
from limelight.inference.cpu.jit import compiled
from limelight.inference.cpu.simd import GROUP, LANES, TILE, maximum, multiply_tile

OUTPUTS = 5 * LANES - 3
"""The last block is not a whole one."""

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
    layer = pack_rows(weights[:OUTPUTS], np.ones(OUTPUTS, np.float32), np.zeros(OUTPUTS, np.float32))
    np.testing.assert_array_equal(layer.values[:4], values[:4])

    @numba.njit
    def multiply_some(
        rows: Int8Rows, first: int, count: int, layer: Int8Weights, block: int, blocks: int, found: np.ndarray,
        added: bool,
    ) -> None:  # fmt: skip
        multiply_tile(rows, first, count, layer, block, blocks, found, 1, 3, added)

    for (first, block, blocks), count in product(
        [(0, 0, TILE), (4, 0, TILE), (4, 1, 3), (2, 3, 2)], range(1, GROUP + 1)
    ):
        found = np.full((GROUP + 2, TILE * LANES + 5), -1, np.float32)
        outputs = slice(block * LANES, min((block + blocks) * LANES, OUTPUTS))
        inside = slice(1, count + 1), slice(3, 3 + outputs.stop - outputs.start)
        for times in (1, 2):
            multiply_some(rows, first, count, layer, block, blocks, found, times > 1)
            np.testing.assert_array_equal(found[inside], times * exact[first : first + count, outputs])
        found[inside] = -1
        assert (found == -1).all()
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
