"""Linear layers and sub-layers of a Transformer in compiled loops, with weights in 8 bits or as numbers.

For few rows a product takes a few microseconds, and an operation of torch takes as long to start; here a sub-layer is
one to three calls. Each row of activations in 8 bits has its own scale and zero point and is summed in integers; other
sums are taken in one order. So the result of a row does not depend, in any bit, on other rows.
"""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limelight.inference.cpu.jit import Bytes, Integers, Numbers, compiled, compiled_noinline
from limelight.inference.cpu.lanes import LANES, maximum, noinline
from limelight.inference.cpu.products import ADDS_IN_16_BITS, FOLD, GROUP, STEPS, TILE, multiply_tile
from limelight.inference.cpu.vectors import rectify, squares_of, standardize, total_of
from limelight.shapes import Float, Int
from limelight.storage.weights import numbers_of, rows_of

AnyT = TypeVar("AnyT", bound=np.generic)

MAX_WEIGHTS = 32767 // 127
"""See `without_overflow`."""


class Weights(NamedTuple):
    """The weights of x W^T + b in the order in which they are read: in 8 bits, or as numbers.

    Attributes:
        values: (blocks, groups, LANES * GROUP): the weights of `LANES` outputs for `GROUP` inputs each, then for the
            next inputs; padded with zeros. Empty for numbers.
        scales, sums: (blocks * LANES,): scale and sum of the weights of each output; padded with zeros.
        numbers: (blocks, inputs, LANES): the weights of `LANES` outputs for an input, then for the next. Empty for
            weights in 8 bits.
        biases: (blocks * LANES,).
        outputs: number of outputs.
        rounds: whether activations are rounded to bf16.
    """

    values: Bytes
    scales: Numbers
    sums: Numbers
    numbers: Numbers
    biases: Numbers
    outputs: int
    rounds: bool


class Inputs(NamedTuple):
    """Activations in whole groups of rows: in 8 bits, or as numbers.

    Attributes:
        values: (rows, groups * GROUP): quantized values.
        scales, zero_points: (rows,).
        numbers: (rows, inputs).
    """

    values: npt.NDArray[np.uint8]
    scales: Numbers
    zero_points: Numbers
    numbers: Numbers


def pack(layers: Sequence[tuple[Tensor, Tensor | None]], precision: str) -> Weights:
    """Pack the weights of layers with the same input, each a matrix (out, in) and a bias, as one layer for `fp32`,
    `bf16` or `int8`. Stored int8 rows are taken as they are."""
    biases: Numbers = np.concatenate(
        [np.zeros(len(weight), np.float32) if bias is None else numbers_of(bias).numpy() for weight, bias in layers]
    )
    if precision == "int8":
        values, scales = zip(*(rows_of(weight) for weight, _ in layers), strict=True)
        return pack_rows(torch.cat(values).numpy(), torch.cat(scales).numpy(), biases)
    numbers = torch.cat([numbers_of(weight) for weight, _ in layers])
    rounded = numbers.bfloat16().float() if precision == "bf16" else numbers
    ordered, nothing = _in_blocks(rounded.numpy()), np.zeros(0, np.float32)
    packed = np.zeros((0, 0, LANES * GROUP), np.int8), nothing, nothing, ordered, _padded(biases)
    return Weights(*packed, len(biases), precision == "bf16")


def pack_rows(values: Bytes, scales: Numbers, biases: Numbers) -> Weights:
    """Pack int8 weights (out, in), whose rows were divided by `scales`."""
    values, scales = without_overflow(values, scales)
    sums = values.sum(axis=1, dtype=np.int32).astype(np.float32)
    if missing := -values.shape[1] % (FOLD * GROUP):
        values = np.pad(values, ((0, 0), (0, missing)))
    return _packed(values.view(np.int32), scales, sums, biases)


def select_outputs(linear: Weights, ids: Integers) -> Weights:
    """The weights in 8 bits restricted to these outputs."""
    groups = linear.values.view(np.int32)  # (blocks, groups, LANES)
    return _packed(groups[ids // LANES, :, ids % LANES], linear.scales[ids], linear.sums[ids], linear.biases[ids])


def _packed(groups: npt.NDArray[np.int32], scales: Numbers, sums: Numbers, biases: Numbers) -> Weights:
    """Weights in 8 bits, (out, groups) with `GROUP` inputs each, in the order in which they are read."""
    values, nothing = _in_blocks(groups).view(np.int8), np.zeros((0, 0, LANES), np.float32)
    return Weights(values, _padded(scales), _padded(sums), nothing, _padded(biases), len(biases), False)


def _in_blocks(rows: npt.NDArray[AnyT]) -> npt.NDArray[AnyT]:
    """(out, any) -> (blocks, any, LANES)"""
    whole, rest = divmod(len(rows), LANES)
    blocks = aligned((whole + (rest > 0), rows.shape[1], LANES), rows.dtype)
    blocks[:whole] = rows[: whole * LANES].reshape(whole, LANES, rows.shape[1]).transpose(0, 2, 1)
    blocks[whole:, :, :rest] = rows[whole * LANES :].T
    return blocks


def _padded(numbers: Numbers) -> Numbers:
    """An entry for each lane of all blocks."""
    return np.pad(numbers, (0, -len(numbers) % LANES))


def without_overflow(values: Bytes, scales: Numbers) -> tuple[Bytes, Numbers]:
    """The weights (out, in); outputs whose products could exceed 16 bits have a coarser scale where they are added in
    so many.

    With AVX2 the products of `2 * FOLD` inputs are added in 16 bits: those of inputs 0, 1, 4, 5, ..., and those of 2,
    3, 6, 7, ... As an input is at most 127, neither the positive weights among them nor the negative ones may have a
    sum above `MAX_WEIGHTS`. The scales of trained weights become a quarter coarser on average.
    """
    if ADDS_IN_16_BITS:
        values, scales = values.copy(), scales.copy()
        _shrink(values, scales)
    return values, scales


@compiled
def _shrink(values: Bytes, scales: Numbers) -> None:
    """Round rows with sums that are too large to fewer steps, in place."""
    inputs = values.shape[1]
    for row in range(len(values)):
        largest = 0
        for first in range(0, inputs, FOLD * GROUP):
            for pair in (first, first + 2):
                above = below = 0
                for group in range(pair, min(pair + FOLD * GROUP, inputs), GROUP):
                    for index in range(group, min(group + 2, inputs)):
                        above, below = above + max(values[row, index], 0), below - min(values[row, index], 0)
                largest = max(largest, above, below)
        if largest > MAX_WEIGHTS:
            factor = np.float32(largest / (MAX_WEIGHTS - FOLD))  # rounding adds up to half for each of 2 * FOLD
            for index in range(inputs):
                values[row, index] = np.int8(np.rint(np.float32(values[row, index]) / factor))
            scales[row] *= factor


def stacked(parts: Sequence[npt.NDArray[AnyT]]) -> npt.NDArray[AnyT]:
    """Arrays of one shape as one. Raises `ValueError` for arrays of different shapes."""
    return np.stack(parts, out=aligned((len(parts), *parts[0].shape), parts[0].dtype))


def aligned(shape: tuple[int, ...], dtype: np.dtype[AnyT]) -> npt.NDArray[AnyT]:
    """Zeros that are aligned to a cache line: otherwise every load of a register reads two lines."""
    line, size = LANES * GROUP, math.prod(shape) * dtype.itemsize
    room = np.zeros(size + line, dtype=np.int8)
    return room[-room.ctypes.data % line :][:size].view(dtype).reshape(shape)


class CompiledInt8Linear(nn.Module):
    """x W^T + b with both factors rounded to 8 bits and sums in 32-bit integers, in compiled loops."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.packed = pack([(weight, bias)], "int8")

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        return product(inputs, self.packed)

    def some(self, ids: Int[Tensor, " some"]) -> "CompiledInt8Linear":
        """The layer restricted to these outputs."""
        few = copy.copy(self)
        few.packed = select_outputs(self.packed, ids.numpy())
        return few


def product(inputs: Float[Tensor, "... in"], linear: Weights) -> Float[Tensor, "... out"]:
    """x W^T + b."""
    rows = inputs.detach().reshape(-1, inputs.shape[-1]).float().contiguous()
    outputs = rows.new_empty(len(rows), linear.outputs)
    multiply(rows.numpy(), linear, outputs.numpy())
    return outputs.unflatten(0, inputs.shape[:-1])


@compiled_noinline
def multiply(inputs: Numbers, linear: Weights, outputs: Numbers) -> None:
    """outputs (rows, out) = x W^T + b for inputs (rows, in)."""
    noinline()
    multiply_rows(inputs, linear, outputs, False)


@compiled
def multiply_rows(given: Numbers, linear: Weights, outputs: Numbers, added: bool) -> None:
    """Write the products to the outputs, (rows, out), or add them."""
    inputs, count, total = prepare_inputs(given, linear), len(given), count_blocks(linear)
    for block in range(0, total, TILE):
        blocks = min(TILE, total - block)
        for first in range(0, count, GROUP):
            fit = min(GROUP, count - first)
            multiply_tile(inputs, first, fit, linear, block, blocks, outputs, first, block * LANES, added)


@compiled
def count_blocks(linear: Weights) -> int:
    """The number of blocks of outputs."""
    return -(-linear.outputs // LANES)


@compiled
def prepare_inputs(given: Numbers, linear: Weights) -> Inputs:
    """Activations, (rows, inputs), in the form for these weights. Additional rows are uninitialized and never read; the
    weights of additional inputs are zero."""
    rows, is_int8 = -(-len(given) // GROUP) * GROUP, len(linear.numbers) == 0
    values = np.empty((rows if is_int8 else 0, linear.values.shape[1] * GROUP), dtype=np.uint8)
    scales, zero_points = np.zeros(rows, dtype=np.float32), np.zeros(rows, dtype=np.float32)
    if is_int8:
        for row in range(len(given)):
            scales[row], zero_points[row] = _to_bytes(given[row], values[row])
        return Inputs(values, scales, zero_points, given)
    numbers = np.empty((rows, given.shape[1]), dtype=np.float32)
    for row in range(len(given)):
        numbers[row] = given[row]
    if linear.rounds:
        bits = numbers.view(np.uint32)
        for row in range(len(given)):
            for index in range(bits.shape[1]):  # to the nearest number in bf16, to the even one of two
                bits[row, index] += np.uint32(0x7FFF) + ((bits[row, index] >> np.uint32(16)) & np.uint32(1))
                bits[row, index] &= np.uint32(0xFFFF0000)
    return Inputs(values, scales, zero_points, numbers)


@compiled
def _to_bytes(values: Numbers, rounded: npt.NDArray[np.uint8]) -> tuple[np.float32, np.float32]:
    """Quantize a row into `rounded`; returns scale and zero point."""
    below = above = np.float32(0)
    for index in range(len(values)):
        below, above = maximum(below, -values[index]), maximum(above, values[index])
    scale = maximum((above + below) / STEPS, np.float32(1e-30))  # if all values are zero, any scale but 0 is valid
    zero_point = np.float32(round(below / scale))
    rate = np.float32(1) / scale
    for index in range(len(values)):
        rounded[index] = np.uint8(min(values[index] * rate + zero_point + np.float32(0.5), STEPS))
    return scale, zero_point


# --- sub-layers ---


class Norm(NamedTuple):
    """A layer normalization: before its sub-layer if `first` (pre-norm), else after the residual sum."""

    weight: Numbers
    bias: Numbers
    epsilon: float
    first: bool


@compiled_noinline
def normalize(inputs: Numbers, norm: Norm, outputs: Numbers) -> None:
    """Layer normalization of each row, (rows, model); may work in place."""
    noinline()
    size = inputs.shape[1]
    for row in range(len(inputs)):
        first = row * size
        mean = total_of(inputs, first, size) / np.float32(size)
        variance = squares_of(inputs, first, size, mean) / np.float32(size)
        rate = np.float32(1 / math.sqrt(variance + norm.epsilon))
        standardize(inputs, first, size, mean, rate, norm.weight, norm.bias, outputs)


@compiled_noinline
def project_in(hidden: Numbers, norm: Norm, linear: Weights, outputs: Numbers) -> None:
    """The first product of a sub-layer, (rows, out)."""
    noinline()
    if norm.first:
        normalized = np.empty_like(hidden)
        normalize(hidden, norm, normalized)
        multiply(normalized, linear, outputs)
    else:
        multiply(hidden, linear, outputs)


@compiled_noinline
def project_out(inputs: Numbers, linear: Weights, norm: Norm, hidden: Numbers) -> None:
    """The last product of a sub-layer, added to the residual."""
    noinline()
    multiply_rows(inputs, linear, hidden, True)
    if not norm.first:
        normalize(hidden, norm, hidden)


@compiled_noinline
def feed_forward(hidden: Numbers, norm: Norm, inner: Weights, activation: int, outer: Weights) -> None:
    """The feed-forward network with its residual connection; `activation` is an index in
    `layers.feed_forward.ACTIVATIONS`."""
    noinline()
    activated = np.empty((len(hidden), inner.outputs), dtype=np.float32)
    project_in(hidden, norm, inner, activated)
    if activation == 0:
        rectify(activated, activated.size)
    else:
        _activate(activated, activation)
    project_out(activated, outer, norm, hidden)


@compiled_noinline
def _activate(activated: Numbers, activation: int) -> None:
    """Activations other than ReLU, one number at a time."""
    noinline()
    for row in range(len(activated)):
        for index in range(activated.shape[1]):
            value = activated[row, index]
            if activation == 1:
                value *= np.float32(0.5 * (1 + math.erf(value / math.sqrt(2))))
            else:
                value /= np.float32(1 + math.exp(-value))
            activated[row, index] = value
