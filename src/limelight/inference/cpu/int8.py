"""The int8 layers of a Transformer as loops that numba compiles: weights of eight bits, each read once.

For few rows a product takes a few microseconds, and an operation of torch takes as long before it begins; here a
sub-layer is one call, or three. Each row of activations has a scale and a zero point of its own and is summed in
integers: its result does not depend, in any bit, on the other rows.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.jit import Numbers, compiled
from limelight.inference.cpu.simd import GROUP, LANES, add_products, broadcast, load, maximum, steps, store, zeros

PANEL = 16
"""Blocks of `LANES` outputs whose sums are turned into numbers while they are still in the cache."""


class Int8Weights(NamedTuple):
    """The weights of x W^T + b in eight bits, in the order in which they are read.

    values: (blocks, groups, LANES * GROUP): the weights of `LANES` outputs, of `GROUP` inputs each, then of the next
        inputs; what is left of the last block and group is zero.
    scales, sums, biases: (out,): the value of a weight of one; the sum of an output's weights; what is added.
    """

    values: npt.NDArray[np.int8]
    scales: Numbers
    sums: Numbers
    biases: Numbers


def pack_rows(values: npt.NDArray[np.int8], scales: Numbers, biases: Numbers) -> Int8Weights:
    """The weights (out, in) of a layer, each row of which has been divided by its scale."""
    outputs, inputs = values.shape
    blocks, groups = -(-outputs // LANES), -(-inputs // GROUP)
    padded = np.zeros((blocks * LANES, groups * GROUP), dtype=np.int8)
    padded[:outputs, :inputs] = values
    # (blocks, lane, groups, index) -> (blocks, groups, lane * index)
    ordered = padded.reshape(blocks, LANES, groups, GROUP).transpose(0, 2, 1, 3).reshape(blocks, groups, -1)
    return Int8Weights(ordered, scales, values.sum(axis=1, dtype=np.float32), biases)


def select_outputs(linear: Int8Weights, ids: npt.NDArray[np.int64]) -> Int8Weights:
    """The weights of these outputs alone."""
    blocks, groups, _ = linear.values.shape
    lanes = linear.values.reshape(blocks, groups, LANES, GROUP).view(np.int32)[..., 0]  # `GROUP` bytes at a time
    chosen = np.zeros((-(-len(ids) // LANES) * LANES, groups), dtype=np.int32)
    chosen[: len(ids)] = lanes[ids // LANES, :, ids % LANES]
    # (blocks, lane, groups) -> (blocks, groups, lane)
    ordered = chosen.reshape(-1, LANES, groups).transpose(0, 2, 1).copy()
    return Int8Weights(ordered.view(np.int8), linear.scales[ids], linear.sums[ids], linear.biases[ids])


@compiled
def multiply(inputs: Numbers, linear: Int8Weights, outputs: Numbers) -> None:
    """Fill the outputs, (rows, out), with x W^T + b of the inputs, (rows, in)."""
    blocks, groups, _ = linear.values.shape
    rows = -(-len(inputs) // GROUP) * GROUP  # what further rows and inputs hold does not matter: weights are zero there
    activations = np.empty((rows, groups * GROUP), dtype=np.uint8)
    scales, zero_points = np.empty(rows, dtype=np.float32), np.empty(rows, dtype=np.float32)
    for row in range(len(inputs)):
        scales[row], zero_points[row] = _to_bytes(inputs[row], activations[row])
    sums = np.empty((rows, min(blocks, PANEL) * LANES), dtype=np.int32)
    for block in range(0, blocks, PANEL):
        _sum_products(activations, linear.values[block : block + PANEL], sums)
        first, last = block * LANES, min((block + PANEL) * LANES, outputs.shape[1])
        of_weights, added = linear.scales[first:last], linear.biases[first:last]
        weight_sums = linear.sums[first:last]
        for row in range(len(inputs)):
            found, scale, zero_point = outputs[row, first:last], scales[row], zero_points[row]
            for output in range(last - first):
                exact = np.float32(sums[row, output]) - zero_point * weight_sums[output]
                found[output] = exact * scale * of_weights[output] + added[output]


@compiled
def _to_bytes(values: Numbers, rounded: npt.NDArray[np.uint8]) -> tuple[np.float32, np.float32]:
    """Fill the rounded values; returns their scale and their zero point."""
    below = above = np.float32(0)
    for index in range(len(values)):
        below, above = maximum(below, -values[index]), maximum(above, values[index])
    scale = maximum((above + below) / steps(), np.float32(1e-30))  # for zeros alone any scale will do, but 0
    zero_point = np.float32(round(below / scale))
    for index in range(len(values)):
        rounded[index] = np.uint8(min(values[index] / scale + zero_point + np.float32(0.5), steps()))
    return scale, zero_point


@compiled
def _sum_products(
    activations: npt.NDArray[np.uint8], values: npt.NDArray[np.int8], sums: npt.NDArray[np.int32]
) -> None:
    """Fill the sums, (rows, blocks * LANES), `GROUP` rows at a time."""
    blocks, groups, bytes_each = values.shape
    width, outputs = activations.shape[1], sums.shape[1]
    for block in range(blocks):
        for row in range(0, len(activations), GROUP):
            first = second = third = fourth = zeros()
            for group in range(groups):
                weights = load(values, (block * groups + group) * bytes_each)
                index = row * width + group * GROUP
                first = add_products(first, broadcast(activations, index), weights)
                second = add_products(second, broadcast(activations, index + width), weights)
                third = add_products(third, broadcast(activations, index + 2 * width), weights)
                fourth = add_products(fourth, broadcast(activations, index + 3 * width), weights)
            index = row * outputs + block * LANES
            store(first, sums, index)
            store(second, sums, index + outputs)
            store(third, sums, index + 2 * outputs)
            store(fourth, sums, index + 3 * outputs)


# --- sub-layers ---


class Norm(NamedTuple):
    """A layer normalization: before its sub-layer where it comes `first`, else after the residual sum."""

    weight: Numbers
    bias: Numbers
    epsilon: float
    first: bool


@compiled
def normalize(inputs: Numbers, norm: Norm, outputs: Numbers) -> None:
    """Layer normalization of each row, (rows, model); the outputs may be the inputs."""
    size = inputs.shape[1]
    for row in range(len(inputs)):
        mean = np.float32(0)
        for index in range(size):
            mean += inputs[row, index]
        mean /= np.float32(size)
        variance = np.float32(0)
        for index in range(size):
            variance += (inputs[row, index] - mean) ** 2
        rate = np.float32(1 / math.sqrt(variance / size + norm.epsilon))
        for index in range(size):
            outputs[row, index] = (inputs[row, index] - mean) * rate * norm.weight[index] + norm.bias[index]


@compiled
def project_in(hidden: Numbers, norm: Norm, linear: Int8Weights, outputs: Numbers) -> None:
    """The first product of a sub-layer, (rows, out), of the rows that it reads."""
    if norm.first:
        normalized = np.empty_like(hidden)
        normalize(hidden, norm, normalized)
        multiply(normalized, linear, outputs)
    else:
        multiply(hidden, linear, outputs)


@compiled
def project_out(inputs: Numbers, linear: Int8Weights, norm: Norm, hidden: Numbers) -> None:
    """The last product of a sub-layer, added to the rows that it read."""
    changes = np.empty_like(hidden)
    multiply(inputs, linear, changes)
    hidden += changes
    if not norm.first:
        normalize(hidden, norm, hidden)


@compiled
def feed_forward(hidden: Numbers, norm: Norm, inner: Int8Weights, activation: int, outer: Int8Weights) -> None:
    """The feed-forward network inside its residual connection; `activation` is the index of its own in
    `layers.feed_forward.ACTIVATIONS`."""
    activated = np.empty((len(hidden), len(inner.scales)), dtype=np.float32)
    project_in(hidden, norm, inner, activated)
    for row in range(len(hidden)):
        for index in range(activated.shape[1]):
            value = activated[row, index]
            if activation == 0:
                value = max(value, np.float32(0))
            elif activation == 1:
                value *= np.float32(0.5 * (1 + math.erf(value / math.sqrt(2))))
            else:
                value /= np.float32(1 + math.exp(-value))
            activated[row, index] = value
    project_out(activated, outer, norm, hidden)
