"""Sums and functions of rows in vectors: dot products, softmax, weighted sums, moments.

The order of every sum is fixed: lane by lane along a row, then the lanes in a fixed tree. So a result has the same bits
wherever the code is inlined, in any batch, and whether it was just compiled or loaded from disk; none of this holds for
loops that numba vectorizes.

Arrays are contiguous and of any shape; a row is given by its flat index in the array and its size.
"""

import math
from collections.abc import Callable

from limelight.inference.cpu.lanes import (
    INTEGERS,
    LANES,
    NUMBERS,
    Array,
    Index,
    Number,
    Register,
    Value,
    along,
    call,
    instruction,
    ir,
    lanes_below,
    loop,
    where,
)  # fmt: skip
from limelight.inference.cpu.products import TILE

LOWEST = -3e38
"""Below every score."""

TERMS = 7
"""Terms of the series of 2^f for f between -1/2 and 1/2: the digits of single precision."""


def _zeros(value: Value) -> Value:
    return value.of(ir.Constant(NUMBERS, [0.0] * LANES))


def _register(value: Value, first: float = 0.0) -> Register:
    return Register(_zeros(value).like(first))


@instruction
def copy(source: Array, at: Index, target: Array, start: Index, size: Index) -> None:
    """Copy a row to `start` in the target."""
    along(size, lambda offset, mask: target.store(start + offset, source.load(at + offset, mask), mask))


@instruction
def dot(one: Array, at: Index, other: Array, start: Index, size: Index) -> Number:
    """The sum of the products of two rows, which begin at `at` and at `start`."""
    total = _register(size)
    along(size, lambda offset, mask: total.add_product(one.load(at + offset, mask), other.load(start + offset, mask)))
    return total.value.total()  # type: ignore[return-value]


@instruction
def exponentiate(scores: Array, size: Index) -> Number:
    """Replace a row of scores by exp(score - maximum); returns their sum."""
    most, total = _register(size, LOWEST), _register(size)

    def compare(offset: Value, mask: Value | None) -> None:
        most.value = most.value.maximum(scores.load(offset, mask, filled=LOWEST))

    along(size, compare)
    reference = most.value.largest().in_all_lanes()

    def replace(offset: Value, mask: Value | None) -> None:
        power = exponential(scores.load(offset, mask, filled=LOWEST) - reference)
        power = power if mask is None else mask.select(power, 0.0)
        scores.store(offset, power, mask)
        total.value = total.value + power

    along(size, replace)
    return total.value.total()  # type: ignore[return-value]


def exponential(values: Value) -> Value:
    """e to the numbers of a vector that are not above zero; at least 2^-126.

    2^x is 2^n, with integer n, times 2^f with f between -1/2 and 1/2, by its series.
    """
    exponent = (values * math.log2(math.e)).maximum(-126.0)
    whole = (exponent - 0.5).convert("fptosi", INTEGERS)  # truncation rounds to nearest, as no exponent is above zero
    part = exponent - whole.convert("sitofp", NUMBERS)
    first, *factors = (math.log(2) ** power / math.factorial(power) for power in reversed(range(TERMS)))
    series = values.like(first)
    for factor in factors:
        series = call("llvm.fmuladd.v16f32", NUMBERS, series, part, values.like(factor))
    return series * ((whole + 127) << 23).convert("bitcast", NUMBERS)


@instruction
def weighted_sum(
    weights: Array, total: Number, rows: Array, positions: Array, count: Index, stride: Index,
    start: Index, size: Index, result: Array, target: Index,
) -> None:  # fmt: skip
    """Write the sum of weight / total * row over the first `count` weights to `target` in the result. The row of a
    weight begins at position * stride + start, and has `size` numbers."""
    share = (total.like(1.0) / total).in_all_lanes()

    def add_up(offset: Value, vectors: int, mask: Value | None = None) -> None:
        sums = [_register(offset) for _ in range(vectors)]
        with loop(count) as number:
            weight = weights.load(number, kind=ir.FloatType()).in_all_lanes()
            row = positions.load(number, kind=ir.IntType(64)) * stride + start + offset
            for tile, register in enumerate(sums):
                register.add_product(weight, rows.load(row + LANES * tile, mask))
        for tile, register in enumerate(sums):
            result.store(target + offset + LANES * tile, register.value * share, mask)

    _in_groups(size, add_up)


def _in_groups(size: Value, body: Callable[..., None]) -> None:
    """Process a row in groups of four vectors, then of two, one, and a masked remainder."""
    done = Register(size.like(0))
    for vectors in (4, 2, 1):
        with loop((size - done.value) // (vectors * LANES)):
            body(done.value, vectors)
            done.value = done.value + vectors * LANES
    rest = size - done.value
    with where(rest > 0):
        body(done.value, 1, lanes_below(rest))


@instruction
def total_of(values: Array, at: Index, size: Index) -> Number:
    """The sum of a row."""
    total = _register(size)

    def add(offset: Value, mask: Value | None) -> None:
        total.value = total.value + values.load(at + offset, mask)

    along(size, add)
    return total.value.total()  # type: ignore[return-value]


@instruction
def squares_of(values: Array, at: Index, size: Index, mean: Number) -> Number:
    """The sum of squared differences of a row from `mean`."""
    total, center = _register(size), mean.in_all_lanes()

    def add(offset: Value, mask: Value | None) -> None:
        difference = values.load(at + offset, mask) - center
        difference = difference if mask is None else mask.select(difference, 0.0)
        total.add_product(difference, difference)

    along(size, add)
    return total.value.total()  # type: ignore[return-value]


@instruction
def standardize(
    values: Array, at: Index, size: Index, mean: Number, rate: Number, factors: Array, addends: Array, result: Array
) -> None:
    """Write (value - mean) * rate * factor + addend of a row to the same index in the result."""
    center, scale = mean.in_all_lanes(), rate.in_all_lanes()

    def write(offset: Value, mask: Value | None) -> None:
        part = (values.load(at + offset, mask) - center) * scale * factors.load(offset, mask)
        result.store(at + offset, part + addends.load(offset, mask), mask)

    along(size, write)


@instruction
def rectify(values: Array, size: Index) -> None:
    """ReLU of the first `size` numbers in place; NaN is kept."""

    def write(offset: Value, mask: Value | None) -> None:
        number = values.load(offset, mask)
        values.store(offset, (number < 0.0).select(number.like(0.0), number), mask)

    along(size, write)


@instruction
def largest_logit(logits: Array, row: Index) -> Number:
    """The largest of a row of a tile of logits, (rows, `TILE` * `LANES`)."""
    largest, *others = _tile(logits, row)
    for vector in others:
        largest = largest.maximum(vector)
    return largest.largest()  # type: ignore[return-value]


@instruction
def add_exponentials(logits: Array, row: Index, most: Number, sums: Array, target: Index) -> None:
    """Add exp(logit - most) of a row of a tile of logits to a row of the sums, (any, `LANES`). NaN is added where a
    logit is infinite or NaN; no finite one may exceed `most`."""
    reference, total = most.in_all_lanes(), sums.load(target * LANES)
    for vector in _tile(logits, row):
        total = total + exponential(vector - reference)
        total = call("llvm.fmuladd.v16f32", NUMBERS, vector, _zeros(most), total)
    sums.store(target * LANES, total)


def _tile(logits: Array, row: Value) -> list[Value]:
    """The vectors of a row of a tile."""
    return [logits.load(row * (TILE * LANES) + LANES * number) for number in range(TILE)]
