"""The layers of a Transformer with weights of eight bits, as calls of compiled loops.

A row is a position of the source, or a hypothesis of the target. From a stack's first product to its last they stay in
numpy, and each sub-layer changes them in place. The weights are those of the packed layers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from limelight.inference.cpu.attention import Integers, attend_past, attend_source
from limelight.inference.cpu.int8 import ByteLinear, Norm, Numbers, enter, leave, think
from limelight.inference.cpu.ragged_attention import attend_ragged
from limelight.layers.feed_forward import ACTIVATIONS
from limelight.layers.sublayer import Sublayer
from limelight.models.transformer import DecoderLayer, Transformer
from limelight.models.transformer.layers import Layer
from limelight.shapes import Float


class IntegerAttention(NamedTuple):
    """Attention inside its residual connection."""

    norm: Norm
    entry: ByteLinear
    """To queries, keys and values of what looks at itself; to the queries of what looks at the source."""
    exit: ByteLinear
    heads: int
    head_size: int
    value_size: int

    @classmethod
    def of(cls, attention: Any, entry: Any, sublayer: Sublayer) -> "IntegerAttention":
        """From a packed attention, and from which of its products comes first."""
        sizes = attention.heads, attention.head_size, attention.value_size
        return cls(_norm_of(sublayer), entry.layer, attention.out_proj.layer, *sizes)

    def asked(self, rows: Numbers) -> Numbers:
        """The first product: (rows, inner)."""
        asked = np.empty((len(rows), len(self.entry.scales)), dtype=np.float32)
        enter(rows, self.norm, self.entry, asked)
        return asked

    def answered(self, rows: Numbers, context: Numbers) -> None:
        """The last product, added to the rows: `context` has as many of them."""
        leave(context.reshape(len(rows), -1), self.exit, self.norm, rows)


class IntegerFeedForward(NamedTuple):
    """The feed-forward network inside its residual connection."""

    norm: Norm
    inner: ByteLinear
    activation: int
    outer: ByteLinear


class IntegerLayer:
    """A layer's weights, and what it does."""

    def __init__(self, layer: Layer) -> None:
        self.attention = IntegerAttention.of(
            layer.attention, cast(Any, layer.attention).joint_proj, layer.attention_sublayer
        )
        network = cast(Any, layer.feed_forward)
        activation = list(ACTIVATIONS.values()).index(type(network.activation))
        self.feed_forward = IntegerFeedForward(
            _norm_of(layer.feed_forward_sublayer), network.inner.layer, activation, network.outer.layer
        )

    def look(self, rows: Numbers, firsts: Integers) -> None:
        """All positions of each sentence look at one another; see `attend_ragged`."""
        joint = torch.from_numpy(self.attention.asked(rows))
        context = attend_ragged(joint, firsts, self.attention.heads, self.attention.head_size)
        self.attention.answered(rows, context.numpy())

    def look_back(
        self, rows: Numbers, firsts: Integers, keys: Numbers, values: Numbers, ancestors: Integers, ages: Integers
    ) -> None:
        """Each hypothesis looks at its own past and itself; see `attend_past`."""
        context = np.empty((len(rows), self.attention.heads, self.attention.value_size), dtype=np.float32)
        attend_past(self.attention.asked(rows), firsts, keys, values, ancestors, ages, context)
        self.attention.answered(rows, context)

    def think(self, rows: Numbers) -> None:
        """The feed-forward network."""
        think(rows, *self.feed_forward)


class IntegerDecoderLayer(IntegerLayer):
    """The same with attention to the source."""

    def __init__(self, layer: DecoderLayer) -> None:
        super().__init__(layer)
        cross = layer.cross_attention
        self.cross = IntegerAttention.of(cross, cross.query_proj, layer.cross_sublayer)

    def look_at_source(
        self, rows: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers
    ) -> None:
        """Each hypothesis looks at its source; see `attend_source`."""
        queries = self.cross.asked(rows).reshape(len(rows), self.cross.heads, self.cross.head_size)
        context = np.empty((len(rows), self.cross.heads, self.cross.value_size), dtype=np.float32)
        attend_source(queries, firsts, keys, values, lengths, context)
        self.cross.answered(rows, context)


class IntegerLayers:
    """The layers of a packed Transformer. Its positions must not be rotary, and its numbers fp32 on a CPU."""

    def __init__(self, model: Transformer) -> None:
        self.encoder = [IntegerLayer(layer) for layer in cast(Sequence[Layer], model.encoder.layers)]
        self.decoder = [IntegerDecoderLayer(layer) for layer in cast(Sequence[DecoderLayer], model.decoder.layers)]

    def encoded(self, hidden: Float[Tensor, "rows model"], firsts: Integers) -> Float[Tensor, "rows model"]:
        """What the encoder's layers make of sentences that stand end to end. They write over what they are given."""
        rows = hidden.detach().numpy()
        for layer in self.encoder:
            layer.look(rows, firsts)
            layer.think(rows)
        return hidden


def _norm_of(sublayer: Sublayer) -> Norm:
    norm = sublayer.norm
    return Norm(norm.weight.detach().numpy(), norm.bias.detach().numpy(), norm.eps, sublayer.norm_first)
