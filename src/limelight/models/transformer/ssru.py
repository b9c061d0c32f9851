"""The SSRU (Simpler Simple Recurrent Unit), a recurrent unit in place of the decoder's self-attention (Kim et al. 2019,
"From Research to Production and Back: Ludicrously Fast Neural Machine Translation").

    f_t = sigmoid(W_f x_t + b_f)
    c_t = f_t * c_{t-1} + (1 - f_t) * (W x_t)        c_0 = 0
    o_t = ReLU(c_t)

Both products depend on the inputs alone, so in training they are computed for all positions at once; only the second
equation runs from position to position, and it multiplies no matrix. In decoding a hypothesis carries one vector for
each layer, and a step takes the same time at every position.

The unit is a sub-layer like others, with the model's residual connection and normalization. As in Marian
(`transformer-decoder-autoreg: rnn`, `dec-cell: ssru`) its outputs are not projected.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.models.transformer.layers import Layer, Reading, Sublayer
from limelight.shapes import Float


class SSRU(nn.Module):
    """The equations of this module. Cells are in fp32 or above, as their errors add up over a sentence."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.input_proj = nn.Linear(d_model, d_model, bias=False)
        self.forget_proj = nn.Linear(d_model, d_model)
        for projection in (self.input_proj, self.forget_proj):
            nn.init.xavier_uniform_(projection.weight)
        nn.init.zeros_(self.forget_proj.bias)

    def forward(self, inputs: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """All positions, from a cell of zeros. Padding at the end changes nothing before it."""
        new, forget = self.prepare(inputs)
        cell, cells = torch.zeros_like(new[:, 0]), []
        for candidate, kept in zip(new.unbind(dim=1), forget.unbind(dim=1), strict=True):
            cell = torch.lerp(candidate, cell, kept)
            cells.append(cell)
        return torch.stack(cells, dim=1).relu().to(inputs.dtype)

    def step(
        self, inputs: Float[Tensor, "batch width model"], cell: list[Tensor]
    ) -> Float[Tensor, "batch width model"]:
        """The output of one more position of every hypothesis; its cell is replaced."""
        new, forget = self.prepare(inputs)
        cell[0] = torch.lerp(new, cell[0], forget)
        return cell[0].relu().to(inputs.dtype)

    def prepare(
        self, inputs: Float[Tensor, "batch length model"]
    ) -> tuple[Float[Tensor, "batch length model"], Float[Tensor, "batch length model"]]:
        """W x and f of every position, in the precision of cells."""
        new, forget = self.input_proj(inputs), self.forget_proj(inputs)
        return new.to(cell_precision(new.dtype)), forget.to(cell_precision(forget.dtype)).sigmoid()


def cell_precision(dtype: torch.dtype) -> torch.dtype:
    """The precision of cells for activations of this one."""
    return torch.promote_types(dtype, torch.float32)


class SSRULayer(Layer):
    """A decoder layer with an SSRU instead of self-attention."""

    def __init__(
        self,
        ssru: SSRU,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        sublayer: Callable[[], Sublayer],
    ) -> None:
        nn.Module.__init__(self)
        self.ssru, self.ssru_sublayer = ssru, sublayer()
        self.cross_attention, self.cross_sublayer = cross_attention, sublayer()
        self.feed_forward, self.feed_forward_sublayer = feed_forward, sublayer()

    def read_self(
        self, inputs: Float[Tensor, "batch length model"], reading: Reading, past: Any
    ) -> Float[Tensor, "batch length model"]:
        """The unit with its residual connection; there is no attention, so nothing of `reading` is used."""
        return self.ssru_sublayer(inputs, self.ssru if past is None else lambda given: self.ssru.step(given, past))
