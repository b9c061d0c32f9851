"""Layers of the encoder and the decoder (Vaswani et al. 2017, figure 1)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from limelight.attention.attend import Mask
from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Columns, SourceView
from limelight.shapes import Float, Int


class Sublayer(nn.Module):
    """Residual connection, dropout and layer normalization around a function f.

    Post-norm, as in the paper: LayerNorm(x + Dropout(f(x))) (Vaswani et al. 2017, section 5.4). Pre-norm: x +
    Dropout(f(LayerNorm(x))) (Xiong et al. 2020), which trains without a long warm-up and needs one more LayerNorm at
    the end of the stack.
    """

    def __init__(self, norm: nn.Module, *, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(
        self, inputs: Float[Tensor, "*rows model"], function: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*rows model"]:
        """The residual sum of the inputs and f."""
        if self.norm_first:
            return inputs + self.dropout(function(self.norm(inputs)))
        return self.norm(inputs + self.dropout(function(inputs)))


class Reading(NamedTuple):
    """What self-attention has in common in all layers of a pass: positions and mask."""

    rotate: Rotate | None
    """Rotary positions, if the model has them."""
    positions: Int[Tensor, "batch 1 1"] | None
    """Of queries and keys, for scores that see positions; by default 0, 1, ..."""
    may_attend: Mask | None
    causal: bool = False
    """No position attends to later ones. Sequences are padded at the end, so this also excludes padding."""


class Layer(nn.Module):
    """Self-attention, cross-attention to a source (only in the decoder of a translator), and a feed-forward network,
    each with a residual connection.

    Args:
        sublayer: makes the residual connection of each of them.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        sublayer: Callable[[], Sublayer],
        *,
        cross_attention: MultiHeadAttention | None = None,
    ) -> None:
        super().__init__()
        self.attention, self.attention_sublayer = attention, sublayer()
        self.feed_forward, self.feed_forward_sublayer = feed_forward, sublayer()
        self.cross_attention = cross_attention
        if cross_attention is not None:
            self.cross_sublayer = sublayer()

    def forward(
        self,
        inputs: Float[Tensor, "batch length model"],
        reading: Reading,
        source: SourceView | None,
        past: Any,
    ) -> Float[Tensor, "batch length model"]:
        """The layer at all positions; or at the next position of each hypothesis, if there is a `past`, which it then
        includes."""
        hidden = self.read_self(inputs, reading, past)
        if source is not None:
            hidden = self.cross_sublayer(hidden, lambda given: self._attend_source(given, reading, source))
        return self.feed_forward_sublayer(hidden, self.feed_forward)

    def read_self(
        self, inputs: Float[Tensor, "batch length model"], reading: Reading, past: Any
    ) -> Float[Tensor, "batch length model"]:
        """Self-attention with its residual connection; `past` has the keys and values of earlier positions, or another
        form of the past in a subclass."""
        return self.attention_sublayer(inputs, lambda given: self._attend_self(given, reading, past))

    def _attend_self(self, inputs: Tensor, reading: Reading, past: Columns | None) -> Tensor:
        queries = self.attention.project_queries(inputs, reading.rotate, reading.positions)
        memory = self.attention.project_memory(inputs, reading.rotate, reading.positions)
        keys, values = memory if past is None else past.append(*memory)
        return self.attention(queries, keys, values, may_attend=reading.may_attend, causal=reading.causal)

    def _attend_source(self, inputs: Tensor, reading: Reading, source: SourceView) -> Tensor:
        assert self.cross_attention is not None
        queries = self.cross_attention.project_queries(inputs, positions=reading.positions)
        return self.cross_attention(queries, source.keys, source.values, may_attend=source.may_attend)
