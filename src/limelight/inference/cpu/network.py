"""All weights of a Transformer, of all layers in one array for each kind, for the compiled `forward.py`.

Compiled functions are made for the types of their arguments: a tuple of layers would be another type for every depth. A
stack has the layers as its first axis.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from limelight.attention.attend import Attend
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import ScaledDot
from limelight.inference.cpu.jit import Bytes, Numbers, compiled
from limelight.inference.cpu.weights import Norm, Weights, pack, stacked
from limelight.layers.embedding import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    rotary_rates,
    sinusoids,
)
from limelight.layers.feed_forward import ACTIVATIONS, Dropout, FeedForward
from limelight.models.transformer.layers import Layer, Sublayer
from limelight.models.transformer.model import Stack, Transformer
from limelight.models.transformer.ssru import SSRU, SSRULayer
from limelight.storage.weights import Int8Matrix, numbers_of

FIRST_POSITIONS = 256
"""Positions of a sentence, source or target, that there are tables for at first; see `with_positions`."""


KNOWN: set[type[nn.Module]] = {
    Transformer, Stack, Layer, SSRULayer, SSRU, Sublayer, MultiHeadAttention, Attend, ScaledDot, TokenEmbedding,
    FeedForward, LearnedPositions, SinusoidalPositions, RotaryPositions, Dropout, nn.ModuleList, nn.Linear,
    nn.LayerNorm, *ACTIVATIONS.values(),
}  # fmt: skip
"""The modules that compiled loops compute. A subclass may compute anything else."""


ATTENTION = "attention_sublayer", "attention.query_proj attention.key_proj attention.value_proj", "attention.out_proj"
RECURRENCE = "ssru_sublayer", "ssru.input_proj ssru.forget_proj", "ssru.input_proj"
CROSS_ATTENTION = "cross_sublayer", "cross_attention.query_proj", "cross_attention.out_proj"
FEED_FORWARD = "feed_forward_sublayer", "feed_forward.inner", "feed_forward.outer"
"""The sub-layers of a layer: the module with its norm, the linear layers of its first product and of its last one."""
MEMORY = "cross_attention.key_proj cross_attention.value_proj"


class Sublayers(NamedTuple):
    """The sub-layers of one kind: arrays have the layers as their first axis."""

    norm: Norm
    first: Weights
    last: Weights


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
    """(tokens, model); no tokens if there are `rows`."""
    rows: Bytes
    """(tokens, model): the embedding as stored in 8 bits; no tokens otherwise."""
    row_scales: Numbers
    """(tokens,)"""
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
    """Of a recurrent decoder, `last` is not used."""
    cross_attention: Sublayers
    decoder_network: Sublayers
    memory: Weights
    """From the encoder's output to the keys and values of cross-attention."""
    output: Weights
    sizes: Sizes


@compiled
def weights_at(stack: Weights, layer: int) -> Weights:
    """The weights of a layer."""
    return Weights(
        stack.values[layer], stack.scales[layer], stack.sums[layer], stack.numbers[layer], stack.biases[layer],
        stack.outputs, stack.rounds,
    )  # fmt: skip


@compiled
def norm_at(stack: Norm, layer: int) -> Norm:
    """The normalization of a layer."""
    return Norm(stack.weight[layer], stack.bias[layer], stack.epsilon, stack.first)


def network_of(model: Transformer, precision: str) -> Network | None:
    """The weights of a Transformer in `fp32`, `bf16` or `int8`; None if it has other parts than `KNOWN`, or layers of
    different sizes."""
    encoder, decoder = list(model.encoder.layers), list(model.decoder.layers)
    attentions = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    is_known = all(type(part) in KNOWN for part in model.modules())
    is_plain = all(part.kv_heads == part.heads for part in attentions)
    embedding = model.decoder.embedding.weight
    if not (is_known and is_plain and embedding.dtype in (torch.float32, torch.int8)):
        return None
    heads = {(part.heads, part.head_size, part.value_size) for part in attentions}
    recurrent = isinstance(decoder[0], SSRULayer)
    final = embedding if model.output is None else cast(nn.Linear, model.output).weight
    try:
        networks = [cast(FeedForward, layer.feed_forward) for layer in (*encoder, *decoder)]
        activations = {list(ACTIVATIONS.values()).index(type(network.activation)) for network in networks}
        if len(heads) > 1 or len(activations) > 1:
            return None
        return Network(
            _side(model.encoder, FIRST_POSITIONS),
            _side(model.decoder, FIRST_POSITIONS),
            _sublayers(encoder, ATTENTION, precision),
            _sublayers(encoder, FEED_FORWARD, precision),
            _sublayers(decoder, RECURRENCE if recurrent else ATTENTION, precision),
            _sublayers(decoder, CROSS_ATTENTION, precision),
            _sublayers(decoder, FEED_FORWARD, precision),
            _weights(decoder, MEMORY, precision),
            pack([(_first_rows(final, model.output_size), model.output_bias)], precision),
            Sizes(*heads.pop(), activations.pop(), embedding.shape[1] if recurrent else 0),
        )
    except (AttributeError, ValueError):  # a plugin of other parts; numpy's, for arrays of different shapes
        return None


def _first_rows(matrix: Tensor, count: int) -> Tensor:
    """Without the row of padding, if the matrix is the embedding."""
    return Int8Matrix(matrix.data[:count], matrix.scales[:count]) if isinstance(matrix, Int8Matrix) else matrix[:count]


def with_positions(network: Network, model: Transformer, length: int) -> Network:
    """The network with tables of at least this length; a learned table is as long as it is."""
    if length <= max(len(network.source.positions), len(network.source.turns), FIRST_POSITIONS):
        return network
    return network._replace(source=_side(model.encoder, 2 * length), target=_side(model.decoder, 2 * length))


def _sublayers(layers: Sequence[Layer], names: tuple[str, str, str], precision: str) -> Sublayers:
    sublayer, first, last = names
    norms = _norms([cast(Sublayer, layer.get_submodule(sublayer)) for layer in layers])
    return Sublayers(norms, _weights(layers, first, precision), _weights(layers, last, precision))


def _norms(sublayers: Sequence[Sublayer]) -> Norm:
    norms = [cast(nn.LayerNorm, sublayer.norm) for sublayer in sublayers]
    if len({(norm.eps, sublayer.norm_first) for norm, sublayer in zip(norms, sublayers, strict=True)}) != 1:
        raise ValueError
    weights, biases = (
        np.stack([getattr(norm, name).detach().numpy() for norm in norms]) for name in ("weight", "bias")
    )
    return Norm(weights, biases, norms[0].eps, sublayers[0].norm_first)


def _weights(layers: Sequence[Layer], names: str, precision: str) -> Weights:
    """A stack of the linear layers with these names, which are joined in each layer."""
    packed = []
    for layer in layers:
        parts = [cast(nn.Linear, layer.get_submodule(name)) for name in names.split()]
        packed.append(pack([(part.weight, part.bias) for part in parts], precision))
    if len({each.outputs for each in packed}) != 1:
        raise ValueError
    values, scales, sums, numbers, biases = map(stacked, zip(*(each[:5] for each in packed), strict=True))
    return Weights(values, scales, sums, numbers, biases, packed[0].outputs, packed[0].rounds)


def _side(stack: Stack, length: int) -> Side:
    weight, scale = stack.embedding.weight, float(stack.embedding.scale)
    size = weight.shape[1]
    numbers, rows, scales = np.zeros((0, size), np.float32), np.zeros((0, size), np.int8), np.zeros(0, np.float32)
    if isinstance(weight, Int8Matrix):
        rows, scales = weight.data.numpy(), weight.scales.numpy()
    else:
        numbers = np.require(weight.detach().numpy(), requirements=["C", "W"])
    positions = np.zeros((0, size), dtype=np.float32)
    if isinstance(stack.positions, SinusoidalPositions):
        positions = sinusoids(torch.arange(length), size, layout=stack.positions.layout).numpy()
    elif stack.positions is not None:
        positions = numbers_of(stack.positions.table).numpy().copy()
    turns = np.zeros((0, 2), dtype=np.float32) if stack.rotary is None else turns_of(stack.rotary, length)
    last = cast(nn.LayerNorm, stack.norm or nn.LayerNorm(size, device="cpu", dtype=torch.float32))
    norm = Norm(last.weight.detach().numpy().copy(), last.bias.detach().numpy().copy(), last.eps, last is stack.norm)
    return Side(numbers, rows, scales, scale, positions, turns, norm)


def turns_of(rotary: RotaryPositions, length: int) -> Numbers:
    """(length, head_size): the cosines of the angles at each position, then the sines."""
    angles = torch.arange(length)[:, None] * rotary_rates(2 * len(rotary.rates))
    return torch.cat([angles.cos(), angles.sin()], dim=1).numpy()
