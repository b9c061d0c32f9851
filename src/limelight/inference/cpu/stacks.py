"""The weights of a packed Transformer, of all layers in one array for each kind, for compiled code that runs them all.

Compiled functions are made for the types of their arguments: a tuple of layers would be another type for every depth. A
stack has the layers as its first axis. The packed layers' own weights become views of it, so that they are in memory
once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from torch import nn

from limelight.inference.cpu.int8 import Int8Weights, Norm, aligned
from limelight.inference.cpu.int8_layers import CompiledInt8Linear
from limelight.inference.cpu.jit import Numbers, compiled
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import ACTIVATIONS
from limelight.models.transformer import CrossAttentionLayer, DecoderLayer, EncoderLayer, SSRULayer, Transformer
from limelight.models.transformer.layers import Sublayer

MAX_TOKENS = 256
"""Positions of a sentence, source or target, that there are tables for."""


class Sublayers(NamedTuple):
    """The sub-layers of one kind: arrays have the layers as their first axis."""

    norm: Norm
    first: Int8Weights
    last: Int8Weights


class Sizes(NamedTuple):
    """What all layers have in common; `activation` is an index in `layers.feed_forward.ACTIVATIONS`."""

    heads: int
    head_size: int
    value_size: int
    activation: int
    cell: int
    """Width of the cells of a recurrent decoder; 0 if the decoder has self-attention."""


class Side(NamedTuple):
    """What the encoder or the decoder reads, and how it ends. Tables are empty where there are no such positions."""

    embedding: Numbers
    scale: float
    positions: Numbers
    turns: Numbers
    """(positions, head_size): see `RotaryTable`."""
    norm: Norm
    """Of the last layer's output; none where it is not `first`."""


class Network(NamedTuple):
    """All weights of a Transformer."""

    source: Side
    target: Side
    encoder_attention: Sublayers
    encoder_network: Sublayers
    decoder_attention: Sublayers
    """Of a recurrent decoder, only `first` is used."""
    cross_attention: Sublayers
    decoder_network: Sublayers
    memory: Int8Weights
    """From the encoder's output to the keys and values of cross-attention."""
    output: Int8Weights
    sizes: Sizes


@compiled
def weights_at(stack: Int8Weights, layer: int) -> Int8Weights:
    """The weights of a layer."""
    return Int8Weights(stack.values[layer], stack.scales[layer], stack.sums[layer], stack.biases[layer], stack.outputs)


@compiled
def norm_at(stack: Norm, layer: int) -> Norm:
    """The normalization of a layer."""
    return Norm(stack.weight[layer], stack.bias[layer], stack.epsilon, stack.first)


def stack_transformer(packed: Transformer, turns: Numbers | None) -> Network | None:
    """The weights of a Transformer whose linear layers are `CompiledInt8Linear`; None if its layers differ in size.

    `turns` are those of `MAX_TOKENS` rotary positions, if it has such.
    """
    encoder = cast(list[EncoderLayer], list(packed.encoder.layers))
    decoder = cast(list[CrossAttentionLayer], list(packed.decoder.layers))
    recurrent = [layer for layer in decoder if isinstance(layer, SSRULayer)]
    attentive = [layer for layer in decoder if isinstance(layer, DecoderLayer)]
    attentions = [cast(Any, layer.attention) for layer in (*encoder, *attentive)]
    attentions += [cast(Any, layer.cross_attention) for layer in decoder]
    networks = [cast(Any, layer.feed_forward) for layer in (*encoder, *decoder)]
    activations = {list(ACTIVATIONS.values()).index(type(network.activation)) for network in networks}
    sizes = {(each.heads, each.head_size, each.value_size) for each in attentions}
    if not encoder or not decoder or len(sizes) != 1 or len(activations) != 1:
        return None
    try:
        return Network(
            _side(packed.encoder, turns),
            _side(packed.decoder, None if recurrent else turns),
            _attentions(encoder),
            _networks(encoder),
            _recurrences(recurrent) if recurrent else _attentions(attentive),
            _stack(
                [layer.cross_sublayer for layer in decoder],
                [cast(Any, layer.cross_attention).query_proj for layer in decoder],
                [layer.cross_attention.out_proj for layer in decoder],
            ),
            _networks(decoder),
            _weights([cast(Any, layer.cross_attention).memory_proj for layer in decoder]),
            cast(CompiledInt8Linear, packed.output).packed,
            Sizes(*sizes.pop(), activations.pop(), packed.decoder.embedding.weight.shape[1] if recurrent else 0),
        )
    except ValueError:  # numpy's, for arrays of different shapes
        return None


def _attentions(layers: Sequence[EncoderLayer] | Sequence[DecoderLayer]) -> Sublayers:
    attentions = [cast(Any, layer.attention) for layer in layers]
    return _stack(
        [layer.attention_sublayer for layer in layers],
        [each.joint_proj for each in attentions],
        [each.out_proj for each in attentions],
    )


def _recurrences(layers: Sequence[SSRULayer]) -> Sublayers:
    joints = [cast(Any, layer.ssru).joint_proj for layer in layers]
    stack = _stack([layer.ssru_sublayer for layer in layers], joints, joints)
    return stack._replace(first=stack.last)  # the weights are in memory once


def _networks(layers: Sequence[EncoderLayer] | Sequence[CrossAttentionLayer]) -> Sublayers:
    networks = [cast(Any, layer.feed_forward) for layer in layers]
    sublayers = [layer.feed_forward_sublayer for layer in layers]
    return _stack(sublayers, [each.inner for each in networks], [each.outer for each in networks])


def _stack(sublayers: Sequence[Sublayer], first: Sequence[Any], last: Sequence[Any]) -> Sublayers:
    norms = [each.norm for each in sublayers]
    if len({(norm.eps, each.norm_first) for norm, each in zip(norms, sublayers, strict=True)}) != 1:
        raise ValueError
    weight, bias = (np.stack([part.detach().numpy() for part in parts]) for parts in (
        [norm.weight for norm in norms], [norm.bias for norm in norms]))  # fmt: skip
    return Sublayers(Norm(weight, bias, norms[0].eps, sublayers[0].norm_first), _weights(first), _weights(last))


def _weights(layers: Sequence[CompiledInt8Linear]) -> Int8Weights:
    """The weights of these layers, whose own become views of them."""
    values, scales, sums, biases = (
        np.stack(parts) for parts in zip(*(layer.packed[:4] for layer in layers), strict=True)
    )
    outputs = {layer.packed.outputs for layer in layers}
    if len(outputs) != 1:
        raise ValueError
    stack = Int8Weights(aligned(values), scales, sums, biases, outputs.pop())
    for number, layer in enumerate(layers):
        parts = (part[number] for part in (stack.values, stack.scales, stack.sums, stack.biases))
        layer.packed = Int8Weights._make((*parts, stack.outputs))
    return stack


def _side(stack: Any, turns: Numbers | None) -> Side:
    embedding = cast(TokenEmbedding, stack.embedding)
    size = embedding.weight.shape[1]
    positions = np.zeros((0, size), dtype=np.float32)
    if stack.positions is not None:
        positions = stack.positions.table[:MAX_TOKENS].detach().numpy().copy()
    return Side(
        np.require(embedding.weight.detach().numpy(), requirements=["C", "W"]),
        float(embedding.scale),
        positions,
        np.zeros((0, 2), dtype=np.float32) if turns is None else turns,
        _last_norm(stack.norm, size),
    )


def _last_norm(norm: nn.LayerNorm | None, size: int) -> Norm:
    if norm is None:
        return Norm(np.ones(size, np.float32), np.zeros(size, np.float32), 1e-5, False)
    return Norm(norm.weight.detach().numpy().copy(), norm.bias.detach().numpy().copy(), norm.eps, True)
