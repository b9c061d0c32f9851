"""Products of bytes in tiles: the sums that plain integers give."""

from itertools import product

import numba
import numpy as np
import pytest

from limelight.inference.cpu.lanes import LANES
from limelight.inference.cpu.products import ADDS_IN_16_BITS, FOLD, GROUP, STEPS, TILE, multiply_tile
from limelight.inference.cpu.weights import MAX_WEIGHTS, Inputs, Weights, pack_rows, without_overflow

OUTPUTS = 5 * LANES - 3
"""The last block is not a whole one."""


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def largest_weights(numbers: np.random.Generator, inputs: int) -> np.ndarray:
    """Weights (outputs, inputs) with the largest sums that do not overflow: among those of the same sign that are added
    in 16 bits with AVX2, `MAX_WEIGHTS`; else anything."""
    values = numbers.integers(-127, 128, size=(OUTPUTS, inputs)).astype(np.int8)
    values[0], values[1] = 127, -127
    if ADDS_IN_16_BITS:
        values = without_overflow(values, np.ones(OUTPUTS, np.float32))[0]
        signs = numbers.choice([-1, 1], size=(OUTPUTS, 1))
        for pair in (0, 2):
            added = values[::2].reshape(-1, inputs // (FOLD * GROUP), FOLD, GROUP)[..., pair : pair + 2]
            added[...] = 0
            added[..., 0, 0], added[..., 1, 1], added[..., FOLD - 1, 1] = 127, 127, MAX_WEIGHTS - 254
        values = (values * signs).astype(np.int8)
    return values


def test_sums_are_exact(numbers: np.random.Generator) -> None:
    """The largest bytes are among them: nothing overflows on the way."""
    inputs = 2 * FOLD * GROUP
    activations = numbers.integers(0, int(STEPS) + 1, size=(8, inputs)).astype(np.uint8)
    activations[0] = STEPS
    weights = largest_weights(numbers, inputs)
    exact = activations.astype(np.int64) @ weights.T.astype(np.int64)

    rows = Inputs(activations, np.ones(8, np.float32), np.zeros(8, np.float32), np.zeros((0, 1), np.float32))
    layer = pack_rows(weights, np.ones(OUTPUTS, np.float32), np.zeros(OUTPUTS, np.float32))
    np.testing.assert_array_equal(layer.scales[:OUTPUTS], 1)

    @numba.njit
    def multiply_some(
        rows: Inputs, first: int, count: int, layer: Weights, block: int, blocks: int, found: np.ndarray,
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
