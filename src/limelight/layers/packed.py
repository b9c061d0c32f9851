"""Linear layers with weights that are packed once and then only read: for decoding on a CPU.

| precision | weights                                             | activations                                        |
|-----------|-----------------------------------------------------|----------------------------------------------------|
| `fp32`    | as they are                                         | fp32                                               |
| `bf16`    | rounded to bf16                                     | rounded to bf16 at the door of each layer          |
| `int8`    | a scale per row, its largest weight at 127          | a scale per call, found from the values themselves |

int8 products are two to ten times as fast as fp32 ones (`python -m benchmarks.kernels`). All rows of a call share
the scale of their activations, so a sentence's int8 result can depend, in its last digits, on its company in the batch.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.capabilities import has, int8_engines
from limelight.errors import UserError
from limelight.layers.feed_forward import FeedForward
from limelight.shapes import Float, Int

MakeLinear = Callable[[Tensor, Tensor | None], Any]
"""A matrix (out, in) and a bias to a layer that multiplies with them."""

_multiply = torch.ops.quantized.linear_dynamic.default

SMALLEST = 1e-30
"""Of the largest activation of a position, so that nothing is divided by zero."""

WIDE, MANY = 4096, 16
"""From so many outputs and so many rows on, another of torch's libraries has the faster int8 product."""


def linear_of(precision: str) -> MakeLinear:
    """How a linear layer is made in that precision. Raises `UserError` where there is no such precision."""
    kinds: dict[str, MakeLinear] = {"fp32": FullLinear, "bf16": HalfLinear, "int8": IntegerLinear}
    if precision not in kinds:
        raise UserError(f"unknown precision {precision!r}: there are {', '.join(kinds)}")
    if precision == "int8" and not int8_engines():
        raise UserError("precision int8: this build of torch has no int8 products for this machine; use fp32 or bf16")
    return kinds[precision]


def selectable_linear_of(precision: str) -> MakeLinear:
    """The same for a layer that has `some` of its outputs, for as many choices as one likes."""
    return LooseIntegerLinear if precision == "int8" else linear_of(precision)


class FullLinear(nn.Module):
    """x W^T + b in the weights' own precision."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        return functional.linear(inputs, self.weight, self.bias)

    def some(self, ids: Int[Tensor, " some"]) -> "FullLinear":
        """The layer of these outputs alone."""
        return FullLinear(self.weight.index_select(0, ids), _some(self.bias, ids))


class HalfLinear(nn.Module):
    """x W^T + b with both factors rounded to bf16 and sums in fp32; comes back in the precision of the inputs."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight = weight.detach().bfloat16()
        self.bias = None if bias is None else bias.detach().bfloat16()

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        return functional.linear(inputs.bfloat16(), self.weight, self.bias).to(inputs.dtype)

    def some(self, ids: Int[Tensor, " some"]) -> "HalfLinear":
        """The layer of these outputs alone."""
        return HalfLinear(self.weight.index_select(0, ids), _some(self.bias, ids))


class IntegerLinear(nn.Module):
    """x W^T + b with both factors rounded to eight bits and sums in 32-bit integers; comes back in fp32."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        rows, scales = integer_rows(weight.detach())
        plain, *others = int8_engines()
        # Without VNNI x86 sums pairs of products in 16 bits, which full activations overflow: they get seven bits.
        self.reduced = not (has("vnni") or has("neon"))
        bias = None if bias is None else bias.detach().float()
        self.packed = _pack(rows, scales, bias, plain)
        self.packed_wide = _pack(rows, scales, bias, others[0]) if others and len(rows) >= WIDE else self.packed

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        many = inputs.numel() >= MANY * inputs.shape[-1]
        return _multiply(inputs, self.packed_wide if many else self.packed, self.reduced)


class LooseIntegerLinear(nn.Module):
    """The same with weights that are not packed, so that any rows of it make a layer at once; activations have a scale
    for each position. A product takes a quarter longer; packing 2,000 rows of 512 takes as long as five products.
    """

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.values, self.scales = integer_rows(weight.detach())
        self.bias = None if bias is None else bias.detach().float()

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        """The product."""
        rows = inputs.flatten(0, -2)
        scales = rows.abs().amax(dim=1, keepdim=True).clamp_(min=SMALLEST).div_(127)
        sums = torch._int_mm((rows / scales).round_().to(torch.int8), self.values.T)
        outputs = sums.float().mul_(scales).mul_(self.scales)
        if self.bias is not None:
            outputs += self.bias
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "LooseIntegerLinear":
        """The layer of these outputs alone."""
        few = copy.copy(self)
        few.values, few.scales = self.values.index_select(0, ids), self.scales.index_select(0, ids)
        few.bias = _some(self.bias, ids)
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


def _some(bias: Tensor | None, ids: Tensor) -> Tensor | None:
    return None if bias is None else bias.index_select(0, ids)


def integer_rows(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, " out"]]:
    """int8 values and the scale of each row, so that `values * scale` is the row to within half a scale."""
    scales = weight.float().abs().amax(dim=1) / 127
    safe = scales.where(scales > 0, torch.ones_like(scales))
    return (weight.float() / safe[:, None]).round().to(torch.int8), safe


def _pack(rows: Tensor, scales: Tensor, bias: Tensor | None, engine: str) -> object:
    """The weights in the library's own order. The library is chosen by a global switch, which is put back."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = engine
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # says that quantised tensors will go; here one is a vehicle
            zeros = torch.zeros(len(scales), dtype=torch.int64)
            quantised = torch._make_per_channel_quantized_tensor(rows, scales.double(), zeros, 0)
            return torch.ops.quantized.linear_prepack(quantised, bias)
    finally:
        torch.backends.quantized.engine = before
