"""Vector instructions that numba has no name for: sixteen sums at a time, of products of bytes.

Each function here is inlined into the compiled loops that call it.
"""

from collections.abc import Callable
from typing import Any, cast

from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LANES = 16
"""Outputs that are summed side by side."""

GROUP = 4
"""Inputs whose products are added to a sum at once; and rows for which a weight is read once."""

ir = cgutils.ir
instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)
"""Marks a function that tells numba which types it takes and gives, and how to write it in LLVM's instructions."""
SUMS, BYTES = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(8), LANES * GROUP)


class Lanes(types.Type):
    """A register of `LANES` 32-bit integers, or of `GROUP` times as many bytes."""

    def __init__(self) -> None:
        super().__init__("Lanes")


register_model(Lanes)(type("LanesModel", (models.PrimitiveModel,), {
    "__init__": lambda self, manager, kind: models.PrimitiveModel.__init__(self, manager, kind, SUMS)
}))  # fmt: skip


@instruction
def zeros(typing: Any) -> Any:
    """Lanes of zeros."""
    return Lanes()(), lambda *_: ir.Constant(SUMS, [0] * LANES)


@instruction
def load(typing: Any, values: Any, index: Any) -> Any:
    """The lanes that begin at an index of an array of bytes, counted through all its axes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], given, SUMS), align=1)

    return Lanes()(values, types.intp), generate


@instruction
def broadcast(typing: Any, values: Any, index: Any) -> Any:
    """The `GROUP` bytes that begin at an index of an array, in every lane."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        four = builder.load(_address(context, builder, signature.args[0], given, ir.IntType(32)), align=1)
        empty = ir.Constant(SUMS, ir.Undefined)
        first = builder.insert_element(empty, four, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, empty, ir.Constant(SUMS, [0] * LANES))

    return Lanes()(values, types.intp), generate


@instruction
def add_products(typing: Any, sums: Any, activations: Any, weights: Any) -> Any:
    """To each lane's sum the products of its `GROUP` activations (0 to `steps()`) with its weights (-127 to 127)."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _KINDS[_kind_of(context)](builder, *given)

    return Lanes()(Lanes(), Lanes(), Lanes()), generate


@instruction
def store(typing: Any, sums: Any, values: Any, index: Any) -> Any:
    """Write the lanes' sums to an array of 32-bit integers, from an index on, counted through all its axes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        sums, *where = given
        builder.store(sums, _address(context, builder, signature.args[1], where, SUMS), align=1)
        return context.get_dummy_value()

    return types.void(Lanes(), values, types.intp), generate


def _address(context: Any, builder: Any, kind: Any, where: Any, what: Any) -> Any:
    """The address of a `what` at an index of an array of that kind."""
    values, index = where
    data = context.make_array(kind)(context, builder, values).data
    return builder.bitcast(builder.gep(data, [index]), what.as_pointer())


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
