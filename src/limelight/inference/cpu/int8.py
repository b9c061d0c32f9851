"""The int8 layers of a Transformer as loops that numba compiles: weights of eight bits, each read once.

For few rows a product takes a few microseconds, and an operation of torch takes as long before it begins; here a
sub-layer is one call, or three. Each row of activations has a scale and a zero point of its own and is summed in
integers: its result does not depend, in any bit, on the other rows.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.jit import Numbers, compiled
from limelight.inference.cpu.simd import GROUP, LANES, TILE, apart, maximum, multiply_tile, steps
from limelight.inference.cpu.vectors import rectify, squares_of, standardize, total_of


class Int8Weights(NamedTuple):
    """The weights of x W^T + b in eight bits, in the order in which they are read.

    values: (blocks, groups, LANES * GROUP): the weights of `LANES` outputs, of `GROUP` inputs each, then of the next
        inputs; what is left of the last block and group is zero.
    scales, sums, biases: (blocks * LANES,): the value of a weight of one; the sum of an output's weights; what is
        added; zero behind the last output.
    outputs: how many there are.
    """

    values: npt.NDArray[np.int8]
    scales: Numbers
    sums: Numbers
    biases: Numbers
    outputs: int


class Int8Rows(NamedTuple):
    """What weights are multiplied with, in whole groups of rows.

    values: (rows, groups * GROUP): in whole steps.
    scales, zero_points: (rows,): the value of a step; which step is zero.
    """

    values: npt.NDArray[np.uint8]
    scales: Numbers
    zero_points: Numbers


def pack_rows(values: npt.NDArray[np.int8], scales: Numbers, biases: Numbers) -> Int8Weights:
    """The weights (out, in) of a layer, each row of which has been divided by its scale."""
    outputs, inputs = values.shape
    blocks, groups = -(-outputs // LANES), -(-inputs // GROUP)
    padded = np.zeros((blocks * LANES, groups * GROUP), dtype=np.int8)
    padded[:outputs, :inputs] = values
    # (blocks, lane, groups, index) -> (blocks, groups, lane * index)
    ordered = padded.reshape(blocks, LANES, groups, GROUP).transpose(0, 2, 1, 3).reshape(blocks, groups, -1)
    more = 0, blocks * LANES - outputs
    sums = values.sum(axis=1, dtype=np.float32)
    return Int8Weights(aligned(ordered), np.pad(scales, more), np.pad(sums, more), np.pad(biases, more), outputs)


def aligned(values: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """A copy that begins at the beginning of a cache line: else every load of a register reads two of them."""
    line = LANES * GROUP
    room = np.empty(values.size + line, dtype=np.int8)
    copy = room[-room.ctypes.data % line :][: values.size].reshape(values.shape)
    copy[:] = values
    return copy


def select_outputs(linear: Int8Weights, ids: npt.NDArray[np.int64]) -> Int8Weights:
    """The weights of these outputs alone."""
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
    """Fill the outputs, (rows, out), with x W^T + b of the inputs, (rows, in)."""
    apart()
    multiply_rows(to_bytes(inputs, linear), len(inputs), linear, outputs, False)


@compiled
def multiply_rows(rows: Int8Rows, count: int, linear: Int8Weights, outputs: Numbers, added: bool) -> None:
    """Fill the outputs, (rows, out), with the products of the first `count` rows, or add them to it."""
    for block in range(0, len(linear.values), TILE):
        blocks = min(TILE, len(linear.values) - block)
        for first in range(0, count, GROUP):
            fit = min(GROUP, count - first)
            multiply_tile(rows, first, fit, linear, block, blocks, outputs, first, block * LANES, added)


@compiled
def to_bytes(inputs: Numbers, linear: Int8Weights) -> Int8Rows:
    """The inputs as they are multiplied with these weights. What further rows and inputs hold does not matter: nobody
    reads the rows, and weights are zero there."""
    rows = -(-len(inputs) // GROUP) * GROUP
    activations = np.empty((rows, linear.values.shape[1] * GROUP), dtype=np.uint8)
    scales, zero_points = np.zeros(rows, dtype=np.float32), np.zeros(rows, dtype=np.float32)
    for row in range(len(inputs)):
        scales[row], zero_points[row] = _to_bytes(inputs[row], activations[row])
    return Int8Rows(activations, scales, zero_points)


@compiled
def _to_bytes(values: Numbers, rounded: npt.NDArray[np.uint8]) -> tuple[np.float32, np.float32]:
    """Fill the rounded values; returns their scale and their zero point."""
    below = above = np.float32(0)
    for index in range(len(values)):
        below, above = maximum(below, -values[index]), maximum(above, values[index])
    scale = maximum((above + below) / steps(), np.float32(1e-30))  # for zeros alone any scale will do, but 0
    zero_point = np.float32(round(below / scale))
    rate = np.float32(1) / scale
    for index in range(len(values)):
        rounded[index] = np.uint8(min(values[index] * rate + zero_point + np.float32(0.5), steps()))
    return scale, zero_point


# --- sub-layers ---


class Norm(NamedTuple):
    """A layer normalization: before its sub-layer where it comes `first`, else after the residual sum."""

    weight: Numbers
    bias: Numbers
    epsilon: float
    first: bool


@partial(compiled, apart=True)
def normalize(inputs: Numbers, norm: Norm, outputs: Numbers) -> None:
    """Layer normalization of each row, (rows, model); the outputs may be the inputs."""
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
    """The first product of a sub-layer, (rows, out), of the rows that it reads."""
    apart()
    if norm.first:
        normalized = np.empty_like(hidden)
        normalize(hidden, norm, normalized)
        multiply(normalized, linear, outputs)
    else:
        multiply(hidden, linear, outputs)


@partial(compiled, apart=True)
def project_out(inputs: Numbers, linear: Int8Weights, norm: Norm, hidden: Numbers) -> None:
    """The last product of a sub-layer, added to the rows that it read."""
    apart()
    multiply_rows(to_bytes(inputs, linear), len(inputs), linear, hidden, True)
    if not norm.first:
        normalize(hidden, norm, hidden)


@partial(compiled, apart=True)
def feed_forward(hidden: Numbers, norm: Norm, inner: Int8Weights, activation: int, outer: Int8Weights) -> None:
    """The feed-forward network inside its residual connection; `activation` is the index of its own in
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
    """The activations that are not ReLU, one number at a time."""
    apart()
    for row in range(len(activated)):
        for index in range(activated.shape[1]):
            value = activated[row, index]
            if activation == 1:
                value *= np.float32(0.5 * (1 + math.erf(value / math.sqrt(2))))
            else:
                value /= np.float32(1 + math.exp(-value))
            activated[row, index] = value
