"""A linear layer with int8 weights in compiled loops."""

import copy

from torch import Tensor, nn

from limelight.inference.cpu.int8 import multiply, pack_rows, select_outputs
from limelight.layers.embedding import quantize_rows
from limelight.shapes import Float, Int


class CompiledInt8Linear(nn.Module):
    """x W^T + b with both factors rounded to 8 bits and sums in 32-bit integers, in loops compiled by numba."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        values, scales = quantize_rows(weight.detach())
        added = scales.new_zeros(len(scales)) if bias is None else bias.detach().float()
        self.packed = pack_rows(values.numpy(), scales.numpy(), added.numpy())

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        rows = inputs.detach().reshape(-1, inputs.shape[-1]).float().contiguous()
        outputs = rows.new_empty(len(rows), self.packed.outputs)
        multiply(rows.numpy(), self.packed, outputs.numpy())
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "CompiledInt8Linear":
        """The layer restricted to these outputs."""
        few = copy.copy(self)
        few.packed = select_outputs(self.packed, ids.numpy())
        return few
