"""Vector instructions that numba has no name for: sixteen sums at a time, of products of bytes.

Each function here is inlined into the compiled loops that call it.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, cast

from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16
"""Outputs that are summed side by side."""

GROUP = 4
"""Inputs whose products are added to a sum at once; and rows for which a weight is read once."""

TILE = 4
"""Blocks of `LANES` outputs in a tile of `GROUP` rows."""

ir = cgutils.ir
instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)
"""Marks a function that tells numba which types it takes and gives, and how to write it in LLVM's instructions."""
SUMS, BYTES = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(8), LANES * GROUP)
NUMBERS = ir.VectorType(ir.FloatType(), LANES)


@instruction
def multiply_tile(typing: Any, rows: Any, first: Any, weights: Any, block: Any, blocks: Any, found: Any) -> Any:
    """Fill what is found, (`GROUP`, `TILE` * `LANES`), with the outputs of the rows from `first` on and of the weights'
    next `blocks` blocks from `block` on, at most `TILE`. What belongs to other blocks is left as it is.

    `rows` are `int8.Int8Rows`, `weights` are `int8.Int8Weights`. The result of a row has the same bits in any tile: its
    sums are integers, and of the three steps that make numbers of them none is fused with another.

    An instruction that adds products takes five cycles, and two can begin in each. So the sums of a whole tile are kept
    in registers where there are 32 of them (VNNI); with 16 the sums of a block are.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        at = {"found": context.make_array(found)(context, builder, given[5]).data}
        for what, number in ((rows, 0), (weights, 2)):
            for place, (name, kind) in enumerate(zip(what.fields, what.types, strict=True)):
                if isinstance(kind, types.Array):
                    array = context.make_array(kind)(context, builder, builder.extract_value(given[number], place))
                    at[f"{what.instance_class.__name__}.{name}"] = array.data
        values = context.make_array(weights.types[0])(context, builder, builder.extract_value(given[2], 0))
        tile = _Tile(at, given[1], builder.extract_value(values.shape, 1), _KINDS[_kind_of(context)])
        if _kind_of(context) == "vnni":
            is_whole = builder.icmp_signed("==", given[4], _index(TILE))
            with builder.if_else(is_whole) as (then, otherwise):
                with then:
                    tile.fill(builder, given[3], _index(0), TILE)
                with otherwise:
                    tile.fill_each(builder, given[3], given[4])
        else:
            tile.fill_each(builder, given[3], given[4])
        return context.get_dummy_value()

    return types.void(rows, types.intp, weights, types.intp, types.intp, found), generate


def _index(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


class _Tile(NamedTuple):
    """What `multiply_tile` is made of: addresses by their names, the first row, the groups of inputs, and how products
    are added."""

    at: dict[str, Any]
    first: Any
    groups: Any
    add: Callable[..., Any]

    def fill_each(self, builder: Any, block: Any, blocks: Any) -> None:
        """The outputs of so many blocks, one after the other."""
        with cgutils.for_range(builder, blocks) as loop:
            self.fill(builder, builder.add(block, loop.index), loop.index, 1)

    def fill(self, builder: Any, block: Any, place: Any, count: int) -> None:
        """The outputs of `count` blocks together, which stand at `place` in the tile."""
        zeros = ir.Constant(SUMS, [0] * LANES)
        sums = [[cgutils.alloca_once(builder, SUMS) for _ in range(count)] for _ in range(GROUP)]
        for one in chain.from_iterable(sums):
            builder.store(zeros, one)
        with cgutils.for_range(builder, self.groups) as loop:
            weights = []
            for number in range(count):
                row = builder.mul(builder.add(block, _index(number)), self.groups)
                start = builder.mul(builder.add(row, loop.index), _index(LANES * GROUP))
                weights.append(self._load(builder, "Int8Weights.values", start, SUMS))
            for number, of_row in enumerate(sums):
                row = builder.mul(builder.add(self.first, _index(number)), self.groups)
                start = builder.mul(builder.add(row, loop.index), _index(GROUP))
                given = in_all_lanes(builder, self._load(builder, "Int8Rows.values", start, ir.IntType(32)))
                for one, weight in zip(of_row, weights, strict=True):
                    builder.store(self.add(builder, builder.load(one), given, weight), one)
        for number, of_row in enumerate(sums):
            self._store(builder, number, [builder.load(one) for one in of_row], block, place)

    def _store(self, builder: Any, number: int, sums: list[Any], block: Any, place: Any) -> None:
        """Write the outputs of a row of the tile."""
        row = builder.add(self.first, _index(number))
        scale = in_all_lanes(builder, self._load(builder, "Int8Rows.scales", row, ir.FloatType()))
        zero_point = in_all_lanes(builder, self._load(builder, "Int8Rows.zero_points", row, ir.FloatType()))
        for inside, total in enumerate(sums):
            lane = builder.mul(builder.add(block, _index(inside)), _index(LANES))
            excess = builder.fmul(zero_point, self._load(builder, "Int8Weights.sums", lane, NUMBERS))
            exact = builder.fsub(builder.sitofp(total, NUMBERS), excess)
            scaled = builder.fmul(builder.fmul(exact, scale), self._load(builder, "Int8Weights.scales", lane, NUMBERS))
            output = builder.fadd(scaled, self._load(builder, "Int8Weights.biases", lane, NUMBERS))
            there = builder.mul(builder.add(_index(number * TILE + inside), place), _index(LANES))
            where = builder.gep(self.at["found"], [there])
            builder.store(output, builder.bitcast(where, NUMBERS.as_pointer()), align=1)

    def _load(self, builder: Any, name: str, index: Any, kind: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(self.at[name], [index]), kind.as_pointer()), align=1)


def in_all_lanes(builder: Any, value: Any) -> Any:
    """A vector of `LANES` equal values."""
    empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(SUMS, [0] * LANES))


def _products_in_one(builder: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """The instruction that machines with VNNI have for it."""
    kind = ir.FunctionType(SUMS, [SUMS, BYTES, BYTES])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpbusd.512")
    return builder.call(function, [sums, builder.bitcast(activations, BYTES), builder.bitcast(weights, BYTES)])


def _products_in_pairs(builder: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """The instructions that machines with AVX2 have: products of bytes are summed in pairs to 16 bits, then to 32."""
    count = LANES * GROUP // 2
    half_bytes, words = ir.VectorType(ir.IntType(8), count), ir.VectorType(ir.IntType(16), count // 2)
    half_sums = ir.VectorType(ir.IntType(32), LANES // 2)
    pair = ir.FunctionType(words, [half_bytes, half_bytes])
    pair_bytes = cgutils.get_or_insert_function(builder.module, pair, "llvm.x86.avx2.pmadd.ub.sw")
    pair = ir.FunctionType(half_sums, [words, words])
    pair_words = cgutils.get_or_insert_function(builder.module, pair, "llvm.x86.avx2.pmadd.wd")
    halves = []
    for first in (0, LANES // 2):
        lanes = ir.Constant(half_sums, list(range(first, first + LANES // 2)))
        both = [builder.shuffle_vector(part, part, lanes) for part in (activations, weights)]
        products = builder.call(pair_bytes, [builder.bitcast(part, half_bytes) for part in both])
        halves.append(builder.call(pair_words, [products, ir.Constant(words, [1] * words.count)]))
    return builder.add(sums, builder.shuffle_vector(*halves, ir.Constant(SUMS, list(range(LANES)))))


def _products_in_turn(builder: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """The same on any machine: the first of each lane, the second, and so on."""
    for index in range(GROUP):
        above, below = (ir.Constant(SUMS, [bits] * LANES) for bits in (24 - 8 * index, 8 * index))
        weight = builder.ashr(builder.shl(weights, above), ir.Constant(SUMS, [24] * LANES))
        activation = builder.and_(builder.lshr(activations, below), ir.Constant(SUMS, [255] * LANES))
        sums = builder.add(sums, builder.mul(activation, weight))
    return sums


_KINDS = {"vnni": _products_in_one, "avx2": _products_in_pairs, "any": _products_in_turn}


def _kind_of(context: Any) -> str:
    """Which of the kinds numba compiles for."""
    features = context.codegen().magic_tuple()[2].split(",")
    return "vnni" if "+avx512vnni" in features else "avx2" if "+avx2" in features else "any"


@instruction
def steps(typing: Any) -> Any:
    """How many steps an activation has: 255, or 127 where pairs of products are summed in 16 bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return ir.Constant(ir.FloatType(), 127.0 if _kind_of(context) == "avx2" else 255.0)

    return types.float32(), generate


@instruction
def maximum(typing: Any, one: Any, other: Any) -> Any:
    """The larger of two numbers, in a form that a loop can vectorize: the built-in `max` is none."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()] * 2)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.maxnum.f32")
        return builder.call(function, given, fastmath=("nnan", "nsz"))

    return types.float32(types.float32, types.float32), generate


@instruction
def power_of_two(typing: Any, exponent: Any) -> Any:
    """2 to a whole number from -126 to 127, by writing down its bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        bits = builder.shl(builder.add(given[0], ir.Constant(ir.IntType(32), 127)), ir.Constant(ir.IntType(32), 23))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.int32), generate
