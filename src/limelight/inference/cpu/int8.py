"""int8 layers of a Transformer in loops compiled by numba; each weight is read once.

For few rows a product takes a few microseconds, and an operation of torch takes as long to start; here a sub-layer is
one to three calls. Each row of activations has its own scale and zero point and is summed in integers: its result does
not depend, in any bit, on other rows.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.jit import Numbers, compiled
from limelight.inference.cpu.simd import FOLD, GROUP, LANES, TILE, adds_in_16_bits, apart, maximum, multiply_tile, steps
from limelight.inference.cpu.vectors import rectify, squares_of, standardize, total_of

MAX_WEIGHTS = 32767 // 127
"""See `without_overflow`."""


class Int8Weights(NamedTuple):
    """The weights of x W^T + b in 8 bits, in the order in which they are read.

    Attributes:
        values: (blocks, groups, LANES * GROUP): the weights of `LANES` outputs for `GROUP` inputs each, then for the
            next inputs; padded with zeros.
        scales, sums, biases: (blocks * LANES,): scale, sum of the weights, and bias of each output; padded with zeros.
        outputs: number of outputs.
    """

    values: npt.NDArray[np.int8]
    scales: Numbers
    sums: Numbers
    biases: Numbers
    outputs: int


class Int8Rows(NamedTuple):
    """Activations in 8 bits, in whole groups of rows.

    Attributes:
        values: (rows, groups * GROUP): quantized values.
        scales, zero_points: (rows,).
    """

    values: npt.NDArray[np.uint8]
    scales: Numbers
    zero_points: Numbers


def pack_rows(values: npt.NDArray[np.int8], scales: Numbers, biases: Numbers) -> Int8Weights:
    """Pack int8 weights (out, in), whose rows were divided by `scales`."""
    values, scales = without_overflow(values, scales)
    outputs, inputs = values.shape
    blocks, groups = -(-outputs // LANES), -(-inputs // (FOLD * GROUP)) * FOLD
    padded = np.zeros((blocks * LANES, groups * GROUP), dtype=np.int8)
    padded[:outputs, :inputs] = values
    # (blocks, lane, groups) -> (blocks, groups, lane), `GROUP` bytes at a time
    ordered = padded.view(np.int32).reshape(blocks, LANES, groups).transpose(0, 2, 1).copy().view(np.int8)
    more = 0, blocks * LANES - outputs
    sums = values.sum(axis=1, dtype=np.int32).astype(np.float32)
    return Int8Weights(aligned(ordered), np.pad(scales, more), np.pad(sums, more), np.pad(biases, more), outputs)


def without_overflow(values: npt.NDArray[np.int8], scales: Numbers) -> tuple[npt.NDArray[np.int8], Numbers]:
    """The weights (out, in); outputs whose products could exceed 16 bits have a coarser scale where they are added in
    so many.

    With AVX2 the products of `2 * FOLD` inputs are added in 16 bits: those of inputs 0, 1, 4, 5, ..., and those of 2,
    3, 6, 7, ... As an input is at most 127, neither the positive weights among them nor the negative ones may have a
    sum above `MAX_WEIGHTS`. The scales of trained weights become a quarter coarser on average.
    """
    if not adds_in_16_bits():
        return values, scales
    added = np.tile(np.eye(2, dtype=np.float32).repeat(2, axis=0), (FOLD, 1))  # (inputs, pairs): which are added
    parts = np.pad(values.astype(np.float32), ((0, 0), (0, -values.shape[1] % len(added)))).reshape(-1, len(added))
    totals, magnitudes = parts @ added, np.abs(parts, out=parts) @ added
    # (rows * chunks, pairs) -> (rows,); of those with a sum too large
    largest = (magnitudes + abs(totals)).reshape(len(values), -1).max(axis=1).astype(np.int64) // 2
    rows = np.flatnonzero(largest > MAX_WEIGHTS)
    factors = (largest[rows] / (MAX_WEIGHTS - FOLD)).astype(np.float32)  # rounding adds up to half for each of 2 * FOLD
    values, scales = values.copy(), scales.copy()
    values[rows] = np.rint(values[rows] / factors[:, None])
    scales[rows] *= factors
    return values, scales


def aligned(values: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """A copy aligned to a cache line: otherwise every load of a register reads two lines."""
    line = LANES * GROUP
    room = np.empty(values.size + line, dtype=np.int8)
    copy = room[-room.ctypes.data % line :][: values.size].reshape(values.shape)
    copy[:] = values
    return copy


def select_outputs(linear: Int8Weights, ids: npt.NDArray[np.int64]) -> Int8Weights:
    """The weights restricted to these outputs."""
    blocks, groups, _ = linear.values.shape
    lanes = linear.values.reshape(blocks, groups, LANES, GROUP).view(np.int32)[..., 0]  # `GROUP` bytes at a time
    chosen = np.zeros((-(-len(ids) // LANES) * LANES, groups), dtype=np.int32)
    chosen[: len(ids)] = lanes[ids // LANES, :, ids % LANES]
    # (blocks, lane, groups) -> (blocks, groups, lane)
    ordered = chosen.reshape(-1, LANES, groups).transpose(0, 2, 1).copy()
    more = 0, len(ordered) * LANES - len(ids)
    scales, sums, biases = (np.pad(each[ids], more) for each in (linear.scales, linear.sums, linear.biases))
    return Int8Weights(aligned(ordered.view(np.int8)), scales, sums, biases, len(ids))


@partial(compiled, apart=True)
def multiply(inputs: Numbers, linear: Int8Weights, outputs: Numbers) -> None:
    """outputs (rows, out) = x W^T + b for inputs (rows, in)."""
    apart()
    multiply_rows(to_bytes(inputs, linear), len(inputs), linear, outputs, False)


@compiled
def multiply_rows(rows: Int8Rows, count: int, linear: Int8Weights, outputs: Numbers, added: bool) -> None:
    """Write the products of the first `count` rows to the outputs, (rows, out), or add them."""
    for block in range(0, len(linear.values), TILE):
        blocks = min(TILE, len(linear.values) - block)
        for first in range(0, count, GROUP):
            fit = min(GROUP, count - first)
            multiply_tile(rows, first, fit, linear, block, blocks, outputs, first, block * LANES, added)


@compiled
def to_bytes(inputs: Numbers, linear: Int8Weights) -> Int8Rows:
    """Quantize the inputs for these weights. Additional rows and inputs are uninitialized: the rows are never read, and
    the weights of the inputs are zero."""
    rows = -(-len(inputs) // GROUP) * GROUP
    activations = np.empty((rows, linear.values.shape[1] * GROUP), dtype=np.uint8)
    scales, zero_points = np.zeros(rows, dtype=np.float32), np.zeros(rows, dtype=np.float32)
    for row in range(len(inputs)):
        scales[row], zero_points[row] = _to_bytes(inputs[row], activations[row])
    return Int8Rows(activations, scales, zero_points)


@compiled
def _to_bytes(values: Numbers, rounded: npt.NDArray[np.uint8]) -> tuple[np.float32, np.float32]:
    """Quantize a row into `rounded`; returns scale and zero point."""
    below = above = np.float32(0)
    for index in range(len(values)):
        below, above = maximum(below, -values[index]), maximum(above, values[index])
    scale = maximum((above + below) / steps(), np.float32(1e-30))  # if all values are zero, any scale but 0 is valid
    zero_point = np.float32(round(below / scale))
    rate = np.float32(1) / scale
    for index in range(len(values)):
        rounded[index] = np.uint8(min(values[index] * rate + zero_point + np.float32(0.5), steps()))
    return scale, zero_point


# --- sub-layers ---


class Norm(NamedTuple):
    """A layer normalization: before its sub-layer if `first` (pre-norm), else after the residual sum."""

    weight: Numbers
    bias: Numbers
    epsilon: float
    first: bool


@partial(compiled, apart=True)
def normalize(inputs: Numbers, norm: Norm, outputs: Numbers) -> None:
    """Layer normalization of each row, (rows, model); may work in place."""
    apart()
    size = inputs.shape[1]
    for row in range(len(inputs)):
        first = row * size
        mean = total_of(inputs, first, size) / np.float32(size)
        variance = squares_of(inputs, first, size, mean) / np.float32(size)
        rate = np.float32(1 / math.sqrt(variance + norm.epsilon))
        standardize(inputs, first, size, mean, rate, norm.weight, norm.bias, outputs)


@partial(compiled, apart=True)
def project_in(hidden: Numbers, norm: Norm, linear: Int8Weights, outputs: Numbers) -> None:
    """The first product of a sub-layer, (rows, out)."""
    apart()
    if norm.first:
        normalized = np.empty_like(hidden)
        normalize(hidden, norm, normalized)
        multiply(normalized, linear, outputs)
    else:
        multiply(hidden, linear, outputs)


@partial(compiled, apart=True)
def project_out(inputs: Numbers, linear: Int8Weights, norm: Norm, hidden: Numbers) -> None:
    """The last product of a sub-layer, added to the residual."""
    apart()
    multiply_rows(to_bytes(inputs, linear), len(inputs), linear, hidden, True)
    if not norm.first:
        normalize(hidden, norm, hidden)


@partial(compiled, apart=True)
def feed_forward(hidden: Numbers, norm: Norm, inner: Int8Weights, activation: int, outer: Int8Weights) -> None:
    """The feed-forward network with its residual connection; `activation` is an index in
    `layers.feed_forward.ACTIVATIONS`."""
    apart()
    activated = np.empty((len(hidden), inner.outputs), dtype=np.float32)
    project_in(hidden, norm, inner, activated)
    if activation == 0:
        rectify(activated, activated.size)
    else:
        _activate(activated, activation)
    project_out(activated, outer, norm, hidden)


@partial(compiled, apart=True)
def _activate(activated: Numbers, activation: int) -> None:
    """Activations other than ReLU, one number at a time."""
    apart()
    for row in range(len(activated)):
        for index in range(activated.shape[1]):
            value = activated[row, index]
            if activation == 1:
                value *= np.float32(0.5 * (1 + math.erf(value / math.sqrt(2))))
            else:
                value /= np.float32(1 + math.exp(-value))
            activated[row, index] = value
