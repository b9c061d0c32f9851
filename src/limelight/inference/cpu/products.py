"""Products of matrices in tiles: sixteen outputs at a time, for up to four rows for which a weight is read once."""

from typing import Any

import numpy as np

from limelight.inference.cpu.lanes import (
    AVX2,
    INTEGERS,
    LANES,
    NUMBERS,
    VNNI,
    Array,
    Fields,
    Flag,
    Index,
    Register,
    Value,
    call,
    instruction,
    ir,
    lanes_below,
    loop,
    where,
)  # fmt: skip

GROUP = 4
"""Inputs in 8 bits whose products are added to a sum at once; also rows of a tile."""

TILE = 4
"""Blocks of `LANES` outputs in a tile of `GROUP` rows."""

FOLD = 4
"""Groups of inputs whose products are added in 16 bits with AVX2, see `weights.without_overflow`."""

ADDS_IN_16_BITS = AVX2 and not VNNI
STEPS = np.float32(127 if ADDS_IN_16_BITS else 255)
"""Number of quantization steps of an activation in 8 bits."""

BYTES = ir.VectorType(ir.IntType(8), LANES * GROUP)
HALF = LANES * GROUP // 2
HALF_BYTES, WORDS, HALF_SUMS = (
    ir.VectorType(ir.IntType(8), HALF), ir.VectorType(ir.IntType(16), LANES), ir.VectorType(ir.IntType(32), LANES // 2),
)  # fmt: skip


@instruction
def multiply_tile(
    inputs: Fields, first: Index, count: Index, weights: Fields, block: Index, blocks: Index, target: Array, row: Index,
    column: Index, added: Flag,
) -> None:  # fmt: skip
    """Write the outputs of `count` rows from `first` on, at most `GROUP`, and of the weights' next `blocks` blocks from
    `block` on, at most `TILE`, into the target, (any, any), from this row and column on; or add them to what is there.
    Behind the last output of the weights nothing is written.

    `inputs` are `weights.Inputs`, `weights` are `weights.Weights`. The result of a row has the same bits in any tile:
    sums of bytes are integers, sums of numbers are taken in the order of the inputs, and none of the further steps is
    fused with another.
    """
    stride = target.size(1)
    start = row * stride + column - block * LANES
    for least, most in ((1, 1), (2, 2), (3, GROUP)):
        with where((count >= least) & (count <= most)):
            is_int8 = weights.numbers.size(0).equals(0)
            with count.builder.if_else(is_int8.raw) as (of_bytes, of_numbers):
                arguments = inputs, weights, first, count, target, start, stride, added
                with of_bytes:
                    if AVX2:  # elsewhere there are no weights in 8 bits
                        _ByteTile(*arguments).write(most, block, blocks)
                with of_numbers:
                    _Tile(*arguments).write(most, block, blocks)


class _Tile:
    """A tile of products of numbers. `start` is the index in the target of the first row's output 0.

    An instruction that adds products takes four or five cycles, and two can begin in each. So the sums of a whole tile
    are kept in registers where there are 32 of them (AVX-512); with 16 the sums of one or two blocks are.
    """

    zeros = ir.Constant(NUMBERS, [0.0] * LANES)
    rows_at_a_time = GROUP

    def __init__(
        self, inputs: Fields, weights: Fields, first: Value, count: Value, target: Array, start: Value, stride: Value,
        added: Value,
    ) -> None:  # fmt: skip
        self.outputs, self.biases = weights.outputs, weights.biases
        self.take(inputs, weights)
        self.first, self.count = first, count
        self.target, self.start, self.stride, self.added = target, start, stride, added

    def take(self, inputs: Fields, weights: Fields) -> None:
        """The arrays that are needed."""
        self.inputs, self.weights = inputs.numbers, weights.numbers

    def add(self, first: int, sums: list[list[Register]], block: Value) -> None:
        """Add all products of rows from `first` on to the sums of each row and block."""
        count = self.weights.size(1)
        with loop(count) as index:
            weights = [self.weights.load(((block + number) * count + index) * LANES) for number in range(len(sums[0]))]
            for row, of_row in enumerate(sums, start=first):
                given = self.inputs.load((self.first + row) * count + index, kind=ir.FloatType())
                for register, weight in zip(of_row, weights, strict=True):
                    register.add_product(given.in_all_lanes(), weight)

    def scale_of(self, row: Value) -> Any:
        """What turns the sums of a row into its outputs; sums of numbers are outputs."""

    def output(self, total: Value, lane: Value, scale: Any) -> Value:
        """The outputs from a sum, without their biases."""
        return total

    def write(self, rows: int, block: Value, blocks: Value) -> None:
        """The outputs of a fixed number of rows: without masks where there are `TILE` whole blocks."""
        together = TILE if VNNI else 2 if rows == 1 else 1
        is_whole = blocks.equals(TILE) & ((block + TILE) * LANES <= self.outputs)
        with block.builder.if_else(is_whole.raw) as (then, otherwise):
            with then, loop(block.like(TILE // together)) as number:
                self._fill(rows, block + number * together, together, whole=True)
            with otherwise, loop(blocks) as number:
                self._fill(rows, block + number, 1, whole=False)

    def _fill(self, rows: int, block: Value, count: int, *, whole: bool) -> None:
        """The outputs of `count` blocks together."""
        at_a_time = min(rows, self.rows_at_a_time)
        for first in range(0, rows, at_a_time):
            sums = [[Register(block.of(self.zeros)) for _ in range(count)] for _ in range(at_a_time)]
            self.add(first, sums, block)
            for number, of_row in enumerate(sums, start=first):
                with where(block.like(number) < self.count):
                    self._store(number, [register.value for register in of_row], block, whole=whole)

    def _store(self, number: int, sums: list[Value], block: Value, *, whole: bool) -> None:
        """Write the outputs of a row of the tile."""
        scale = self.scale_of(self.first + number)
        for inside, total in enumerate(sums):
            lane = (block + inside) * LANES
            output = self.output(total, lane, scale) + self.biases.load(lane)
            left = self.outputs - lane
            mask = None if whole else lanes_below((left < LANES).select(left, LANES))
            index = self.start + self.stride * number + lane
            before = self.target.load(index, mask)
            self.target.store(index, self.added.select(before + output, output), mask)


class _ByteTile(_Tile):
    """A tile of products of bytes."""

    zeros = ir.Constant(INTEGERS, [0] * LANES)
    rows_at_a_time = 2 if ADDS_IN_16_BITS else GROUP

    def take(self, inputs: Fields, weights: Fields) -> None:
        self.inputs, self.input_scales, self.zero_points = inputs.values, inputs.scales, inputs.zero_points
        self.weights, self.scales, self.sums = weights.values, weights.scales, weights.sums

    def add(self, first: int, sums: list[list[Register]], block: Value) -> None:
        groups = self.weights.size(1)
        if ADDS_IN_16_BITS:
            self._add_folded(first, sums, block, groups)
            return
        with loop(groups) as group:
            weights = [self._weights(block + number, groups, group, BYTES) for number in range(len(sums[0]))]
            for row, of_row in enumerate(sums, start=first):
                given = self._inputs(row, groups, group).convert("bitcast", BYTES)
                for register, weight in zip(of_row, weights, strict=True):
                    register.value = call("llvm.x86.avx512.vpdpbusd.512", INTEGERS, register.value, given, weight)

    def scale_of(self, row: Value) -> list[Value]:
        parts = self.input_scales, self.zero_points
        return [part.load(row, kind=ir.FloatType()).in_all_lanes() for part in parts]

    def output(self, total: Value, lane: Value, scale: list[Value]) -> Value:
        factor, zero_point = scale
        exact = total.convert("sitofp", NUMBERS) - zero_point * self.sums.load(lane)
        return exact * factor * self.scales.load(lane)

    def _add_folded(self, first: int, sums: list[list[Register]], block: Value, groups: Value) -> None:
        """The same with AVX2 instructions, `FOLD` groups at a time: products of bytes are added in pairs, and `FOLD` of
        those, in 16 bits, then two of those in 32 bits."""
        blocks, ones = range(len(sums[0])), block.of(ir.Constant(WORDS, [1] * LANES))
        with loop(groups // FOLD) as turn:
            partial: dict[tuple[int, int, int], Value] = {}
            for inside in range(FOLD):
                group = turn * FOLD + inside
                weights = {
                    (number, part): self._weights(block + number, groups, group, HALF_BYTES, part * HALF)
                    for number in blocks for part in (0, 1)
                }  # fmt: skip
                for row in range(len(sums)):
                    given = self._inputs(first + row, groups, group)
                    zeros = ir.Constant(HALF_SUMS, [0] * (LANES // 2))
                    half = given.of(given.builder.shuffle_vector(given.raw, given.raw, zeros))
                    half = half.convert("bitcast", HALF_BYTES)
                    for (number, part), weight in weights.items():
                        products = call("llvm.x86.avx2.pmadd.ub.sw", WORDS, half, weight)
                        key = row, number, part
                        partial[key] = partial[key] + products if inside else products
            for row, of_row in enumerate(sums):
                for number, register in enumerate(of_row):
                    halves = [
                        call("llvm.x86.avx2.pmadd.wd", HALF_SUMS, partial[row, number, part], ones) for part in (0, 1)
                    ]
                    all_lanes = ir.Constant(INTEGERS, list(range(LANES)))
                    more = block.builder.shuffle_vector(halves[0].raw, halves[1].raw, all_lanes)
                    register.value = register.value + block.of(more)

    def _weights(self, block: Value, groups: Value, group: Value, kind: Any, more: int = 0) -> Value:
        """A vector of the weights of a block for a group of inputs, from the byte `more` on."""
        return self.weights.load((block * groups + group) * (LANES * GROUP) + more, kind=kind)

    def _inputs(self, row: int, groups: Value, group: Value) -> Value:
        """A group of inputs of a row in all lanes."""
        return self.inputs.load(((self.first + row) * groups + group) * GROUP, kind=ir.IntType(32)).in_all_lanes()
