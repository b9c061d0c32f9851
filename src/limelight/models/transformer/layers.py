"""Layers of the encoder and the decoder (Vaswani et al. 2017, figure 1)."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Columns
from limelight.shapes import Bool, Float, Int


class Sublayer(nn.Module):
    """Residual connection, dropout and layer normalization around a sub-layer f.

    Post-norm, as in the paper: LayerNorm(x + Dropout(f(x))) (Vaswani et al. 2017, section 5.4). Pre-norm: x +
    Dropout(f(LayerNorm(x))) (Xiong et al. 2020), which trains without a long warm-up and needs one more LayerNorm at
    the end of the stack.
    """

    def __init__(self, norm: nn.LayerNorm, *, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm = norm
        self.dropout = Dropout(dropout) if dropout else nn.Identity()

    def before(self, inputs: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """The input of the sub-layer."""
        return self.norm(inputs) if self.norm_first else inputs

    def after(
        self, inputs: Float[Tensor, "batch length model"], output: Float[Tensor, "batch length model"]
    ) -> Float[Tensor, "batch length model"]:
        """The residual sum of the inputs and the sub-layer's output."""
        total = inputs + self.dropout(output)
        return total if self.norm_first else self.norm(total)


class Layer(nn.Module):
    """Base class of all layers: the last part is a feed-forward network with a residual connection."""

    feed_forward: nn.Module
    feed_forward_sublayer: Sublayer

    def apply_feed_forward(self, hidden: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """The feed-forward network with its residual connection."""
        changed = self.feed_forward(self.feed_forward_sublayer.before(hidden))
        return self.feed_forward_sublayer.after(hidden, changed)


class SelfAttentionLayer(Layer):
    """Base class of layers whose first part is self-attention with a residual connection."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        *,
        attention_sublayer: Sublayer,
        feed_forward_sublayer: Sublayer,
    ) -> None:
        super().__init__()
        self.attention, self.attention_sublayer = attention, attention_sublayer
        self.feed_forward, self.feed_forward_sublayer = feed_forward, feed_forward_sublayer

    def attend_self(
        self,
        inputs: Float[Tensor, "batch length model"],
        *,
        may_attend: Bool[Tensor, "batch 1 1 length"] | None = None,
        causal: bool = False,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
        want_weights: bool = False,
    ) -> "SelfAttention":
        """Self-attention over all positions."""
        queries, keys, values = self.attention.project_self(self.attention_sublayer.before(inputs), rotate)
        context, weights = self.attention(
            queries,
            keys,
            values,
            may_attend=may_attend,
            causal=causal,
            keep_heads=keep_heads,
            want_weights=want_weights,
        )
        return SelfAttention(self.attention_sublayer.after(inputs, context), keys, values, weights)

    def attend_past(
        self,
        inputs: Float[Tensor, "batch width model"],
        past: tuple[Columns, Columns],
        *,
        positions: Int[Tensor, "batch 1 1"],
        bias: Float[Tensor, "batch 1 width columns"] | None,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], tuple[Columns, Columns]]:
        """Self-attention of one more position of every hypothesis, over the cached keys and values and its own."""
        queries, new_keys, new_values = self.attention.project_self(
            self.attention_sublayer.before(inputs), rotate, positions
        )
        keys, values = past[0].append(new_keys), past[1].append(new_values)
        context, _ = self.attention(queries, keys.view(), values.view(), bias=bias, keep_heads=keep_heads)
        return self.attention_sublayer.after(inputs, context), (keys, values)


class EncoderLayer(SelfAttentionLayer):
    """Self-attention, then a feed-forward network."""

    def forward(
        self,
        inputs: Float[Tensor, "batch source model"],
        may_attend: Bool[Tensor, "batch 1 1 source"],
        *,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source model"], Float[Tensor, "batch heads source source"] | None]:
        """Every position attends to every valid position."""
        attended = self.attend_self(
            inputs, may_attend=may_attend, rotate=rotate, keep_heads=keep_heads, want_weights=want_weights
        )
        return self.apply_feed_forward(attended.hidden), attended.weights


class CrossAttentionLayer(Layer, ABC):
    """Base class of the decoder's layers: the second part is cross-attention with a residual connection.

    A subclass has the first part, which reads the target so far, and its own form of the past. Its `forward` computes
    all positions at once.
    """

    cross_attention: MultiHeadAttention
    cross_sublayer: Sublayer

    def attend_source(
        self,
        hidden: Float[Tensor, "batch target model"],
        source: "SourceView",
        *,
        positions: Int[Tensor, "batch 1 1"] | None = None,
        bias: Float[Tensor, "batch 1 1 source"] | None = None,
        keep_heads: Tensor | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target model"], Float[Tensor, "batch heads target source"] | None]:
        """Cross-attention. The mask is that of the source, unless it is given as a bias."""
        context, weights = self.cross_attention(
            self.cross_attention.project_queries(self.cross_sublayer.before(hidden), positions=positions),
            source.keys,
            source.values,
            may_attend=source.may_attend if bias is None else None,
            bias=bias,
            keep_heads=keep_heads,
            want_weights=want_weights,
        )
        return self.cross_sublayer.after(hidden, context), weights

    @abstractmethod
    def step(
        self,
        inputs: Float[Tensor, "batch width model"],
        source: "SourceView",
        past: Any,
        *,
        positions: Int[Tensor, "batch 1 1"],
        bias: Float[Tensor, "batch 1 width columns"] | None,
        source_bias: Float[Tensor, "batch 1 1 source"] | None,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], Any]:
        """One more position of every hypothesis, given its past, and the past that includes it."""


class DecoderLayer(SelfAttentionLayer, CrossAttentionLayer):
    """Masked self-attention, cross-attention to the encoder, then a feed-forward network."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        *,
        attention_sublayer: Sublayer,
        cross_sublayer: Sublayer,
        feed_forward_sublayer: Sublayer,
    ) -> None:
        super().__init__(
            attention,
            feed_forward,
            attention_sublayer=attention_sublayer,
            feed_forward_sublayer=feed_forward_sublayer,
        )
        self.cross_attention, self.cross_sublayer = cross_attention, cross_sublayer

    def forward(
        self,
        inputs: Float[Tensor, "batch target model"],
        source: "SourceView",
        *,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
        want_weights: bool = False,
    ) -> "DecoderLayerOutput":
        """All positions at once."""
        # Targets are padded at the end, so the causal mask also excludes padding.
        attended = self.attend_self(inputs, causal=True, rotate=rotate, keep_heads=keep_self, want_weights=want_weights)
        hidden, weights = self.attend_source(attended.hidden, source, keep_heads=keep_cross, want_weights=want_weights)
        return DecoderLayerOutput(self.apply_feed_forward(hidden), attended.weights, weights)

    def step(
        self,
        inputs: Float[Tensor, "batch width model"],
        source: "SourceView",
        past: tuple[Columns, Columns],
        *,
        positions: Int[Tensor, "batch 1 1"],
        bias: Float[Tensor, "batch 1 width columns"] | None,
        source_bias: Float[Tensor, "batch 1 1 source"] | None,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], tuple[Columns, Columns]]:
        """One more position of every hypothesis, given the keys and values of the previous positions."""
        hidden, past = self.attend_past(
            inputs, past, positions=positions, bias=bias, rotate=rotate, keep_heads=keep_self
        )
        hidden, _ = self.attend_source(hidden, source, positions=positions, bias=source_bias, keep_heads=keep_cross)
        return self.apply_feed_forward(hidden), past


class SelfAttention(NamedTuple):
    """Output of self-attention: the residual sum, keys and values, and the weights if requested."""

    hidden: Float[Tensor, "batch length model"]
    keys: Float[Tensor, "batch heads length head_size"]
    values: Float[Tensor, "batch heads length value_size"]
    weights: Float[Tensor, "batch heads length length"] | None


class SourceView(NamedTuple):
    """Keys and values of the encoder's output for one decoder layer; `may_attend` is None if nothing is padded."""

    keys: Float[Tensor, "batch heads source head_size"]
    values: Float[Tensor, "batch heads source value_size"]
    may_attend: Bool[Tensor, "batch 1 1 source"] | None


class DecoderLayerOutput(NamedTuple):
    """Output of a decoder layer: features, and the attention weights if requested."""

    features: Float[Tensor, "batch target model"]
    self_weights: Float[Tensor, "batch heads target target"] | None
    cross_weights: Float[Tensor, "batch heads target source"] | None
