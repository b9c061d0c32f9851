"""Sums and functions of rows in explicit vectors of `LANES`: dot products, softmax, weighted sums, moments.

The order of every sum is fixed: lane by lane along a row, then the lanes in a fixed tree. So a result has the same bits
wherever the code is inlined, in any batch, and whether it was just compiled or loaded from disk; none of this holds for
loops that numba vectorizes. The remainder of a row after its last whole vector is loaded with a mask.

Arrays are contiguous and of any shape; a row is given by its flat index in the array and its size.
"""

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types

from limelight.inference.cpu.simd import LANES, NUMBERS, SUMS, add_lanes, call, in_all_lanes, instruction, ir
from limelight.inference.cpu.simd_softmax import exponential

MASK = ir.VectorType(ir.IntType(1), LANES)
WORD = ir.IntType(64)
Body = Callable[[Any, Any], None]
"""Emits the code for the vector at an offset, with a mask if it is not a whole one."""


class _Row:
    """A row of an array, with vector loads and stores."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any, first: Any) -> None:
        self.builder = builder
        self.start = builder.gep(context.make_array(kind)(context, builder, array).data, [first])

    def at(self, offset: Any) -> Any:
        """The address of the vector at an offset."""
        return self.builder.bitcast(self.builder.gep(self.start, [offset]), NUMBERS.as_pointer())

    def load(self, offset: Any, mask: Any = None, *, filled: float = 0.0) -> Any:
        """The vector at an offset; masked lanes are `filled`."""
        if mask is None:
            return self.builder.load(self.at(offset), align=4)
        given = [self.at(offset), ir.Constant(ir.IntType(32), 4), mask, constant(filled)]
        return call(self.builder, "llvm.masked.load.v16f32.p0", NUMBERS, *given)

    def store(self, value: Any, offset: Any, mask: Any = None) -> None:
        """Write the vector at an offset except masked lanes."""
        if mask is None:
            self.builder.store(value, self.at(offset), align=4)
            return
        given = [value, self.at(offset), ir.Constant(ir.IntType(32), 4), mask]
        call(self.builder, "llvm.masked.store.v16f32.p0", ir.VoidType(), *given)


def constant(value: float) -> Any:
    """A vector with the same number in all lanes."""
    return ir.Constant(NUMBERS, [value] * LANES)


def lanes_below(builder: Any, count: Any) -> Any:
    """A mask of the first `count` lanes."""
    places = ir.Constant(SUMS, list(range(LANES)))
    return builder.icmp_signed("<", places, in_all_lanes(builder, builder.trunc(count, ir.IntType(32))))


def _along(builder: Any, size: Any, body: Body) -> None:
    """Emit `body` for each vector of a row, in order."""
    shift, rest = ir.Constant(WORD, LANES.bit_length() - 1), builder.and_(size, ir.Constant(WORD, LANES - 1))
    with cgutils.for_range(builder, builder.lshr(size, shift)) as loop:
        body(builder.shl(loop.index, shift), None)
    with builder.if_then(builder.icmp_signed(">", rest, ir.Constant(WORD, 0))):
        body(builder.sub(size, rest), lanes_below(builder, rest))


class _Sum:
    """A vector of sums in a register."""

    def __init__(self, builder: Any, first: Any = None) -> None:
        self.builder, self.place = builder, cgutils.alloca_once(builder, NUMBERS)
        builder.store(constant(0.0) if first is None else first, self.place)

    @property
    def value(self) -> Any:
        return self.builder.load(self.place)

    def become(self, value: Any) -> None:
        self.builder.store(value, self.place)

    def add_product(self, one: Any, other: Any) -> None:
        """Add the product of two vectors."""
        self.become(call(self.builder, "llvm.fmuladd.v16f32", NUMBERS, one, other, self.value))


@instruction
def copy(typing: Any, source: Any, at: Any, target: Any, where: Any, size: Any) -> Any:
    """Copy a row to `where` in the target."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        first, second = (_Row(context, builder, signature.args[n], given[n], given[n + 1]) for n in (0, 2))
        _along(builder, given[4], lambda place, mask: second.store(first.load(place, mask), place, mask))
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp, types.intp), generate


@instruction
def dot(typing: Any, one: Any, at: Any, other: Any, where: Any, size: Any) -> Any:
    """The sum of the products of two rows, which begin at `at` and at `where`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        first, second = (_Row(context, builder, signature.args[n], given[n], given[n + 1]) for n in (0, 2))
        total = _Sum(builder)
        _along(builder, given[4], lambda place, mask: total.add_product(first.load(place, mask),
                                                                        second.load(place, mask)))  # fmt: skip
        return add_lanes(builder, total.value)

    return types.float32(one, types.intp, other, types.intp, types.intp), generate


@instruction
def exponentiate(typing: Any, scores: Any, at: Any, size: Any) -> Any:
    """Replace a row of scores by exp(score - maximum); returns their sum."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        row, least = _Row(context, builder, scores, given[0], given[1]), -3e38
        most, total = _Sum(builder, constant(least)), _Sum(builder)

        def compare(place: Any, mask: Any) -> None:
            most.become(call(builder, "llvm.maxnum.v16f32", NUMBERS, most.value, row.load(place, mask, filled=least)))

        _along(builder, given[2], compare)
        largest = call(builder, "llvm.vector.reduce.fmax.v16f32", ir.FloatType(), most.value, fastmath=("nnan",))
        reference = in_all_lanes(builder, largest)

        def replace(place: Any, mask: Any) -> None:
            power = exponential(builder, builder.fsub(row.load(place, mask, filled=least), reference))
            power = power if mask is None else builder.select(mask, power, constant(0.0))
            row.store(power, place, mask)
            total.become(builder.fadd(total.value, power))

        _along(builder, given[2], replace)
        return add_lanes(builder, total.value)

    return types.float32(scores, types.intp, types.intp), generate


@instruction
def weighted_sum(
    typing: Any, weights: Any, at: Any, total: Any, rows: Any, places: Any, count: Any, stride: Any, start: Any,
    size: Any, result: Any, where: Any,
) -> Any:  # fmt: skip
    """Write the sum of weight / total * row over `count` weights from `at` on to `where` in the result. The row of a
    weight begins at place * stride + start, and has `size` numbers."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = dict(zip(("total", "count", "stride", "start", "size"), (given[n] for n in (2, 5, 6, 7, 8)),
                          strict=True))  # fmt: skip
        values = _Row(context, builder, rows, given[3], number["start"])
        target = _Row(context, builder, result, given[9], given[10])
        data = context.make_array(weights)(context, builder, given[0]).data
        own = context.make_array(places)(context, builder, given[4]).data
        share = in_all_lanes(builder, builder.fdiv(ir.Constant(ir.FloatType(), 1.0), number["total"]))

        def add_up(offset: Any, vectors: int, mask: Any = None) -> None:
            sums = [_Sum(builder) for _ in range(vectors)]
            offsets = [builder.add(offset, ir.Constant(WORD, LANES * each)) for each in range(vectors)]
            with cgutils.for_range(builder, number["count"]) as loop:
                weight = builder.load(builder.gep(data, [builder.add(given[1], loop.index)]))
                weight = in_all_lanes(builder, weight)
                row = builder.mul(builder.load(builder.gep(own, [loop.index])), number["stride"])
                for each, one in zip(offsets, sums, strict=True):
                    one.add_product(weight, values.load(builder.add(row, each), mask))
            for each, one in zip(offsets, sums, strict=True):
                target.store(builder.fmul(one.value, share), each, mask)

        _in_turn(builder, number["size"], add_up)
        return context.get_dummy_value()

    kinds = weights, types.intp, types.float32, rows, places, *[types.intp] * 4, result, types.intp
    return types.void(*kinds), generate


def _in_turn(builder: Any, size: Any, body: Callable[..., None]) -> None:
    """Process a row in groups of four vectors, then of two, one, and a masked remainder."""
    done = cgutils.alloca_once_value(builder, ir.Constant(WORD, 0))
    for vectors in (4, 2, 1):
        width = ir.Constant(WORD, vectors * LANES)
        with cgutils.for_range(builder, builder.udiv(builder.sub(size, builder.load(done)), width)):
            body(builder.load(done), vectors)
            builder.store(builder.add(builder.load(done), width), done)
    rest = builder.sub(size, builder.load(done))
    with builder.if_then(builder.icmp_signed(">", rest, ir.Constant(WORD, 0))):
        body(builder.load(done), 1, lanes_below(builder, rest))


@instruction
def total_of(typing: Any, values: Any, at: Any, size: Any) -> Any:
    """The sum of a row."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        row, total = _Row(context, builder, values, given[0], given[1]), _Sum(builder)
        _along(builder, given[2], lambda place, mask: total.become(builder.fadd(total.value, row.load(place, mask))))
        return add_lanes(builder, total.value)

    return types.float32(values, types.intp, types.intp), generate


@instruction
def squares_of(typing: Any, values: Any, at: Any, size: Any, mean: Any) -> Any:
    """The sum of squared differences of a row from `mean`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        row, total = _Row(context, builder, values, given[0], given[1]), _Sum(builder)
        mean = in_all_lanes(builder, given[3])

        def add(place: Any, mask: Any) -> None:
            difference = builder.fsub(row.load(place, mask), mean)
            difference = difference if mask is None else builder.select(mask, difference, constant(0.0))
            total.add_product(difference, difference)

        _along(builder, given[2], add)
        return add_lanes(builder, total.value)

    return types.float32(values, types.intp, types.intp, types.float32), generate


@instruction
def standardize(
    typing: Any, values: Any, at: Any, size: Any, mean: Any, rate: Any, factors: Any, addends: Any, result: Any
) -> Any:
    """Write (value - mean) * rate * factor + addend of a row to the same place in the result."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zero = ir.Constant(WORD, 0)
        row, target = (_Row(context, builder, signature.args[n], given[n], given[1]) for n in (0, 7))
        factor, addend = (_Row(context, builder, signature.args[n], given[n], zero) for n in (5, 6))
        mean, rate = (in_all_lanes(builder, given[n]) for n in (3, 4))

        def write(place: Any, mask: Any) -> None:
            part = builder.fmul(builder.fsub(row.load(place, mask), mean), rate)
            part = builder.fmul(part, factor.load(place, mask))
            target.store(builder.fadd(part, addend.load(place, mask)), place, mask)

        _along(builder, given[2], write)
        return context.get_dummy_value()

    kinds = values, types.intp, types.intp, types.float32, types.float32, factors, addends, result
    return types.void(*kinds), generate


@instruction
def rectify(typing: Any, values: Any, size: Any) -> Any:
    """ReLU of the first `size` numbers in place; NaN is kept."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        row = _Row(context, builder, values, given[0], ir.Constant(WORD, 0))

        def write(place: Any, mask: Any) -> None:
            found = row.load(place, mask)
            negative = builder.fcmp_ordered("<", found, constant(0.0))
            row.store(builder.select(negative, constant(0.0), found), place, mask)

        _along(builder, given[1], write)
        return context.get_dummy_value()

    return types.void(values, types.intp), generate
