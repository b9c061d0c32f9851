"""Vector instructions for the softmax over a tile of logits: its largest, and the sum of their exponentials.

As loops that numba vectorizes, they took nearly as long as the product that makes the logits: a tile has only `TILE`
vectors, and each of its loops ended with a sum over the lanes of one.
"""

import math
from typing import Any

from numba.core import types

from limelight.inference.cpu.simd import LANES, NUMBERS, SUMS, TILE, call, in_all_lanes, instruction, ir

TERMS = 7
"""Terms of the series of 2^f for f between -1/2 and 1/2: the digits of single precision."""


@instruction
def largest_logit(typing: Any, logits: Any, row: Any) -> Any:
    """The largest of a row of the logits, (rows, `TILE` * `LANES`)."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        largest, *others = _vectors(context, builder, logits, given[0], given[1])
        for vector in others:
            largest = call(builder, "llvm.maxnum.v16f32", NUMBERS, largest, vector)
        return call(builder, "llvm.vector.reduce.fmax.v16f32", ir.FloatType(), largest, fastmath=("nnan",))

    return types.float32(logits, types.intp), generate


@instruction
def add_exponentials(typing: Any, logits: Any, row: Any, most: Any, sums: Any, place: Any) -> Any:
    """Add exp(logit - most) of a row of the logits, (rows, `TILE` * `LANES`), to the sums in this place, (places,
    `LANES`). NaN is added where a logit is infinite or NaN; no finite one may exceed `most`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = _address(context, builder, sums, given[3], given[4], LANES)
        reference, total = in_all_lanes(builder, given[2]), builder.load(at, align=1)
        for vector in _vectors(context, builder, logits, given[0], given[1]):
            total = builder.fadd(total, exponential(builder, builder.fsub(vector, reference)))
            total = call(builder, "llvm.fmuladd.v16f32", NUMBERS, vector, _constant(0.0), total)
        builder.store(total, at, align=1)
        return context.get_dummy_value()

    return types.void(logits, types.intp, types.float32, sums, types.intp), generate


def exponential(builder: Any, values: Any) -> Any:
    """e to the numbers of a vector that are not above zero: see `exponential.exponential`."""
    scaled = builder.fmul(values, _constant(math.log2(math.e)))
    exponent = call(builder, "llvm.maxnum.v16f32", NUMBERS, scaled, _constant(-126.0))
    whole = builder.fptosi(builder.fsub(exponent, _constant(0.5)), SUMS)
    part = builder.fsub(exponent, builder.sitofp(whole, NUMBERS))
    first, *factors = [_constant(math.log(2) ** power / math.factorial(power)) for power in reversed(range(TERMS))]
    series = first
    for factor in factors:
        series = call(builder, "llvm.fmuladd.v16f32", NUMBERS, series, part, factor)
    bits = builder.shl(builder.add(whole, ir.Constant(SUMS, [127] * LANES)), ir.Constant(SUMS, [23] * LANES))
    return builder.fmul(series, builder.bitcast(bits, NUMBERS))


def _vectors(context: Any, builder: Any, kind: Any, logits: Any, row: Any) -> list[Any]:
    """A row of a tile."""
    at = _address(context, builder, kind, logits, row, TILE * LANES)
    return [builder.load(builder.gep(at, [ir.Constant(ir.IntType(64), number)]), align=1) for number in range(TILE)]


def _address(context: Any, builder: Any, kind: Any, array: Any, row: Any, size: int) -> Any:
    """Where a row of a contiguous array begins, as the address of vectors."""
    data = context.make_array(kind)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(ir.IntType(64), size))])
    return builder.bitcast(first, NUMBERS.as_pointer())


def _constant(value: float) -> Any:
    return ir.Constant(NUMBERS, [value] * LANES)
