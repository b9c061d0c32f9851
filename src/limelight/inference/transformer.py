"""Transformers with packed weights: the readable classes with packed layers and without dropout.

They compute the same as the readable model; the fast path on a CPU (`inference/cpu`) uses their weights.
"""

import copy
from collections.abc import Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.inference.linear import MakeLinear, shared
from limelight.layers.feed_forward import FeedForward
from limelight.models.transformer import (
    SSRU,
    CrossAttentionLayer,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    Layer,
    SSRULayer,
    Stack,
    Transformer,
)
from limelight.models.transformer.halves import CausalLayer, CausalStack, DecoderOnly
from limelight.models.transformer.layers import Sublayer
from limelight.shapes import Float, Int


class PackedAttention(MultiHeadAttention):
    """Base class of attention with packed weights: its size and score, and the packed output projection."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size, self.value_size = attention.heads, attention.head_size, attention.value_size
        self.score = copy.deepcopy(attention.score)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)


class PackedSelfAttention(PackedAttention):
    """Self-attention with packed weights; one product for queries, keys and values."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        super().__init__(attention, linear)
        layers = (attention.query_proj, attention.key_proj, attention.value_proj)
        self.widths = [layer.out_features for layer in layers]
        self.joint_proj = _joined(linear, *layers)

    def project_self(
        self,
        inputs: Float[Tensor, "batch length model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = map(self._split, self.joint_proj(inputs).split(self.widths, dim=-1))
        return self.prepare_queries(queries, rotate, positions), self.prepare_keys(keys, rotate, positions), values


class PackedCrossAttention(PackedAttention):
    """Cross-attention with packed weights; one product for keys and values."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        super().__init__(attention, linear)
        layers = (attention.key_proj, attention.value_proj)
        self.widths = [layer.out_features for layer in layers]
        self.query_proj = linear(attention.query_proj.weight, attention.query_proj.bias)
        self.memory_proj = _joined(linear, *layers)

    def project_memory(
        self,
        memory: Float[Tensor, "batch key model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> tuple[Tensor, Tensor]:
        keys, values = map(self._split, self.memory_proj(memory).split(self.widths, dim=-1))
        return self.prepare_keys(keys, rotate, positions), values


class PackedSSRU(SSRU):
    """The recurrent unit with packed weights; one product for its input and its gate."""

    def __init__(self, ssru: SSRU, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.joint_proj = _joined(linear, ssru.input_proj, ssru.forget_proj)

    def project(
        self, inputs: Float[Tensor, "batch length model"]
    ) -> tuple[Float[Tensor, "batch length model"], Float[Tensor, "batch length model"]]:
        new, forget = self.joint_proj(inputs).chunk(2, dim=-1)
        return new, forget


def _joined(linear: MakeLinear, *layers: nn.Linear) -> nn.Module:
    """One layer for several layers with the same input; the bias of those without one is zero."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    biases = [weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias.detach() for layer in layers]
    return linear(weight, torch.cat(biases))


class PackedFeedForward(nn.Module):
    """The feed-forward network with packed weights and without dropout; a ReLU works in place."""

    def __init__(self, feed_forward: FeedForward, linear: MakeLinear) -> None:
        super().__init__()
        self.inner = linear(feed_forward.inner.weight, feed_forward.inner.bias)
        kind = type(feed_forward.activation)
        self.activation = nn.ReLU(inplace=True) if kind is nn.ReLU else kind()
        self.outer = linear(feed_forward.outer.weight, feed_forward.outer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        return self.outer(self.activation(self.inner(inputs)))


StackT = TypeVar("StackT", bound=Stack)
LayerT = TypeVar("LayerT", EncoderLayer, CausalLayer)


def pack_transformer(model: Transformer, linear: MakeLinear) -> Transformer:
    """The model with linear layers made by `linear`."""
    encoder = [_layer(EncoderLayer, layer, linear) for layer in cast(Sequence[EncoderLayer], model.encoder.layers)]
    decoder = [_decoder_layer(layer, linear) for layer in cast(Sequence[CrossAttentionLayer], model.decoder.layers)]
    return Transformer(
        _stack(Encoder, model.encoder, encoder),
        _stack(type(model.decoder), model.decoder, decoder),
        linear(*model.output_weights()),
        start_id=model.start_id,
        end_id=model.end_id,
    )


def pack_decoder_only(model: DecoderOnly, linear: MakeLinear) -> DecoderOnly:
    """The model with linear layers made by `linear`."""
    layers = [_layer(CausalLayer, layer, linear) for layer in cast(Sequence[CausalLayer], model.decoder.layers)]
    output = linear(*model.output_weights())
    return DecoderOnly(_stack(CausalStack, model.decoder, layers), output, end_id=model.end_id)


def _stack(kind: type[StackT], stack: StackT, layers: Sequence[Layer]) -> StackT:
    """A stack with other layers and without dropout, that shares everything else."""
    return kind(
        shared(stack.embedding),
        shared(stack.positions),
        layers,
        dropout=0.0,
        norm=shared(stack.norm),
        rotary=shared(stack.rotary),
    )


def _layer(kind: type[LayerT], layer: LayerT, linear: MakeLinear) -> LayerT:
    """A layer of self-attention and a feed-forward network, packed."""
    return kind(
        PackedSelfAttention(layer.attention, linear),
        PackedFeedForward(cast(FeedForward, layer.feed_forward), linear),
        **_sublayers(layer),
    )


def _decoder_layer(layer: CrossAttentionLayer, linear: MakeLinear) -> CrossAttentionLayer:
    cross_attention = PackedCrossAttention(layer.cross_attention, linear)
    feed_forward = PackedFeedForward(cast(FeedForward, layer.feed_forward), linear)
    if isinstance(layer, SSRULayer):
        return SSRULayer(PackedSSRU(layer.ssru, linear), cross_attention, feed_forward, **_sublayers(layer))
    assert isinstance(layer, DecoderLayer)
    attention = PackedSelfAttention(layer.attention, linear)
    return DecoderLayer(attention, cross_attention, feed_forward, **_sublayers(layer))


def _sublayers(layer: Layer) -> dict[str, Sublayer]:
    """The residual connections of a layer without dropout, by their names, which are those of its arguments."""
    return {
        name: Sublayer(shared(each.norm), dropout=0.0, norm_first=each.norm_first)
        for name, each in layer.named_children()
        if isinstance(each, Sublayer)
    }
