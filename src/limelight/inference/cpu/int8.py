"""The int8 layers of a Transformer as loops that numba compiles: weights of eight bits, each read once.

For few rows a product takes a few microseconds, and an operation of torch takes as long before it begins; here a
sub-layer is one call, or three. Each row of activations has a scale and a zero of its own and is summed in integers:
its result does not depend, in any bit, on the other rows.

numba is an extra of the installation, and this is the one file that imports it; where it is missing, torch does the
same. What it compiles is kept on disk: the first use on a machine takes some seconds, each later start a tenth of one.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core import cgutils, types
from numba.core import event as event  # for `compiling`, as this is the one file that knows numba
from numba.core.caching import FunctionCache
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic, models, register_model

from limelight.capabilities import has

Numbers = npt.NDArray[np.float32]
Given = ParamSpec("Given")
Result = TypeVar("Result")


def _compile_for_what_is_permitted() -> None:
    """Where `capabilities` forbids instructions that the processor has, numba does without them, too. What is kept on
    disk knows for which instructions it was made."""
    forbidden = "+avx512" if not has("avx512") else "+avx512vnni" if not has("vnni") else "nothing"
    features = get_host_cpu_features().split(",")
    settings = cast(Any, numba.config)
    if settings.CPU_FEATURES is None and any(each.startswith(forbidden) for each in features):
        permitted = [each.replace("+", "-") if each.startswith(forbidden) else each for each in features]
        settings.CPU_FEATURES = ",".join(permitted)


_compile_for_what_is_permitted()


def compiled(function: Callable[Given, Result], *, exact: bool = False) -> Callable[Given, Result]:
    """The function as machine code, made when it is first called and kept where there is a folder to keep it in.

    It takes sums in any order, as products of matrices do, too, and knows no infinities, unless it is `exact`; and it
    leaves Python to other threads meanwhile. What is kept is made anew when the function's own file changes: so it must
    not call what is compiled in another.
    """
    machine_code = numba.njit(nogil=True, fastmath=not exact, error_model="numpy")(function)
    # RuntimeError: neither NUMBA_CACHE_DIR nor the package's folder nor the user's can be written to
    with suppress(RuntimeError):
        cast(Any, machine_code)._cache = Cache(function)  # as `cache=True` does with numba's own
    return cast(Callable[Given, Result], machine_code)


class Cache(FunctionCache):
    """What is compiled is kept on disk if it can be: a disk that is full does not stop the work."""

    def save_overload(self, *what: Any) -> None:
        """Keep one function for one kind of arguments."""
        with suppress(OSError):
            super().save_overload(*what)


# --- sixteen sums at a time ---

LANES = 16
"""Outputs that are summed side by side."""

GROUP = 4
"""Inputs whose products are added to a sum at once; and rows for which a weight is read once."""

PANEL = 16
"""Blocks of `LANES` outputs whose sums are turned into numbers while they are still in the cache."""

ir = cgutils.ir
instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)
"""Marks a function that tells numba which types it takes and gives, and how to write it in the compiler's own words."""
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
    """Lanes of nothing."""
    return Lanes()(), lambda *_: ir.Constant(SUMS, [0] * LANES)


@instruction
def load(typing: Any, values: Any, place: Any) -> Any:
    """The lanes that begin at a place of an array of bytes, counted through all its axes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], given, SUMS), align=1)

    return Lanes()(values, types.intp), generate


@instruction
def spread(typing: Any, values: Any, place: Any) -> Any:
    """The `GROUP` bytes that begin at a place of an array, in every lane."""

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
def store(typing: Any, sums: Any, values: Any, place: Any) -> Any:
    """Write the lanes' sums to an array of 32-bit integers, from a place on, counted through all its axes."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        sums, *where = given
        builder.store(sums, _address(context, builder, signature.args[1], where, SUMS), align=1)
        return context.get_dummy_value()

    return types.void(Lanes(), values, types.intp), generate


def _address(context: Any, builder: Any, kind: Any, where: Any, what: Any) -> Any:
    """Where in memory a place of an array of that kind is, as the address of `what` lies there."""
    values, place = where
    data = context.make_array(kind)(context, builder, values).data
    return builder.bitcast(builder.gep(data, [place]), what.as_pointer())


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
    for place in range(GROUP):
        above, below = (ir.Constant(SUMS, [bits] * LANES) for bits in (24 - 8 * place, 8 * place))
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
def larger(typing: Any, one: Any, other: Any) -> Any:
    """The larger of two numbers, in a form that a loop can take for many at a time: the built-in one is none."""

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


# --- linear layers ---


class ByteLinear(NamedTuple):
    """x W^T + b with weights of eight bits, in the order in which they are read.

    values: (blocks, groups, LANES * GROUP): the weights of `LANES` outputs, of `GROUP` inputs each, then of the next
        inputs; what is left of the last block and group is zero.
    scales, sums, biases: (out,): what a weight of one stands for; the sum of an output's weights; what is added.
    """

    values: npt.NDArray[np.int8]
    scales: Numbers
    sums: Numbers
    biases: Numbers


def byte_linear(values: npt.NDArray[np.int8], scales: Numbers, biases: Numbers) -> ByteLinear:
    """A layer of (out, in) weights, each row of which has been divided by its scale."""
    outputs, inputs = values.shape
    blocks, groups = -(-outputs // LANES), -(-inputs // GROUP)
    padded = np.zeros((blocks * LANES, groups * GROUP), dtype=np.int8)
    padded[:outputs, :inputs] = values
    # (blocks, lane, groups, place) -> (blocks, groups, lane * place)
    ordered = padded.reshape(blocks, LANES, groups, GROUP).transpose(0, 2, 1, 3).reshape(blocks, groups, -1)
    return ByteLinear(ordered, scales, values.sum(axis=1, dtype=np.float32), biases)


def some_outputs(linear: ByteLinear, ids: npt.NDArray[np.int64]) -> ByteLinear:
    """The layer of these outputs alone."""
    blocks, groups, _ = linear.values.shape
    lanes = linear.values.reshape(blocks, groups, LANES, GROUP).view(np.int32)[..., 0]  # `GROUP` bytes at a time
    chosen = np.zeros((-(-len(ids) // LANES) * LANES, groups), dtype=np.int32)
    chosen[: len(ids)] = lanes[ids // LANES, :, ids % LANES]
    # (blocks, lane, groups) -> (blocks, groups, lane)
    ordered = chosen.reshape(-1, LANES, groups).transpose(0, 2, 1).copy()
    return ByteLinear(ordered.view(np.int8), linear.scales[ids], linear.sums[ids], linear.biases[ids])


@compiled
def multiply(inputs: Numbers, linear: ByteLinear, outputs: Numbers) -> None:
    """Fill the outputs, (rows, out), with x W^T + b of the inputs, (rows, in)."""
    blocks, groups, _ = linear.values.shape
    rows = -(-len(inputs) // GROUP) * GROUP  # what more rows and inputs hold does not matter: none looks, or weighs it
    activations = np.empty((rows, groups * GROUP), dtype=np.uint8)
    scales, nothings = np.empty(rows, dtype=np.float32), np.empty(rows, dtype=np.float32)
    for row in range(len(inputs)):
        scales[row], nothings[row] = _to_bytes(inputs[row], activations[row])
    sums = np.empty((rows, min(blocks, PANEL) * LANES), dtype=np.int32)
    for block in range(0, blocks, PANEL):
        _sum_products(activations, linear.values[block : block + PANEL], sums)
        first, last = block * LANES, min((block + PANEL) * LANES, outputs.shape[1])
        of_weights, added = linear.scales[first:last], linear.biases[first:last]
        weight_sums = linear.sums[first:last]
        for row in range(len(inputs)):
            found, scale, nothing = outputs[row, first:last], scales[row], nothings[row]
            for output in range(last - first):
                exact = np.float32(sums[row, output]) - nothing * weight_sums[output]
                found[output] = exact * scale * of_weights[output] + added[output]


@compiled
def _to_bytes(values: Numbers, rounded: npt.NDArray[np.uint8]) -> tuple[np.float32, np.float32]:
    """Fill the rounded values; returns what one of them stands for, and which of them stands for zero."""
    below = above = np.float32(0)
    for place in range(len(values)):
        below, above = larger(below, -values[place]), larger(above, values[place])
    scale = larger((above + below) / steps(), np.float32(1e-30))  # of zeros alone any will do, but 0
    nothing = np.float32(round(below / scale))
    for place in range(len(values)):
        rounded[place] = np.uint8(min(values[place] / scale + nothing + np.float32(0.5), steps()))
    return scale, nothing


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
                place = row * width + group * GROUP
                first = add_products(first, spread(activations, place), weights)
                second = add_products(second, spread(activations, place + width), weights)
                third = add_products(third, spread(activations, place + 2 * width), weights)
                fourth = add_products(fourth, spread(activations, place + 3 * width), weights)
            place = row * outputs + block * LANES
            store(first, sums, place)
            store(second, sums, place + outputs)
            store(third, sums, place + 2 * outputs)
            store(fourth, sums, place + 3 * outputs)


# --- what stands around them ---


class Norm(NamedTuple):
    """A layer normalisation: before its sub-layer where it comes `first`, else after the residual sum."""

    weight: Numbers
    bias: Numbers
    epsilon: float
    first: bool


@compiled
def normalise(inputs: Numbers, norm: Norm, outputs: Numbers) -> None:
    """Layer normalisation of each row, (rows, model); the outputs may be the inputs."""
    size = inputs.shape[1]
    for row in range(len(inputs)):
        mean = np.float32(0)
        for place in range(size):
            mean += inputs[row, place]
        mean /= np.float32(size)
        variance = np.float32(0)
        for place in range(size):
            variance += (inputs[row, place] - mean) ** 2
        rate = np.float32(1 / math.sqrt(variance / size + norm.epsilon))
        for place in range(size):
            outputs[row, place] = (inputs[row, place] - mean) * rate * norm.weight[place] + norm.bias[place]


@compiled
def enter(hidden: Numbers, norm: Norm, linear: ByteLinear, outputs: Numbers) -> None:
    """The first product of a sub-layer, (rows, out), of the rows that it is given."""
    if norm.first:
        asked = np.empty_like(hidden)
        normalise(hidden, norm, asked)
        multiply(asked, linear, outputs)
    else:
        multiply(hidden, linear, outputs)


@compiled
def leave(inputs: Numbers, linear: ByteLinear, norm: Norm, hidden: Numbers) -> None:
    """The last product of a sub-layer, added to the rows that it was given."""
    changes = np.empty_like(hidden)
    multiply(inputs, linear, changes)
    hidden += changes
    if not norm.first:
        normalise(hidden, norm, hidden)


@compiled
def think(hidden: Numbers, norm: Norm, inner: ByteLinear, activation: int, outer: ByteLinear) -> None:
    """The feed-forward network inside its residual connection; `activation` is the place of its own among
    `feed_forward.ACTIVATIONS`."""
    activated = np.empty((len(hidden), len(inner.scales)), dtype=np.float32)
    enter(hidden, norm, inner, activated)
    for row in range(len(hidden)):
        for place in range(activated.shape[1]):
            value = activated[row, place]
            if activation == 0:
                value = max(value, np.float32(0))
            elif activation == 1:
                value *= np.float32(0.5 * (1 + math.erf(value / math.sqrt(2))))
            else:
                value /= np.float32(1 + math.exp(-value))
            activated[row, place] = value
    leave(activated, outer, norm, hidden)
