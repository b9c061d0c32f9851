"""Vector instructions that numba has no name for: sixteen sums at a time, of products of bytes.

Each function here is inlined into the compiled loops that call it.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, cast

from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

LANES = 16
"""Outputs that are summed in parallel."""

GROUP = 4
"""Inputs whose products are added to a sum at once; also rows for which a weight is read once."""

TILE = 4
"""Blocks of `LANES` outputs in a tile of `GROUP` rows."""

FOLD = 4
"""Groups of inputs whose products are added in 16 bits with AVX2, see `int8.without_overflow`."""

ir = cgutils.ir
instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)
"""Marks a function that tells numba which types it takes and gives, and how to write it in LLVM's instructions."""
SUMS, BYTES = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(8), LANES * GROUP)
NUMBERS = ir.VectorType(ir.FloatType(), LANES)


@instruction
def multiply_tile(
    typing: Any, rows: Any, first: Any, count: Any, weights: Any, block: Any, blocks: Any, target: Any, row: Any,
    column: Any, added: Any,
) -> Any:  # fmt: skip
    """Write the outputs of `count` rows from `first` on, at most `GROUP`, and of the weights' next `blocks` blocks from
    `block` on, at most `TILE`, into the target, (any, any), from this row and column on; or add them to what is there.
    Behind the last output of the weights nothing is written.

    `rows` are `int8.Int8Rows`, `weights` are `int8.Int8Weights`. The result of a row has the same bits in any tile: its
    sums are integers, and of the three steps that make numbers of them none is fused with another.

    An instruction that adds products takes five cycles, and two can begin in each. So the sums of a whole tile are kept
    in registers where there are 32 of them (VNNI); with 16 the sums of a block are. A tile of one row or of two takes
    the time of so many.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(target)(context, builder, given[6])
        at = {"target": array.data}
        for what, number in ((rows, 0), (weights, 3)):
            for place, (name, kind) in enumerate(zip(what.fields, what.types, strict=True)):
                if isinstance(kind, types.Array):
                    part = context.make_array(kind)(context, builder, builder.extract_value(given[number], place))
                    at[f"{what.instance_class.__name__}.{name}"] = part.data
        values = context.make_array(weights.types[0])(context, builder, builder.extract_value(given[3], 0))
        stride = builder.extract_value(array.shape, 1)
        start = builder.sub(builder.add(builder.mul(given[7], stride), given[8]), builder.mul(given[4], _index(LANES)))
        outputs = builder.extract_value(given[3], 4)
        tile = _Tile(
            at, given[1], given[2], builder.extract_value(values.shape, 1), _kind_of(context), outputs, start, stride,
            given[9],
        )  # fmt: skip
        for least, most in ((1, 1), (2, 2), (3, GROUP)):
            fits = builder.and_(
                builder.icmp_signed(">=", given[2], _index(least)), builder.icmp_signed("<=", given[2], _index(most))
            )
            with builder.if_then(fits):
                tile.write(builder, most, given[4], given[5])
        return context.get_dummy_value()

    kinds = rows, types.intp, types.intp, weights, types.intp, types.intp, target, types.intp, types.intp
    return types.void(*kinds, types.boolean), generate


def _index(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


class _Tile(NamedTuple):
    """What `multiply_tile` is made of: addresses by their names, the first row and how many rows there are, the groups
    of inputs, the kind of instructions, how many outputs the weights have, where the outputs of block 0 of the first
    row would stand in the target, how far its rows are apart, and whether outputs are added."""

    at: dict[str, Any]
    first: Any
    count: Any
    groups: Any
    kind: str
    outputs: Any
    start: Any
    stride: Any
    added: Any

    def write(self, builder: Any, rows: int, block: Any, blocks: Any) -> None:
        """The outputs of so many rows: without masks where there are `TILE` whole blocks."""
        end = builder.mul(builder.add(block, _index(TILE)), _index(LANES))
        fits = builder.and_(
            builder.icmp_signed("==", blocks, _index(TILE)), builder.icmp_signed("<=", end, self.outputs)
        )
        together = TILE if self.kind == "vnni" else 2 if rows == 1 else 1
        with builder.if_else(fits) as (then, otherwise):
            with then:
                if together == TILE:
                    self.fill(builder, rows, block, TILE, whole=True)
                else:
                    with cgutils.for_range(builder, _index(TILE // together)) as loop:
                        first = builder.add(block, builder.mul(loop.index, _index(together)))
                        self.fill(builder, rows, first, together, whole=True)
            with otherwise, cgutils.for_range(builder, blocks) as loop:
                self.fill(builder, rows, builder.add(block, loop.index), 1, whole=False)

    def fill(self, builder: Any, rows: int, block: Any, count: int, *, whole: bool) -> None:
        """The outputs of `count` blocks together."""
        at_a_time = min(rows, 2) if self.kind == "avx2" else rows
        for first in range(0, rows, at_a_time):
            numbers = range(first, first + at_a_time)
            sums = [[cgutils.alloca_once(builder, SUMS) for _ in range(count)] for _ in numbers]
            for one in chain.from_iterable(sums):
                builder.store(ir.Constant(SUMS, [0] * LANES), one)
            (self._add_folded if self.kind == "avx2" else self._add)(builder, first, sums, block)
            for number, of_row in zip(numbers, sums, strict=True):
                with builder.if_then(builder.icmp_signed("<", _index(number), self.count)):
                    self._store(builder, number, [builder.load(one) for one in of_row], block, whole=whole)

    def _add(self, builder: Any, first: int, sums: list[list[Any]], block: Any) -> None:
        """Add the products of rows from `first` on, group by group."""
        with cgutils.for_range(builder, self.groups) as loop:
            weights = [self._weights(builder, block, number, loop.index, SUMS) for number in range(len(sums[0]))]
            for number, of_row in enumerate(sums, start=first):
                given = self._activations(builder, number, loop.index)
                for one, weight in zip(of_row, weights, strict=True):
                    builder.store(_KINDS[self.kind](builder, builder.load(one), given, weight), one)

    def _add_folded(self, builder: Any, first: int, sums: list[list[Any]], block: Any) -> None:
        """The same with AVX2 instructions, `FOLD` groups at a time: products of bytes are added in pairs, and `FOLD` of
        those, in 16 bits, then two of those in 32 bits."""
        half_sums, words, half = (
            ir.VectorType(ir.IntType(32), LANES // 2), ir.VectorType(ir.IntType(16), LANES), LANES * GROUP // 2
        )  # fmt: skip
        half_bytes = ir.VectorType(ir.IntType(8), half)
        ones, all_lanes = ir.Constant(words, [1] * LANES), ir.Constant(SUMS, list(range(LANES)))
        with cgutils.for_range(builder, builder.udiv(self.groups, _index(FOLD))) as loop:
            partial: dict[tuple[int, int, int], Any] = {}
            for inside in range(FOLD):
                group = builder.add(builder.mul(loop.index, _index(FOLD)), _index(inside))
                weights = {
                    (number, part): self._weights(builder, block, number, group, half_bytes, part * half)
                    for number in range(len(sums[0])) for part in (0, 1)
                }  # fmt: skip
                for row in range(len(sums)):
                    given = self._activations(builder, first + row, group)
                    given = builder.shuffle_vector(given, given, ir.Constant(half_sums, [0] * (LANES // 2)))
                    given = builder.bitcast(given, half_bytes)
                    for (number, part), weight in weights.items():
                        products = call(builder, "llvm.x86.avx2.pmadd.ub.sw", words, given, weight)
                        place = row, number, part
                        partial[place] = builder.add(partial[place], products) if inside else products
            for row, of_row in enumerate(sums):
                for number, one in enumerate(of_row):
                    halves = (
                        call(builder, "llvm.x86.avx2.pmadd.wd", half_sums, partial[row, number, part], ones)
                        for part in (0, 1)
                    )
                    more = builder.shuffle_vector(*halves, all_lanes)
                    builder.store(builder.add(builder.load(one), more), one)

    def _weights(self, builder: Any, block: Any, number: int, group: Any, kind: Any, more: int = 0) -> Any:
        """A vector of the weights of a block for a group of inputs, from the byte `more` on."""
        row = builder.mul(builder.add(block, _index(number)), self.groups)
        start = builder.mul(builder.add(row, group), _index(LANES * GROUP))
        return self._load(builder, "Int8Weights.values", builder.add(start, _index(more)) if more else start, kind)

    def _activations(self, builder: Any, number: int, group: Any) -> Any:
        """A group of inputs of a row in all lanes."""
        row = builder.mul(builder.add(self.first, _index(number)), self.groups)
        start = builder.mul(builder.add(row, group), _index(GROUP))
        return in_all_lanes(builder, self._load(builder, "Int8Rows.values", start, ir.IntType(32)))

    def _store(self, builder: Any, number: int, sums: list[Any], block: Any, *, whole: bool) -> None:
        """Write the outputs of a row of the tile."""
        row = builder.add(self.first, _index(number))
        scale = in_all_lanes(builder, self._load(builder, "Int8Rows.scales", row, ir.FloatType()))
        zero_point = in_all_lanes(builder, self._load(builder, "Int8Rows.zero_points", row, ir.FloatType()))
        begin = builder.add(self.start, builder.mul(_index(number), self.stride))
        for inside, total in enumerate(sums):
            lane = builder.mul(builder.add(block, _index(inside)), _index(LANES))
            excess = builder.fmul(zero_point, self._load(builder, "Int8Weights.sums", lane, NUMBERS))
            exact = builder.fsub(builder.sitofp(total, NUMBERS), excess)
            scaled = builder.fmul(builder.fmul(exact, scale), self._load(builder, "Int8Weights.scales", lane, NUMBERS))
            output = builder.fadd(scaled, self._load(builder, "Int8Weights.biases", lane, NUMBERS))
            where = builder.gep(self.at["target"], [builder.add(begin, lane)])
            where = builder.bitcast(where, NUMBERS.as_pointer())
            if whole:
                before = builder.load(where, align=4)
                builder.store(builder.select(self.added, builder.fadd(before, output), output), where, align=4)
            else:
                self._put(builder, output, where, builder.sub(self.outputs, lane))

    def _put(self, builder: Any, output: Any, where: Any, left: Any) -> None:
        """Write those lanes of a block that are outputs, or add them."""
        lanes, four = ir.Constant(SUMS, list(range(LANES))), ir.Constant(ir.IntType(32), 4)
        word, zeros = ir.IntType(32), ir.Constant(NUMBERS, [0.0] * LANES)
        most = _index(LANES)
        left = builder.select(builder.icmp_signed("<", left, most), left, most)
        mask = builder.icmp_signed("<", lanes, in_all_lanes(builder, builder.trunc(left, word)))
        before = call(builder, "llvm.masked.load.v16f32.p0", NUMBERS, where, four, mask, zeros)
        found = builder.select(self.added, builder.fadd(before, output), output)
        call(builder, "llvm.masked.store.v16f32.p0", ir.VoidType(), found, where, four, mask)

    def _load(self, builder: Any, name: str, index: Any, kind: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(self.at[name], [index]), kind.as_pointer()), align=1)


def in_all_lanes(builder: Any, value: Any) -> Any:
    """A vector of `LANES` equal values."""
    empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(SUMS, [0] * LANES))


def call(builder: Any, name: str, result: Any, *given: Any, fastmath: tuple[str, ...] = ()) -> Any:
    """A call of an LLVM function."""
    kind = ir.FunctionType(result, [each.type for each in given])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given, fastmath=fastmath)


def add_lanes(builder: Any, vector: Any) -> Any:
    """The sum of the lanes of a vector, by halves: always in the same order."""
    count = vector.type.count
    while count > 1:
        count //= 2
        halves = (ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(at, at + count))) for at in (0, count))
        vector = builder.fadd(*(builder.shuffle_vector(vector, vector, lanes) for lanes in halves))
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@instruction
def apart(typing: Any) -> Any:
    """Mark the function that begins with this call as never inlined, see `jit.compiled`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def _products_in_one(builder: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """Products and sums with the VNNI instruction."""
    kind = ir.FunctionType(SUMS, [SUMS, BYTES, BYTES])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpbusd.512")
    return builder.call(function, [sums, builder.bitcast(activations, BYTES), builder.bitcast(weights, BYTES)])


def _products_in_turn(builder: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """The same on any machine: the first of each lane, the second, and so on."""
    for index in range(GROUP):
        above, below = (ir.Constant(SUMS, [bits] * LANES) for bits in (24 - 8 * index, 8 * index))
        weight = builder.ashr(builder.shl(weights, above), ir.Constant(SUMS, [24] * LANES))
        activation = builder.and_(builder.lshr(activations, below), ir.Constant(SUMS, [255] * LANES))
        sums = builder.add(sums, builder.mul(activation, weight))
    return sums


_KINDS = {"vnni": _products_in_one, "any": _products_in_turn}


def _kind_of(context: Any) -> str:
    """The kind of instructions that numba compiles for."""
    features = context.codegen().magic_tuple()[2].split(",")
    return "vnni" if "+avx512vnni" in features else "avx2" if "+avx2" in features else "any"


def adds_in_16_bits() -> bool:
    """Whether products of bytes are added in 16 bits, see `int8.without_overflow`."""
    return _kind_of(cpu_target.target_context) == "avx2"


@instruction
def steps(typing: Any) -> Any:
    """Number of quantization steps of an activation: 255, or 127 if pairs of products are summed in 16 bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return ir.Constant(ir.FloatType(), 127.0 if _kind_of(context) == "avx2" else 255.0)

    return types.float32(), generate


@instruction
def maximum(typing: Any, one: Any, other: Any) -> Any:
    """The larger of two numbers, in a form that loops can vectorize, unlike the built-in `max`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.maxnum.f32")
        return builder.call(function, given, fastmath=("nnan", "nsz"))

    return types.float32(types.float32, types.float32), generate


@instruction
def power_of_two(typing: Any, exponent: Any) -> Any:
    """2 to an integer power from -126 to 127, by its bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        bits = builder.shl(builder.add(given[0], ir.Constant(ir.IntType(32), 127)), ir.Constant(ir.IntType(32), 23))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.int32), generate
