"""int8 linear layers with torch's own libraries, for machines without numba or AVX2."""

import copy
import warnings
from threading import Lock

import torch
from torch import Tensor, nn

from limelight.capabilities import has, int8_engines
from limelight.layers.embedding import quantize_rows
from limelight.shapes import Float, Int

MIN_SIZE = 1e-30
"""Minimum step size of activations, to avoid division by zero."""

_multiply = torch.ops.quantized.linear_dynamic.default
_SWITCH = Lock()


class TorchInt8Linear(nn.Module):
    """x W^T + b with both factors rounded to 8 bits and sums in 32-bit integers."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        self.values, self.scales = quantize_rows(weight.detach())
        self.bias = None if bias is None else bias.detach().float()
        self.sums = self.values.sum(dim=1, dtype=torch.float32) * self.scales
        self.packed = pack(self.values, self.scales, int8_engines()[0])
        # Without VNNI, x86 sums pairs of products in 16 bits, which 8-bit activations would overflow: use 7 bits.
        self.reduced = not (has("vnni") or has("neon"))

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        rows, steps = inputs.flatten(0, -2).float(), 127 if self.reduced else 255
        below, above = -rows.amin(dim=1, keepdim=True).clamp_(max=0), rows.amax(dim=1, keepdim=True).clamp_(min=0)
        scales = (above + below).div_(steps).clamp_(min=MIN_SIZE)
        zero_points = (below / scales).round_()
        # Torch computes one scale for the whole input: an additional row from 0 to `steps` makes it 1.
        rounded = rows.new_full((len(rows) + 1, rows.shape[1]), steps)
        torch.add(zero_points, rows / scales, out=rounded[:-1]).round_().clamp_(0, steps)
        outputs = _multiply(rounded, self.packed, self.reduced)[:-1]
        outputs.sub_(zero_points * self.sums).mul_(scales)
        if self.bias is not None:
            outputs += self.bias
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "TorchInt8Linear":
        """The layer restricted to these outputs. Packing takes as long as five products."""
        few = copy.copy(self)
        few.values, few.scales, few.sums = (part.index_select(0, ids) for part in (self.values, self.scales, self.sums))
        few.bias = None if self.bias is None else self.bias.index_select(0, ids)
        few.packed = pack(few.values, few.scales, int8_engines()[0])
        return few


def pack(rows: Int[Tensor, "out in"], scales: Float[Tensor, " out"], engine: str) -> object:
    """The weights in the format of `engine`. The engine is selected by a global switch, which is restored; a lock makes
    other threads that load a model wait."""
    with _SWITCH:
        before = torch.backends.quantized.engine
        torch.backends.quantized.engine = engine
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # quantized tensors are deprecated
                weight, zeros = rows.float() * scales[:, None], torch.zeros(len(scales), dtype=torch.int64)
                # Rounds to exactly these integers: the error is at most the last digit of fp32.
                quantized = torch.quantize_per_channel(weight, scales.double(), zeros, 0, torch.qint8)
                return torch.ops.quantized.linear_prepack(quantized, None)
        finally:
            torch.backends.quantized.engine = before
