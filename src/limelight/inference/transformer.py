"""Transformers with packed weights: the readable classes, made of packed parts and without dropout.

They compute what the readable model computes, in the same way; the fast path on a CPU (`inference/cpu`) takes their
weights from here.
"""

from collections.abc import Sequence
from typing import TypeVar, cast

from limelight.inference.attention import PackedCrossAttention, PackedSelfAttention
from limelight.inference.feed_forward import PackedFeedForward
from limelight.inference.linear import MakeLinear
from limelight.inference.share import shared
from limelight.layers.feed_forward import FeedForward
from limelight.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Layer, Stack, Transformer
from limelight.models.transformer.decoder_only import CausalLayer, CausalStack, DecoderOnly
from limelight.models.transformer.layers import Sublayer

StackT = TypeVar("StackT", bound=Stack)
LayerT = TypeVar("LayerT", EncoderLayer, CausalLayer)


def pack_transformer(model: Transformer, linear: MakeLinear) -> Transformer:
    """The model with linear layers that `linear` makes of its weights."""
    encoder = [_layer(EncoderLayer, layer, linear) for layer in cast(Sequence[EncoderLayer], model.encoder.layers)]
    decoder = [_decoder_layer(layer, linear) for layer in cast(Sequence[DecoderLayer], model.decoder.layers)]
    return Transformer(
        _stack(Encoder, model.encoder, encoder),
        _stack(Decoder, model.decoder, decoder),
        linear(*model.output_weights()),
        start_id=model.start_id,
        end_id=model.end_id,
    )


def pack_decoder_only(model: DecoderOnly, linear: MakeLinear) -> DecoderOnly:
    """The same for a decoder alone."""
    layers = [_layer(CausalLayer, layer, linear) for layer in cast(Sequence[CausalLayer], model.decoder.layers)]
    output = linear(*model.output_weights())
    return DecoderOnly(_stack(CausalStack, model.decoder, layers), output, end_id=model.end_id)


def _stack(kind: type[StackT], stack: StackT, layers: Sequence[Layer]) -> StackT:
    return kind(
        shared(stack.embedding),
        shared(stack.positions),
        layers,
        dropout=0.0,
        norm=shared(stack.norm),
        rotary=shared(stack.rotary),
    )


def _layer(kind: type[LayerT], layer: LayerT, linear: MakeLinear) -> LayerT:
    return kind(
        PackedSelfAttention(layer.attention, linear),
        PackedFeedForward(cast(FeedForward, layer.feed_forward), linear),
        attention_sublayer=_sublayer(layer.attention_sublayer),
        feed_forward_sublayer=_sublayer(layer.feed_forward_sublayer),
    )


def _decoder_layer(layer: DecoderLayer, linear: MakeLinear) -> DecoderLayer:
    return DecoderLayer(
        PackedSelfAttention(layer.attention, linear),
        PackedCrossAttention(layer.cross_attention, linear),
        PackedFeedForward(cast(FeedForward, layer.feed_forward), linear),
        attention_sublayer=_sublayer(layer.attention_sublayer),
        cross_sublayer=_sublayer(layer.cross_sublayer),
        feed_forward_sublayer=_sublayer(layer.feed_forward_sublayer),
    )


def _sublayer(sublayer: Sublayer) -> Sublayer:
    return Sublayer(shared(sublayer.norm), dropout=0.0, norm_first=sublayer.norm_first)
