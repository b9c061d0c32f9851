"""A language for vector code in compiled loops: Python operators that emit instructions of LLVM.

numba has no vectors, and the order of sums in loops that it vectorizes differs from one copy of a function to the next.
A function marked as `instruction` is written in `Value`s and `Array`s; loops call it like any other function, and it is
inlined into them.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from numba.core import cgutils, types
from numba.extending import intrinsic

from limelight.inference.cpu.jit import instruction_set

LANES = 16
"""Numbers of a vector."""

VNNI = "+avx512vnni" in instruction_set()
AVX2 = "+avx2" in instruction_set()

ir = cgutils.ir
NUMBERS, INTEGERS = (ir.VectorType(kind, LANES) for kind in (ir.FloatType(), ir.IntType(32)))


Operator = Callable[["Value", Any], "Value"]


def _operator(of_integers: str, of_numbers: str = "") -> Operator:
    """An operator of these instructions of LLVM."""

    def operate(one: "Value", other: Any) -> "Value":
        emit = getattr(one.builder, of_numbers if one.is_float else of_integers)
        return one.of(emit(one.raw, one.like(other).raw))

    return operate


def _comparison(sign: str) -> Operator:
    def compare(one: "Value", other: Any) -> "Value":
        emit = one.builder.fcmp_ordered if one.is_float else one.builder.icmp_signed
        return one.of(emit(sign, one.raw, one.like(other).raw))

    return compare


class Value:
    """A number or a vector. In operations the other operand may be a Python number, which stands for all lanes."""

    __add__, __sub__, __mul__ = _operator("add", "fadd"), _operator("sub", "fsub"), _operator("mul", "fmul")
    __floordiv__, __truediv__ = _operator("udiv"), _operator("", "fdiv")
    __and__, __lshift__ = _operator("and_"), _operator("shl")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))
    equals = _comparison("==")

    def __init__(self, builder: Any, raw: Any) -> None:
        self.builder, self.raw = builder, raw

    def of(self, raw: Any) -> "Value":
        """Another value in the same function."""
        return Value(self.builder, raw)

    def like(self, value: Any) -> "Value":
        """A Python number as a value of this type."""
        if isinstance(value, Value):
            return value
        kind = self.raw.type
        return self.of(ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value))

    def maximum(self, other: Any) -> "Value":
        """The larger one in each lane; NaN only if both are."""
        return call("llvm.maxnum.v16f32", NUMBERS, self, self.like(other))

    def select(self, one: "Value", other: Any) -> "Value":
        """Where this mask is true, lanes of the one value, else of the other."""
        return self.of(self.builder.select(self.raw, one.raw, one.like(other).raw))

    def convert(self, how: str, kind: Any) -> "Value":
        """Conversion by one of LLVM's instructions, such as `bitcast`."""
        return self.of(getattr(self.builder, how)(self.raw, kind))

    def in_all_lanes(self) -> "Value":
        """A vector of equal numbers."""
        empty = ir.Constant(ir.VectorType(self.raw.type, LANES), ir.Undefined)
        first = self.builder.insert_element(empty, self.raw, ir.Constant(ir.IntType(32), 0))
        return self.of(self.builder.shuffle_vector(first, empty, ir.Constant(INTEGERS, [0] * LANES)))

    def total(self) -> "Value":
        """The sum of all lanes, by halves: always in the same order."""
        vector, count = self.raw, LANES
        while count > 1:
            count //= 2
            halves = (self.builder.shuffle_vector(vector, vector, _lanes(start, count)) for start in (0, count))
            vector = self.builder.fadd(*halves)
        return self.of(self.builder.extract_element(vector, ir.Constant(ir.IntType(32), 0)))

    def largest(self) -> "Value":
        """The largest of all lanes."""
        return call("llvm.vector.reduce.fmax.v16f32", ir.FloatType(), self, fastmath=("nnan",))

    @property
    def is_float(self) -> bool:
        """Whether it consists of floating-point numbers."""
        return isinstance(getattr(self.raw.type, "element", self.raw.type), ir.FloatType)


class Index(Value):
    """As an annotation: an integer."""


class Number(Value):
    """As an annotation: a floating-point number."""


class Flag(Value):
    """As an annotation: a truth value."""


class Register:
    """A value that changes."""

    def __init__(self, first: Value) -> None:
        self._first = first
        self._address = cgutils.alloca_once(first.builder, first.raw.type)
        self.value = first

    @property
    def value(self) -> Value:
        """The value now."""
        return self._first.of(self._first.builder.load(self._address))

    @value.setter
    def value(self, value: Value) -> None:
        value.builder.store(value.raw, self._address)

    def add_product(self, one: Value, other: Value) -> None:
        """Add the product of two vectors of numbers."""
        self.value = call("llvm.fmuladd.v16f32", NUMBERS, one, other, self.value)


class Array:
    """A contiguous array of any shape. Numbers and vectors in it are addressed by their flat index."""

    def __init__(self, context: Any, builder: Any, kind: Any, raw: Any) -> None:
        self._builder, self._array = builder, context.make_array(kind)(context, builder, raw)

    def size(self, axis: int) -> Value:
        """The length of an axis."""
        return Value(self._builder, self._builder.extract_value(self._array.shape, axis))

    def load(self, index: Value, mask: Value | None = None, *, filled: float = 0.0, kind: Any = NUMBERS) -> Value:
        """A vector of numbers, with the lanes outside of the mask `filled`; or a value of another type."""
        address = self._address(index, kind)
        if mask is None:
            return index.of(self._builder.load(address.raw, align=1))
        others = index.of(ir.Constant(NUMBERS, [filled] * LANES))
        return call("llvm.masked.load.v16f32.p0", NUMBERS, address, _alignment(index), mask, others)

    def store(self, index: Value, value: Value, mask: Value | None = None) -> None:
        """Write a vector of numbers, or the lanes of the mask."""
        address = self._address(index, NUMBERS)
        if mask is None:
            self._builder.store(value.raw, address.raw, align=1)
        else:
            call("llvm.masked.store.v16f32.p0", ir.VoidType(), value, address, _alignment(index), mask)

    def _address(self, index: Value, kind: Any) -> Value:
        return index.of(self._builder.gep(self._array.data, [index.raw])).convert("bitcast", kind.as_pointer())


class Fields:
    """A named tuple."""

    def __init__(self, context: Any, builder: Any, kind: Any, raw: Any) -> None:
        self._given = context, builder, kind, raw

    def __getattr__(self, name: str) -> Any:
        context, builder, kind, raw = self._given
        place = kind.fields.index(name)
        return _wrapped(context, builder, kind.types[place], builder.extract_value(raw, place))


def _alignment(value: Value) -> Value:
    return value.of(ir.Constant(ir.IntType(32), 4))


def _lanes(start: int, count: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(start, start + count)))


def call(name: str, result: Any, *arguments: Value, fastmath: tuple[str, ...] = ()) -> Value:
    """A call of a function of LLVM."""
    builder, kind = arguments[0].builder, ir.FunctionType(result, [value.raw.type for value in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return Value(builder, builder.call(function, [value.raw for value in arguments], fastmath=fastmath))


def lanes_below(count: Value) -> Value:
    """A mask of the first `count` lanes."""
    return count.of(_lanes(0, LANES)) < count.convert("trunc", ir.IntType(32)).in_all_lanes()


@contextmanager
def loop(count: Value) -> Iterator[Value]:
    """A loop in the emitted code, with its index."""
    with cgutils.for_range(count.builder, count.raw) as turns:
        yield count.of(turns.index)


@contextmanager
def where(condition: Value) -> Iterator[None]:
    """A branch in the emitted code."""
    with condition.builder.if_then(condition.raw):
        yield


def along(size: Value, body: Callable[[Value, Value | None], None]) -> None:
    """Emit `body` for the offset of each vector of a row in order, with a mask for the remainder after the last whole
    one."""
    rest = size & (LANES - 1)
    with loop(size // LANES) as number:
        body(number * LANES, None)
    with where(rest > 0):
        body(size - rest, lanes_below(rest))


SCALARS = {Index: types.intp, Number: types.float32, Flag: types.boolean}


def instruction(emit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for compiled loops of one that emits its code. Annotations say what numba converts arguments to;
    arrays and named tuples are taken as they are."""
    signature = inspect.signature(emit)
    parameters = signature.parameters.values()

    def typed(typing: Any, *given: Any) -> Any:
        kinds = [SCALARS.get(one.annotation, kind) for one, kind in zip(parameters, given, strict=True)]

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arguments = (_wrapped(context, builder, *pair) for pair in zip(signature.args, values, strict=True))
            result = emit(*arguments)
            return context.get_dummy_value() if result is None else result.raw

        return SCALARS.get(signature.return_annotation, types.void)(*kinds), generate

    first = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    cast(Any, typed).__signature__ = signature.replace(parameters=[first, *parameters])  # numba counts the arguments
    typed.__name__ = emit.__name__
    return cast(Callable[..., Any], intrinsic(typed))


def _wrapped(context: Any, builder: Any, kind: Any, raw: Any) -> Any:
    if isinstance(kind, types.Array):
        return Array(context, builder, kind, raw)
    if isinstance(kind, types.BaseNamedTuple):
        return Fields(context, builder, kind, raw)
    return Value(builder, raw)


def _noinline(typing: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


noinline = cast(Callable[[], None], intrinsic(_noinline))
"""Marks the function that begins with this call as never inlined, see `jit.compiled`."""


@instruction
def maximum(one: Number, other: Number) -> Number:
    """The larger of two numbers, in a form that loops can vectorize, unlike the built-in `max`."""
    kind = ir.FloatType()
    return cast(Number, call("llvm.maxnum.f32", kind, one, other, fastmath=("nnan", "nsz")))
