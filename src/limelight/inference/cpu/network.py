"""All weights of a Transformer in int8, of all layers in one array for each kind, for the compiled `forward.py`.

Compiled functions are made for the types of their arguments: a tuple of layers would be another type for every depth. A
stack has the layers as its first axis.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import nn

from limelight.inference.cpu.int8 import Int8Weights, Norm, aligned
from limelight.inference.cpu.int8_linear import CompiledInt8Linear
from limelight.inference.cpu.jit import Numbers, compiled
from limelight.inference.pack import joined
from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, sinusoids
from limelight.layers.feed_forward import ACTIVATIONS, FeedForward
from limelight.models.transformer import Layer, SSRULayer, Stack, Sublayer, Transformer

MAX_TOKENS = 256
"""Positions of a sentence, source or target, that there are tables for at first."""


KNOWN_POSITIONS = type(None), SinusoidalPositions, LearnedPositions


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
    """What the encoder or the decoder reads, and how it ends. Tables are empty if there are no such positions."""

    embedding: Numbers
    scale: float
    positions: Numbers
    turns: Numbers
    """(positions, head_size): see `turns_of`."""
    norm: Norm
    """Of the last layer's output; not applied unless it is `first`."""


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


def network_of(model: Transformer, output: Int8Weights) -> Network | None:
    """The weights of a Transformer with `output` as the final layer; None unless all layers have the same sizes, and
    normalizations and feed-forward networks are the ones that `int8.py` computes."""
    encoder, decoder = list(model.encoder.each()), list(model.decoder.each())
    recurrent = [layer for layer in decoder if isinstance(layer, SSRULayer)]
    attentive = [layer for layer in decoder if not isinstance(layer, SSRULayer)]
    crossing = [cast(Any, layer).cross_attention for layer in decoder]
    attentions = [layer.attention for layer in (*encoder, *attentive)] + crossing
    networks = [cast(FeedForward, layer.feed_forward) for layer in (*encoder, *decoder)]
    norms = [module.norm for module in model.modules() if isinstance(module, Sublayer)]
    norms += [stack.norm for stack in (model.encoder, model.decoder) if stack.norm is not None]
    if {type(network) for network in networks} != {FeedForward} or {type(norm) for norm in norms} != {nn.LayerNorm}:
        return None
    activations = {list(ACTIVATIONS.values()).index(type(network.activation)) for network in networks}
    sizes = {(each.heads, each.head_size, each.value_size) for each in attentions}
    if not encoder or not decoder or len(sizes) != 1 or len(activations) != 1:
        return None
    if any(type(side.positions) not in KNOWN_POSITIONS for side in (model.encoder, model.decoder)):
        return None
    cell = model.decoder.embedding.weight.shape[1] if recurrent else 0
    try:
        return Network(
            _side(model.encoder, MAX_TOKENS),
            _side(model.decoder, MAX_TOKENS),
            _attentions(encoder),
            _networks(encoder),
            _recurrences(recurrent) if recurrent else _attentions(attentive),
            Sublayers(
                _norms([cast(Any, layer).cross_sublayer for layer in decoder]),
                _weights([[each.query_proj] for each in crossing]),
                _weights([[each.out_proj] for each in crossing]),
            ),
            _networks(decoder),
            _weights([[each.key_proj, each.value_proj] for each in crossing]),
            output,
            Sizes(*sizes.pop(), activations.pop(), cell),
        )
    except ValueError:  # numpy's, for arrays of different shapes
        return None


def with_positions(network: Network, model: Transformer, length: int) -> Network:
    """The network with tables of at least this length; a learned table is as long as it is."""
    if length <= max(len(network.source.positions), len(network.source.turns), MAX_TOKENS):
        return network
    return network._replace(source=_side(model.encoder, 2 * length), target=_side(model.decoder, 2 * length))


def _attentions(layers: Sequence[Layer]) -> Sublayers:
    attentions = [layer.attention for layer in layers]
    return Sublayers(
        _norms([layer.attention_sublayer for layer in layers]),
        _weights([[each.query_proj, each.key_proj, each.value_proj] for each in attentions]),
        _weights([[each.out_proj] for each in attentions]),
    )


def _recurrences(layers: Sequence[SSRULayer]) -> Sublayers:
    stack = _weights([[layer.ssru.input_proj, layer.ssru.forget_proj] for layer in layers])
    return Sublayers(_norms([layer.ssru_sublayer for layer in layers]), stack, stack)


def _networks(layers: Sequence[Layer]) -> Sublayers:
    networks = [cast(FeedForward, layer.feed_forward) for layer in layers]
    return Sublayers(
        _norms([layer.feed_forward_sublayer for layer in layers]),
        _weights([[each.inner] for each in networks]),
        _weights([[each.outer] for each in networks]),
    )


def _norms(sublayers: Sequence[Sublayer]) -> Norm:
    norms = [cast(nn.LayerNorm, each.norm) for each in sublayers]
    if len({(norm.eps, each.norm_first) for norm, each in zip(norms, sublayers, strict=True)}) != 1:
        raise ValueError
    weights, biases = ([part.detach().numpy() for part in parts] for parts in zip(*map(_parts, norms), strict=True))
    return Norm(np.stack(weights), np.stack(biases), norms[0].eps, sublayers[0].norm_first)


def _parts(norm: nn.LayerNorm) -> tuple[nn.Parameter, nn.Parameter]:
    return norm.weight, norm.bias


def _weights(layers: Sequence[Sequence[nn.Linear]]) -> Int8Weights:
    """A stack of linear layers; of each layer those with the same input are joined."""
    packed = [CompiledInt8Linear(*joined(*several)).packed for several in layers]
    values, scales, sums, biases = (np.stack(parts) for parts in zip(*(each[:4] for each in packed), strict=True))
    if len({each.outputs for each in packed}) != 1:
        raise ValueError
    return Int8Weights(aligned(values), scales, sums, biases, packed[0].outputs)


def _side(stack: Stack, length: int) -> Side:
    embedding = stack.embedding
    size = embedding.weight.shape[1]
    positions = np.zeros((0, size), dtype=np.float32)
    if isinstance(stack.positions, SinusoidalPositions):
        positions = sinusoids(length, size, layout=stack.positions.layout).numpy()
    elif stack.positions is not None:
        positions = stack.positions.table.detach().numpy().copy()
    turns = np.zeros((0, 2), dtype=np.float32) if stack.rotary is None else turns_of(stack.rotary, length)
    weight = np.require(embedding.weight.detach().numpy(), requirements=["C", "W"])
    return Side(weight, float(embedding.scale), positions, turns, _last_norm(stack.norm, size))


def turns_of(rotary: RotaryPositions, length: int) -> Numbers:
    """(length, head_size): the cosines of the angles at each position, then the sines."""
    angles = torch.arange(length)[:, None] * rotary.rates.cpu()
    turns: Numbers = torch.cat([angles.cos(), angles.sin()], dim=1).numpy()
    return turns


def _last_norm(norm: nn.Module | None, size: int) -> Norm:
    if norm is None:
        return Norm(np.ones(size, np.float32), np.zeros(size, np.float32), 1e-5, False)
    assert isinstance(norm, nn.LayerNorm)
    return Norm(norm.weight.detach().numpy().copy(), norm.bias.detach().numpy().copy(), norm.eps, True)
