"""Linear layers with weights that are packed once and then only read: for decoding on a CPU.

| precision | weights                                     | activations                                                |
|-----------|---------------------------------------------|------------------------------------------------------------|
| `fp32`    | as they are                                 | fp32                                                       |
| `bf16`    | rounded to bf16                             | rounded to bf16 at the entry of each layer                 |
| `int8`    | a scale per row, its largest weight at 127  | a scale and a zero per position, 255 steps (127 with AVX2) |

Layers are batch-invariant: what comes out for a position does not depend on the positions beside it. int8 sums are
integers, so this holds for every bit of them; fp32 and bf16 rely on products that add up in the same order however many
rows they have, as those of MKL and oneDNN do from `LEAST_ROWS` rows on (`tests/layers/test_batch_invariance.py`).

int8 products are two to ten times as fast as fp32 ones (`python -m benchmarks.kernels`).
"""

import copy
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.capabilities import has, int8_engines
from limelight.errors import UserError
from limelight.layers.feed_forward import FeedForward
from limelight.layers.integer_rows import integer_rows
from limelight.shapes import Float, Int

try:
    from limelight.inference.cpu import int8 as loops
except ImportError:  # numba is an extra; without it torch multiplies integers
    loops = None  # type: ignore[assignment]

MakeLinear = Callable[[Tensor, Tensor | None], Any]
"""A matrix (out, in) and a bias to a layer that multiplies with them; its `some(ids)` is the layer of these outputs."""

_multiply = torch.ops.quantized.linear_dynamic.default
_SWITCH = Lock()

SMALLEST = 1e-30
"""Of the step of a position's activations, so that nothing is divided by zero."""

LEAST_ROWS = 4
"""With fewer rows MKL takes other kernels, whose sums differ in the last bit."""

LEAST_PRODUCTS = 16**3
"""Torch gives bf16 products to oneDNN where they have more multiplications than this."""


def linear_of(precision: str) -> MakeLinear:
    """How a linear layer is made in that precision. Raises `UserError` where there is no such precision."""
    kinds = {"fp32": FullLinear, "bf16": HalfLinear, "int8": integer_kind()}
    if precision not in kinds:
        raise UserError(f"unknown precision {precision!r}: there are {', '.join(kinds)}")
    kind = kinds[precision]
    if kind is None:
        raise UserError("precision int8: this build of torch has no int8 products for this machine; use fp32 or bf16")
    return kind


def integer_kind() -> MakeLinear | None:
    """The int8 layers of this machine: compiled loops where there are instructions for them, else torch's, if any."""
    if loops is not None and has("avx2"):
        return CompiledIntegerLinear
    return IntegerLinear if int8_engines() else None


class FullLinear(nn.Module):
    """x W^T + b in the weights' own precision."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.least_rows = LEAST_ROWS

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        return _with_least_rows(self, inputs)

    def some(self, ids: Int[Tensor, " some"]) -> "FullLinear":
        """The layer of these outputs alone."""
        return FullLinear(self.weight.index_select(0, ids), _some(self.bias, ids))


class HalfLinear(nn.Module):
    """x W^T + b with both factors rounded to bf16 and sums in fp32; comes back in the precision of the inputs."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight = weight.detach().bfloat16()
        self.bias = None if bias is None else bias.detach().bfloat16()
        self.least_rows = max(1 if has("bf16") else LEAST_ROWS, LEAST_PRODUCTS // weight.numel() + 1)

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        return _with_least_rows(self, inputs.bfloat16()).to(inputs.dtype)

    def some(self, ids: Int[Tensor, " some"]) -> "HalfLinear":
        """The layer of these outputs alone."""
        return HalfLinear(self.weight.index_select(0, ids), _some(self.bias, ids))


class CompiledIntegerLinear(nn.Module):
    """x W^T + b with both factors rounded to eight bits and sums in 32-bit integers, in loops that numba compiles."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        values, scales = integer_rows(weight.detach())
        added = scales.new_zeros(len(scales)) if bias is None else bias.detach().float()
        self.layer = loops.byte_linear(values.numpy(), scales.numpy(), added.numpy())

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product, in fp32."""
        rows = inputs.detach().reshape(-1, inputs.shape[-1]).float().contiguous()
        outputs = rows.new_empty(len(rows), len(self.layer.scales))
        loops.multiply(rows.numpy(), self.layer, outputs.numpy())
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "CompiledIntegerLinear":
        """The layer of these outputs alone."""
        few = copy.copy(self)
        few.layer = loops.some_outputs(self.layer, ids.numpy())
        return few


class IntegerLinear(nn.Module):
    """The same through torch's own int8 library, for machines without numba or AVX2."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.values, self.scales = integer_rows(weight.detach())
        self.bias = None if bias is None else bias.detach().float()
        self.sums = self.values.sum(dim=1, dtype=torch.float32) * self.scales
        self.packed = _pack(self.values, self.scales, int8_engines()[0])
        # Without VNNI x86 sums pairs of products in 16 bits, which full activations overflow: they get seven bits.
        self.reduced = not (has("vnni") or has("neon"))

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product, in fp32."""
        rows, steps = inputs.flatten(0, -2).float(), 127 if self.reduced else 255
        below, above = -rows.amin(dim=1, keepdim=True).clamp_(max=0), rows.amax(dim=1, keepdim=True).clamp_(min=0)
        scales = (above + below).div_(steps).clamp_(min=SMALLEST)
        zeros = (below / scales).round_()
        # Torch chooses one scale from all the numbers that it is given: with a row from 0 to `steps` it is 1.
        rounded = rows.new_full((len(rows) + 1, rows.shape[1]), steps)
        torch.add(zeros, rows / scales, out=rounded[:-1]).round_().clamp_(0, steps)
        outputs = _multiply(rounded, self.packed, self.reduced)[:-1]
        outputs.sub_(zeros * self.sums).mul_(scales)
        if self.bias is not None:
            outputs += self.bias
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "IntegerLinear":
        """The layer of these outputs alone. Packing them takes as long as five products."""
        few = copy.copy(self)
        few.values, few.scales, few.sums = (part.index_select(0, ids) for part in (self.values, self.scales, self.sums))
        few.bias, few.packed = _some(self.bias, ids), _pack(few.values, few.scales, int8_engines()[0])
        return few


class PackedFeedForward(nn.Module):
    """The same network; the rectifier works in place."""

    def __init__(self, feed_forward: FeedForward, linear: MakeLinear) -> None:
        super().__init__()
        self.inner = linear(feed_forward.inner.weight, feed_forward.inner.bias)
        rectifies = isinstance(feed_forward.activation, nn.ReLU)
        self.activation = nn.ReLU(inplace=True) if rectifies else feed_forward.activation
        self.outer = linear(feed_forward.outer.weight, feed_forward.outer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """Each position on its own."""
        return self.outer(self.activation(self.inner(inputs)))


def _with_least_rows(layer: "FullLinear | HalfLinear", inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
    """The product on a CPU, with rows of zeros behind its own where they are too few."""
    rows = inputs.shape[:-1].numel()
    if rows >= layer.least_rows or inputs.device.type != "cpu":
        return functional.linear(inputs, layer.weight, layer.bias)
    padded = functional.pad(inputs.flatten(0, -2), (0, 0, 0, layer.least_rows - rows))
    return functional.linear(padded, layer.weight, layer.bias)[:rows].unflatten(0, inputs.shape[:-1])


def _some(bias: Tensor | None, ids: Tensor) -> Tensor | None:
    return None if bias is None else bias.index_select(0, ids)


def _pack(rows: Tensor, scales: Tensor, engine: str) -> object:
    """The weights in the library's own order. The library is chosen by a global switch, which is put back; another
    thread that loads a model meanwhile waits for that."""
    with _SWITCH:
        before = torch.backends.quantized.engine
        torch.backends.quantized.engine = engine
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # quantised tensors will go; here one is a vehicle
                zeros = torch.zeros(len(scales), dtype=torch.int64)
                quantised = torch._make_per_channel_quantized_tensor(rows, scales.double(), zeros, 0)
                return torch.ops.quantized.linear_prepack(quantised, None)
        finally:
            torch.backends.quantized.engine = before
