"""Linear layers with packed weights for decoding on a CPU.

| precision | weights                                     | activations                                                |
|-----------|---------------------------------------------|------------------------------------------------------------|
| `fp32`    | unchanged                                   | fp32                                                       |
| `bf16`    | rounded to bf16                             | rounded to bf16 at the input of each layer                 |
| `int8`    | a scale per row, its largest weight at 127  | a scale and zero point per position, 255 steps (127: AVX2) |

Layers are batch-invariant: the output of a position does not depend on other positions. int8 sums are integers, so this
holds bitwise; fp32 and bf16 rely on products that sum in the same order whatever the number of rows. Those of oneDNN do
from `LEAST_ROWS` rows on, those of MKL from a number that depends on the CPU and is measured (`least_rows`): 4 on AMD,
16 on Intel with AVX-512. If MKL has no such number (Intel without AVX-512), fp32 outputs may differ in the last bit
between batches (`tests/inference/test_batch_invariance.py`).

int8 products are two to ten times as fast as fp32 ones.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.capabilities import has
from limelight.errors import UserError
from limelight.shapes import Float, Int

try:
    from limelight.inference.cpu.int8_linear import CompiledInt8Linear
except ImportError:  # numba is an extra; without it there is no int8
    CompiledInt8Linear = None  # type: ignore[assignment, misc]

MakeLinear = Callable[[Tensor, Tensor | None], Any]
"""Creates a layer from a matrix (out, in) and a bias; the layer's `some(ids)` is restricted to these outputs."""

LEAST_ROWS = 4
"""With fewer rows MKL and oneDNN use other kernels, whose sums differ in the last bit."""

PROBED_ROWS = 32
"""Maximum number of rows that `least_rows` tries: padding to more would cost more than it is worth."""

LEAST_PRODUCTS = 16**3
"""Torch uses oneDNN for bf16 products with more multiplications than this."""


class Pending(NamedTuple):
    """A compilation of loops in another process (`decoding/ahead.py`)."""

    mark: Path
    """The file that is written at its end."""
    ended: Event
    """Set at its end, also if it failed."""


PENDING: list[Pending] = []
"""The background compilation started by this process, if any."""


def is_pending() -> bool:
    """Whether loops are being compiled by another process, and should not be used yet."""
    return bool(PENDING) and not PENDING[0].ended.is_set() and not PENDING[0].mark.exists()


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


@cache
def least_rows() -> int | None:
    """The number of rows from which an fp32 product on this machine gives a row the same bits in any batch; None if
    there is none up to `PROBED_ROWS`. Measured once per process, in some milliseconds, on sizes for which MKL uses
    different kernels."""
    least = LEAST_ROWS
    for inputs, outputs in ((1024, 256), (256, 768), (97, 113)):
        weight, given = (
            torch.arange(1.0, size * inputs + 1).sin().view(size, -1) for size in (outputs, 2 * PROBED_ROWS)
        )
        together = functional.linear(given, weight)
        for rows in range(len(given), 0, -1):
            if not torch.equal(functional.linear(given[:rows], weight), together[:rows]):
                least = max(least, rows + 1)
                break
    return least if least <= PROBED_ROWS else None


class Fp32Linear(nn.Module):
    """x W^T + b in the precision of the weights."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.least_rows = least_rows() or LEAST_ROWS

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        return _with_least_rows(self, inputs)

    def some(self, ids: Int[Tensor, " some"]) -> "Fp32Linear":
        """The layer restricted to these outputs."""
        return Fp32Linear(self.weight.index_select(0, ids), _some(self.bias, ids))


class Bf16Linear(nn.Module):
    """x W^T + b with both factors rounded to bf16 and sums in fp32; the result has the precision of the inputs."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.weight = weight.detach().bfloat16()
        self.bias = None if bias is None else bias.detach().bfloat16()
        self.least_rows = max(1 if has("bf16") else LEAST_ROWS, LEAST_PRODUCTS // weight.numel() + 1)

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        return _with_least_rows(self, inputs.bfloat16()).to(inputs.dtype)

    def some(self, ids: Int[Tensor, " some"]) -> "Bf16Linear":
        """The layer restricted to these outputs."""
        return Bf16Linear(self.weight.index_select(0, ids), _some(self.bias, ids))


def _with_least_rows(layer: Fp32Linear | Bf16Linear, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
    """The product; on a CPU, inputs are zero-padded to `least_rows` rows."""
    rows = inputs.shape[:-1].numel()
    if rows >= layer.least_rows or inputs.device.type != "cpu":
        return functional.linear(inputs, layer.weight, layer.bias)
    padded = functional.pad(inputs.flatten(0, -2), (0, 0, 0, layer.least_rows - rows))
    return functional.linear(padded, layer.weight, layer.bias)[:rows].unflatten(0, inputs.shape[:-1])


def _some(bias: Tensor | None, ids: Tensor) -> Tensor | None:
    return None if bias is None else bias.index_select(0, ids)
