"""The layers of a Transformer with int8 weights, as calls of compiled loops; fast also for small batches.

A row is a position of the source, or a hypothesis of the target. All rows of a stack stay in numpy arrays, which the
sub-layers change in place. The weights are those of the packed layers.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from limelight.inference.cpu.attention import attend_past, attend_ragged, attend_source, rotate
from limelight.inference.cpu.int8 import (
    Int8Weights,
    Norm,
    feed_forward,
    multiply,
    normalize,
    pack_rows,
    project_in,
    project_out,
    select_outputs,
)
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.ssru import recur
from limelight.inference.cpu.state import CompiledState
from limelight.layers.embedding import quantize_rows
from limelight.layers.feed_forward import ACTIVATIONS
from limelight.models.transformer import CrossAttentionLayer, DecoderLayer, EncoderLayer, Layer, SSRULayer, Transformer
from limelight.models.transformer.layers import Sublayer
from limelight.shapes import Float, Int


class Int8Attention(NamedTuple):
    """Attention with its residual connection."""

    norm: Norm
    first: Int8Weights
    """Projection to queries, keys and values in self-attention; to queries in cross-attention."""
    last: Int8Weights
    heads: int
    head_size: int
    value_size: int

    @classmethod
    def of(cls, attention: Any, first: Any, sublayer: Sublayer) -> "Int8Attention":
        """From a packed attention, and its first linear layer."""
        sizes = attention.heads, attention.head_size, attention.value_size
        return cls(_norm_of(sublayer.norm, first=sublayer.norm_first), first.packed, attention.out_proj.packed, *sizes)

    def project_in(self, rows: Numbers) -> Numbers:
        """The first product: (rows, inner)."""
        projected = np.empty((len(rows), self.first.outputs), dtype=np.float32)
        project_in(rows, self.norm, self.first, projected)
        return projected

    def project_out(self, rows: Numbers, context: Numbers) -> None:
        """The last product, added to the rows."""
        project_out(context.reshape(len(rows), -1), self.last, self.norm, rows)

    def read_past(
        self, rows: Numbers, firsts: Integers, past: tuple[Numbers, Numbers], ancestors: Integers, ages: Integers,
        turns: Numbers | None,
    ) -> None:  # fmt: skip
        """Each hypothesis attends to its own past and itself; see `attend_past`."""
        joint = self.project_in(rows)
        if turns is not None:
            rotate(joint, turns, self.heads)
        context = np.empty((len(rows), self.heads, self.value_size), dtype=np.float32)
        attend_past(joint, firsts, *past, ancestors, ages, context)
        self.project_out(rows, context)


class Int8SSRU(NamedTuple):
    """An SSRU with its residual connection."""

    norm: Norm
    joint: Int8Weights

    def read_past(
        self, rows: Numbers, firsts: Integers, past: tuple[Numbers, Numbers], ancestors: Integers, ages: Integers,
        turns: Numbers | None,
    ) -> None:  # fmt: skip
        """The unit of each hypothesis; see `advance_cells`."""
        recur(rows, self.norm, self.joint, firsts, past[0], ancestors, ages)


class Int8FeedForward(NamedTuple):
    """The feed-forward network with its residual connection."""

    norm: Norm
    inner: Int8Weights
    activation: int
    outer: Int8Weights


def _self_attention(layer: EncoderLayer | DecoderLayer) -> Int8Attention:
    return Int8Attention.of(layer.attention, cast(Any, layer.attention).joint_proj, layer.attention_sublayer)


class Int8Layer:
    """A layer with int8 weights."""

    def __init__(self, layer: Layer) -> None:
        network = cast(Any, layer.feed_forward)
        activation = list(ACTIVATIONS.values()).index(type(network.activation))
        self.network = Int8FeedForward(
            _norm_of(layer.feed_forward_sublayer.norm, first=layer.feed_forward_sublayer.norm_first),
            network.inner.packed,
            activation,
            network.outer.packed,
        )

    def feed_forward(self, rows: Numbers) -> None:
        """The feed-forward network."""
        feed_forward(rows, *self.network)


class Int8EncoderLayer(Int8Layer):
    """An encoder layer."""

    def __init__(self, layer: EncoderLayer) -> None:
        super().__init__(layer)
        self.attention = _self_attention(layer)

    def attend(self, rows: Numbers, firsts: Integers, turns: Numbers | None) -> None:
        """Self-attention of sentences end to end; see `attend_ragged`."""
        joint = torch.from_numpy(self.attention.project_in(rows))
        context = attend_ragged(joint, firsts, self.attention.heads, self.attention.head_size, turns)
        self.attention.project_out(rows, context.numpy())


class Int8DecoderLayer(Int8Layer):
    """A decoder layer, for one new position of each hypothesis at a time."""

    def __init__(self, layer: CrossAttentionLayer) -> None:
        super().__init__(layer)
        if isinstance(layer, SSRULayer):
            norm = layer.ssru_sublayer
            joint = cast(Any, layer.ssru).joint_proj.packed
            self.first: Int8Attention | Int8SSRU = Int8SSRU(_norm_of(norm.norm, first=norm.norm_first), joint)
        else:
            self.first = _self_attention(cast(DecoderLayer, layer))
        cross = layer.cross_attention
        self.cross = Int8Attention.of(cross, cross.query_proj, layer.cross_sublayer)

    def attend_source(self, rows: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers) -> None:
        """Each hypothesis attends to its source; see `attend_source`."""
        queries = self.cross.project_in(rows).reshape(len(rows), self.cross.heads, self.cross.head_size)
        context = np.empty((len(rows), self.cross.heads, self.cross.value_size), dtype=np.float32)
        attend_source(queries, firsts, keys, values, lengths, context)
        self.cross.project_out(rows, context)


class Int8Layers:
    """The layers of a packed Transformer. Activations must be fp32 on a CPU."""

    def __init__(self, packed: Transformer) -> None:
        self.encoder = [Int8EncoderLayer(layer) for layer in cast(Sequence[EncoderLayer], packed.encoder.layers)]
        self.decoder = [Int8DecoderLayer(layer) for layer in cast(Sequence[CrossAttentionLayer], packed.decoder.layers)]
        encoder, decoder = packed.encoder.norm, packed.decoder.norm
        self.encoder_norm = None if encoder is None else _norm_of(encoder, first=True)
        self.decoder_norm = None if decoder is None else _norm_of(decoder, first=True)

    def encode(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The encoder's output for sentences end to end, written over `rows`. `firsts` is the first row of each
        sentence, `turns` the rotation of each row for rotary positions."""
        hidden = rows.detach().numpy()
        for layer in self.encoder:
            layer.attend(hidden, firsts, turns)
            layer.feed_forward(hidden)
        if self.encoder_norm is not None:
            normalize(hidden, self.encoder_norm, hidden)
        return rows

    def step(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, state: CompiledState, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The decoder's output for one position of the hypotheses, written over `rows`; keys and values are written to
        the state. `firsts` is the first row of each sentence, `turns` the rotation of each row for rotary positions."""
        hidden = rows.detach().numpy()
        ancestors, ages, lengths = state.ancestors.numpy(), state.ages.numpy(), state.lengths.numpy()
        for layer, past, source in zip(self.decoder, state.past, state.sources, strict=True):
            layer.first.read_past(hidden, firsts, (past[0].numpy(), past[1].numpy()), ancestors, ages, turns)
            layer.attend_source(hidden, firsts, source[0].numpy(), source[1].numpy(), lengths)
            layer.feed_forward(hidden)
        if self.decoder_norm is not None:
            normalize(hidden, self.decoder_norm, hidden)
        return rows


def _norm_of(norm: nn.LayerNorm, *, first: bool) -> Norm:
    return Norm(norm.weight.detach().numpy(), norm.bias.detach().numpy(), norm.eps, first)


class CompiledInt8Linear(nn.Module):
    """x W^T + b with both factors rounded to 8 bits and sums in 32-bit integers, in loops compiled by numba."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        super().__init__()
        values, scales = quantize_rows(weight.detach())
        added = scales.new_zeros(len(scales)) if bias is None else bias.detach().float()
        self.packed = pack_rows(values.numpy(), scales.numpy(), added.numpy())

    def forward(self, inputs: Float[Tensor, "... in"]) -> Float[Tensor, "... out"]:
        rows = inputs.detach().reshape(-1, inputs.shape[-1]).float().contiguous()
        outputs = rows.new_empty(len(rows), self.packed.outputs)
        multiply(rows.numpy(), self.packed, outputs.numpy())
        return outputs.unflatten(0, inputs.shape[:-1])

    def some(self, ids: Int[Tensor, " some"]) -> "CompiledInt8Linear":
        """The layer restricted to these outputs."""
        few = copy.copy(self)
        few.packed = select_outputs(self.packed, ids.numpy())
        return few
