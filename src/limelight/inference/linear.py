"""Linear layers with packed weights for decoding on a CPU.

| precision | weights                                     | activations                                                |
|-----------|---------------------------------------------|------------------------------------------------------------|
| `fp32`    | unchanged                                   | fp32                                                       |
| `bf16`    | rounded to bf16                             | rounded to bf16 at the input of each layer                 |
| `int8`    | a scale per row, its largest weight at 127* | a scale and zero point per position, 255 steps (127: AVX2) |

int8 weights are rounded by `quantize_rows` (`storage/weights.py`; *120 after fine-tuning from int8), activations in
`cpu/weights.py`.

These layers are for models that compiled code does not know (`cpu/network.py`), such as recurrent ones and those with
layers of one's own. In int8 the output of a position does not depend on other positions, as sums are integers; in fp32
and bf16 it may differ in the last bit from batch to batch.

int8 products are two to ten times as fast as fp32 ones.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.capabilities import has
from limelight.errors import UserError
from limelight.shapes import Float, Int

try:
    from limelight.inference.cpu.weights import CompiledInt8Linear
except ImportError:  # numba is an extra; without it there is no int8
    CompiledInt8Linear = None  # type: ignore[assignment, misc]

MakeLinear = Callable[[Tensor, Tensor | None], Any]
"""Creates a layer from a matrix (out, in) and a bias; the layer's `some(ids)` is restricted to these outputs."""


PENDING: list[Thread] = []
"""The thread that waits for the compilation of loops in another process (`decoding/ahead.py`), if there is one."""


def is_pending() -> bool:
    """Whether loops are being compiled by another process, and should not be used yet."""
    return bool(PENDING) and PENDING[0].is_alive()


def linear_of(precision: str) -> MakeLinear:
    """The linear layer for this precision; while loops are being compiled, int8 is computed in fp32.

    Raises `UserError` for an unknown precision, and for int8 on a machine without it.
    """
    kinds = {"fp32": Fp32Linear, "bf16": Bf16Linear, "int8": int8_kind()}
    if precision not in kinds:
        raise UserError(f"unknown precision {precision!r}; choose from {', '.join(kinds)}")
    kind = kinds[precision]
    if kind is None:
        raise UserError("precision int8 needs numba and a CPU with AVX2; use fp32 or bf16")
    return Fp32Linear if precision == "int8" and is_pending() else kind


def int8_kind() -> MakeLinear | None:
    """The int8 layers; None on a machine without numba or AVX2."""
    return CompiledInt8Linear if CompiledInt8Linear is not None and has("avx2") else None


class Fp32Linear(nn.Module):
    """x W^T + b in the precision of the weights."""

    dtype: torch.dtype | None = None
    """Of both factors; sums are in fp32."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach().to(self.dtype), None if bias is None else bias.detach().to(self.dtype)

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        return functional.linear(inputs.to(self.weight.dtype), self.weight, self.bias).to(inputs.dtype)

    def some(self, ids: Int[Tensor, " some"]) -> "Fp32Linear":
        """The layer restricted to these outputs."""
        return type(self)(self.weight[ids], None if self.bias is None else self.bias[ids])


class Bf16Linear(Fp32Linear):
    """x W^T + b with both factors rounded to bf16 and sums in fp32; the result has the precision of the inputs."""

    dtype = torch.bfloat16
