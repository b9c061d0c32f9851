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

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.models.cache import Cells
from limelight.models.transformer.layers import CrossAttentionLayer, DecoderLayerOutput, SourceView, Sublayer
from limelight.models.transformer.model import Decoder
from limelight.shapes import Float, Int


class SSRU(nn.Module):
    """The equations of this module. Cells are in fp32 or above, as their errors add up over a sentence."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.input_proj = nn.Linear(d_model, d_model, bias=False)
        self.forget_proj = nn.Linear(d_model, d_model)
        for projection in (self.input_proj, self.forget_proj):
            nn.init.xavier_uniform_(projection.weight)
        nn.init.zeros_(self.forget_proj.bias)

    def project(
        self, inputs: Float[Tensor, "batch length model"]
    ) -> tuple[Float[Tensor, "batch length model"], Float[Tensor, "batch length model"]]:
        """W x and W_f x + b_f of every position."""
        return self.input_proj(inputs), self.forget_proj(inputs)

    def forward(self, inputs: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """All positions, from a cell of zeros. Padding at the end changes nothing before it."""
        new, forget = self.prepare(inputs)
        cell, cells = torch.zeros_like(new[:, 0]), []
        for given, kept in zip(new.unbind(dim=1), forget.unbind(dim=1), strict=True):
            cell = torch.lerp(given, cell, kept)
            cells.append(cell)
        return torch.stack(cells, dim=1).relu().to(inputs.dtype)

    def step(
        self, inputs: Float[Tensor, "batch width model"], cell: Float[Tensor, "batch width model"]
    ) -> tuple[Float[Tensor, "batch width model"], Float[Tensor, "batch width model"]]:
        """The output of one more position of every hypothesis, and its new cell."""
        new, forget = self.prepare(inputs)
        cell = torch.lerp(new, cell, forget)
        return cell.relu().to(inputs.dtype), cell

    def prepare(
        self, inputs: Float[Tensor, "batch length model"]
    ) -> tuple[Float[Tensor, "batch length model"], Float[Tensor, "batch length model"]]:
        """W x and f of every position, in the precision of cells."""
        new, forget = (part.to(cell_precision(part.dtype)) for part in self.project(inputs))
        return new, forget.sigmoid()


def cell_precision(given: torch.dtype) -> torch.dtype:
    """The precision of cells for activations of this one."""
    return torch.promote_types(given, torch.float32)


class SSRULayer(CrossAttentionLayer):
    """An SSRU, cross-attention to the encoder, then a feed-forward network.

    What the methods take for self-attention (`rotate`, `bias`, `keep_self`) is not used: there is none.
    """

    def __init__(
        self,
        ssru: SSRU,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        *,
        ssru_sublayer: Sublayer,
        cross_sublayer: Sublayer,
        feed_forward_sublayer: Sublayer,
    ) -> None:
        super().__init__()
        self.ssru, self.ssru_sublayer = ssru, ssru_sublayer
        self.cross_attention, self.cross_sublayer = cross_attention, cross_sublayer
        self.feed_forward, self.feed_forward_sublayer = feed_forward, feed_forward_sublayer

    def recur(self, inputs: Float[Tensor, "batch target model"]) -> Float[Tensor, "batch target model"]:
        """The unit with its residual connection, at all positions."""
        return self.ssru_sublayer.after(inputs, self.ssru(self.ssru_sublayer.before(inputs)))

    def forward(
        self,
        inputs: Float[Tensor, "batch target model"],
        source: SourceView,
        *,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
        want_weights: bool = False,
    ) -> DecoderLayerOutput:
        hidden, weights = self.attend_source(
            self.recur(inputs), source, keep_heads=keep_cross, want_weights=want_weights
        )
        return DecoderLayerOutput(self.apply_feed_forward(hidden), None, weights)

    def step(
        self,
        inputs: Float[Tensor, "batch width model"],
        source: SourceView,
        past: Float[Tensor, "batch width model"],
        *,
        positions: Int[Tensor, "batch 1 1"],
        bias: Tensor | None,
        source_bias: Float[Tensor, "batch 1 1 source"] | None,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], Float[Tensor, "batch width model"]]:
        output, cell = self.ssru.step(self.ssru_sublayer.before(inputs), past)
        hidden = self.ssru_sublayer.after(inputs, output)
        hidden, _ = self.attend_source(hidden, source, positions=positions, bias=source_bias, keep_heads=keep_cross)
        return self.apply_feed_forward(hidden), cell


class SSRUDecoder(Decoder):
    """A decoder whose layers are `SSRULayer`."""

    def begin(self, sources: Sequence[SourceView], width: int) -> Cells:
        keys, model = sources[0].keys, self.embedding.weight.shape[1]
        cell = keys.new_zeros(len(keys), width, model, dtype=cell_precision(keys.dtype))
        return Cells(tuple(cell.clone() for _ in sources))
