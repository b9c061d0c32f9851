"""The Transformer for few rows: a sentence alone, with weights of eight bits, as calls of compiled loops.

A row is a position of the source, or a hypothesis of the target. From a stack's first product to its last they stay in
numpy, and each sub-layer changes them in place.
"""

from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from limelight.attention.compiled import Integers, attend_past, attend_source
from limelight.attention.multi_head import MultiHeadAttention
from limelight.layers.compiled import ByteLinear, Norm, Numbers, byte_linear, enter, leave, multiply, think
from limelight.layers.feed_forward import ACTIVATIONS
from limelight.layers.packed import integer_rows
from limelight.layers.sublayer import Sublayer
from limelight.models.transformer import DecoderLayer, Transformer
from limelight.models.transformer.layers import Layer
from limelight.shapes import Float


class FewAttention(NamedTuple):
    """Attention inside its residual connection."""

    norm: Norm
    entry: ByteLinear
    """To queries, keys and values of what looks at itself; to the queries of what looks at the source."""
    exit: ByteLinear
    keys: tuple[int, int]
    """How many heads, and the width of their keys and queries."""
    values: tuple[int, int]
    """How many heads, and the width of their values."""

    def asked(self, rows: Numbers) -> Numbers:
        """The first product: (rows, inner)."""
        asked = np.empty((len(rows), len(self.entry.scales)), dtype=np.float32)
        enter(rows, self.norm, self.entry, asked)
        return asked

    def answered(self, rows: Numbers, context: Numbers) -> None:
        """The last product, added to the rows: `context` has as many of them."""
        leave(context.reshape(len(rows), -1), self.exit, self.norm, rows)


class FewThoughts(NamedTuple):
    """The feed-forward network inside its residual connection."""

    norm: Norm
    inner: ByteLinear
    activation: int
    outer: ByteLinear


class FewLayer:
    """A layer's weights, and what it does."""

    def __init__(self, layer: Layer) -> None:
        attention, norm = layer.attention, _norm_of(layer.attention_sublayer)
        joint = _linear(attention.query_proj, attention.key_proj, attention.value_proj)
        self.attention = FewAttention(norm, joint, _linear(attention.out_proj), *_sizes(attention))
        network = layer.feed_forward
        activation = list(ACTIVATIONS.values()).index(type(network.activation))
        self.thoughts = FewThoughts(
            _norm_of(layer.feed_forward_sublayer), _linear(network.inner), activation, _linear(network.outer)
        )

    def look(self, rows: Numbers) -> None:
        """All positions of one sentence look at one another."""
        sizes = (self.attention.keys, self.attention.keys, self.attention.values)
        queries, keys, values = _parted(self.attention.asked(rows), *sizes)
        # One sentence with a hypothesis for each position, which are its source as well.
        all_of_them = np.array([0, len(rows)])
        self.attention.answered(rows, _seen(queries, all_of_them, keys[None], values[None], all_of_them[1:]))

    def look_back(
        self, rows: Numbers, firsts: Integers, keys: Numbers, values: Numbers, ancestors: Integers, ages: Integers
    ) -> None:
        """Each hypothesis looks at its own past and itself; see `attend_past`."""
        context = np.empty((len(rows), *self.attention.values), dtype=np.float32)
        attend_past(self.attention.asked(rows), firsts, keys, values, ancestors, ages, context)
        self.attention.answered(rows, context)

    def think(self, rows: Numbers) -> None:
        """The feed-forward network."""
        think(rows, *self.thoughts)


class FewDecoderLayer(FewLayer):
    """The same with attention to the source."""

    def __init__(self, layer: DecoderLayer) -> None:
        super().__init__(layer)
        cross, norm = layer.cross_attention, _norm_of(layer.cross_sublayer)
        self.cross = FewAttention(norm, _linear(cross.query_proj), _linear(cross.out_proj), *_sizes(cross))
        self.memory_proj = _linear(cross.key_proj, cross.value_proj)

    def memory(self, source: Numbers) -> list[Numbers]:
        """Keys, (1, source, heads, head_size), and values, (1, source, heads, value_size), of one sentence's source."""
        joint = np.empty((len(source), len(self.memory_proj.scales)), dtype=np.float32)
        multiply(source, self.memory_proj, joint)
        return [part[None] for part in _parted(joint, self.cross.keys, self.cross.values)]

    def look_at_source(
        self, rows: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers
    ) -> None:
        """Each hypothesis looks at its source; see `attend_source`."""
        queries = self.cross.asked(rows).reshape(len(rows), *self.cross.keys)
        self.cross.answered(rows, _seen(queries, firsts, keys, values, lengths))


class FewRows:
    """The layers of a Transformer. Its positions must not be rotary, and its numbers fp32 on a CPU."""

    def __init__(self, model: Transformer) -> None:
        self.encoder = [FewLayer(layer) for layer in cast(list[Layer], list(model.encoder.layers))]
        self.decoder = [FewDecoderLayer(layer) for layer in cast(list[DecoderLayer], list(model.decoder.layers))]

    def encoded(self, hidden: Float[Tensor, "1 source model"]) -> Float[Tensor, "1 source model"]:
        """What the encoder's layers make of a sentence. They write over what they are given."""
        rows = hidden.detach()[0].numpy()
        for layer in self.encoder:
            layer.look(rows)
            layer.think(rows)
        return hidden

    def memories(self, features: Float[Tensor, "1 source model"]) -> tuple[tuple[Tensor, Tensor], ...]:
        """Keys and values of a sentence's source for each layer of the decoder."""
        rows = features.detach()[0].numpy()
        memories = (layer.memory(rows) for layer in self.decoder)
        return tuple((torch.from_numpy(keys), torch.from_numpy(values)) for keys, values in memories)


def _sizes(attention: MultiHeadAttention) -> tuple[tuple[int, int], tuple[int, int]]:
    """Heads by the width of their keys, and by that of their values."""
    return (attention.heads, attention.head_size), (attention.heads, attention.value_size)


def _parted(joint: Numbers, *sizes: tuple[int, int]) -> list[Numbers]:
    """What (positions, inner) holds side by side, each as (positions, heads, size)."""
    ends = np.cumsum([heads * size for heads, size in sizes])[:-1]
    parts = zip(np.split(joint, ends, axis=1), sizes, strict=True)
    return [np.ascontiguousarray(part).reshape(len(joint), *size) for part, size in parts]


def _seen(queries: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers) -> Numbers:
    context = np.empty((len(queries), *values.shape[2:]), dtype=np.float32)
    attend_source(queries, firsts, keys, values, lengths, context)
    return context


def _linear(*layers: nn.Linear) -> ByteLinear:
    """One product for layers that read the same; the rounded weights are those of `IntegerLinear`."""
    values, scales = integer_rows(torch.cat([layer.weight.detach() for layer in layers]))
    biases = torch.cat([layer.bias.detach() for layer in layers])
    return byte_linear(values.numpy(), scales.numpy(), biases.numpy())


def _norm_of(sublayer: Sublayer) -> Norm:
    norm = sublayer.norm
    return Norm(norm.weight.detach().numpy(), norm.bias.detach().numpy(), norm.eps, sublayer.norm_first)
