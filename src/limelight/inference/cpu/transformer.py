"""The Transformer whose attention is compiled: the form that decodes on a CPU.

It is batch-invariant: sentences are encoded end to end, without padding, and nothing that is computed for one depends
on the others, so that its translation and its scores are the same alone and in any batch.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.inference.cpu.attention import attend_past, attend_ragged, attend_source, rotate
from limelight.inference.cpu.best_tokens import Int8Ranking
from limelight.inference.cpu.int8_layers import CompiledInt8Linear, Int8Layers
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.sentence import search_for
from limelight.inference.cpu.ssru import advance_cells
from limelight.inference.cpu.stacks import MAX_TOKENS, stack_transformer
from limelight.inference.cpu.state import CompiledState, changed
from limelight.inference.transformer import PackedSelfAttention, PackedSSRU
from limelight.layers.embedding import RotaryPositions
from limelight.models.interface import Active, AttentionWeights, KeepHeads, Path, Query, Ranking, Seq2Seq
from limelight.models.transformer import (
    CrossAttentionLayer,
    DecoderLayer,
    EncoderLayer,
    SSRUDecoder,
    SSRULayer,
    Transformer,
    TransformerMemory,
    TransformerState,
)
from limelight.shapes import Bool, Float, Int


class ProductLayers:
    """The layers of a packed Transformer. Its activations must be fp32 on a CPU."""

    def __init__(self, packed: Transformer) -> None:
        self.encoder = cast(list[EncoderLayer], list(packed.encoder.layers))
        self.decoder = cast(list[CrossAttentionLayer], list(packed.decoder.layers))
        self.leave_encoder, self.leave_decoder = packed.encoder.leave, packed.decoder.leave
        self.least_rows = getattr(packed.output, "least_rows", 1)
        """So many rows of a step its products fill up to; filled up here, it is done once."""

    def encode(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The output of the encoder for sentences end to end; `firsts` says where each begins, and `turns` how
        rotary positions turn each row."""
        hidden = rows[None]
        for layer in self.encoder:
            attention = cast(PackedSelfAttention, layer.attention)
            joint = attention.joint_proj(layer.attention_sublayer.before(hidden))[0].detach()
            context = attend_ragged(joint, firsts, attention.heads, attention.head_size, turns)
            hidden = layer.apply_feed_forward(layer.attention_sublayer.after(hidden, attention.out_proj(context[None])))
        return self.leave_encoder(hidden)[0]

    def step(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, state: CompiledState, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The output of the decoder for one position of the hypotheses; their keys and values are written to the state;
        `firsts` says where the hypotheses of each sentence begin, and `turns` how rotary positions turn each
        row."""
        hidden = functional.pad(rows[None], (0, 0, 0, max(0, self.least_rows - len(rows))))
        for layer, past, source in zip(self.decoder, state.past, state.sources, strict=True):
            if isinstance(layer, SSRULayer):
                hidden = _recur(layer, hidden, firsts, past[0], state)
            else:
                hidden = _attend_past(cast(DecoderLayer, layer), hidden, firsts, past, state, turns)
            hidden = layer.apply_feed_forward(_attend_source(layer, hidden, firsts, source, state))
        return self.leave_decoder(hidden)[0, : len(rows)]


def _attend_past(
    layer: DecoderLayer,
    hidden: Float[Tensor, "1 rows model"],
    firsts: Integers,
    past: tuple[Tensor, Tensor],
    state: CompiledState,
    turns: Numbers | None,
) -> Float[Tensor, "1 rows model"]:
    """Masked self-attention of one position, inside its residual connection."""
    joint = cast(PackedSelfAttention, layer.attention).joint_proj(layer.attention_sublayer.before(hidden))[0]
    if turns is not None:
        rotate(joint.numpy(), turns, layer.attention.heads)
    keys, values = past
    context = values.new_zeros(len(joint), *values.shape[-2:])
    attend_past(
        joint.numpy(), firsts, keys.numpy(), values.numpy(), state.ancestors.numpy(), state.ages.numpy(),
        context.numpy(),
    )  # fmt: skip
    return layer.attention_sublayer.after(hidden, layer.attention.out_proj(context.flatten(1)[None]))


def _recur(
    layer: SSRULayer, hidden: Float[Tensor, "1 rows model"], firsts: Integers, cells: Tensor, state: CompiledState
) -> Float[Tensor, "1 rows model"]:
    """The recurrent unit at one position, inside its residual connection."""
    joint = cast(PackedSSRU, layer.ssru).joint_proj(layer.ssru_sublayer.before(hidden))
    advance_cells(joint[0].numpy(), firsts, cells.numpy(), state.ancestors.numpy(), state.ages.numpy())
    return layer.ssru_sublayer.after(hidden, joint[..., : hidden.shape[-1]])


def _attend_source(
    layer: CrossAttentionLayer,
    hidden: Float[Tensor, "1 rows model"],
    firsts: Integers,
    source: tuple[Tensor, Tensor],
    state: CompiledState,
) -> Float[Tensor, "1 rows model"]:
    """Cross-attention of one position, inside its residual connection."""
    keys, values = source
    queries = layer.cross_attention.query_proj(layer.cross_sublayer.before(hidden))[0].unflatten(-1, keys.shape[-2:])
    context = values.new_zeros(len(queries), *values.shape[-2:])
    attend_source(queries.numpy(), firsts, keys.numpy(), values.numpy(), state.lengths.numpy(), context.numpy())
    return layer.cross_sublayer.after(hidden, layer.cross_attention.out_proj(context.flatten(1)[None]))


READY = 256
"""Positions of the table of rotary positions at first."""


class CompiledTransformer(Seq2Seq[TransformerMemory, TransformerState | CompiledState]):
    """A packed Transformer, and layers that take its weights through compiled loops.

    What the loops do not do the packed model does: heads that are switched off, and all positions at once.

    Args:
        packed: on a CPU, with fp32 activations.
    """

    def __init__(self, packed: Transformer) -> None:
        super().__init__()
        self.packed = packed
        rotary = packed.encoder.rotary
        self.rotary = None if rotary is None else RotaryTable(rotary)
        is_int8 = isinstance(packed.output, CompiledInt8Linear)
        turns = None if self.rotary is None else self.rotary.at(torch.arange(MAX_TOKENS), most=MAX_TOKENS)
        self.network = stack_transformer(packed, turns) if is_int8 else None
        """All weights for compiled searches; None if there are none for this model."""
        self.layers = (Int8Layers if is_int8 else ProductLayers)(packed)
        self.decoder_layers = cast(list[CrossAttentionLayer], list(packed.decoder.layers))
        self.is_recurrent = isinstance(packed.decoder, SSRUDecoder)
        embedding = packed.decoder.embedding
        self.embedding: Numbers = embedding.weight.detach().numpy()
        self.embedding_scale = np.float32(embedding.scale)
        self.start_id, self.end_id = packed.start_id, packed.end_id
        self.source_padding, self.target_padding = packed.source_padding, packed.target_padding

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> TransformerMemory:
        if keep_heads:
            return self.packed.encode(source, source_valid, keep_heads=keep_heads)
        encoder = self.packed.encoder
        hidden, _ = encoder.enter(source)
        rows, firsts = hidden.detach()[source_valid], np.zeros(len(source) + 1, dtype=np.int64)
        firsts[1:] = source_valid.sum(dim=1).cumsum(dim=0).numpy()
        places = torch.arange(source.shape[1]).expand_as(source)[source_valid]
        rows = self.layers.encode(rows, firsts, self._turns(places, source.shape[1]))
        features = torch.zeros_like(hidden)
        features[source_valid] = rows.detach()
        return TransformerMemory(features, source_valid)

    def start(self, memory: TransformerMemory, width: int = 1) -> TransformerState | CompiledState:
        if memory.keep_heads is not None:
            return self.packed.start(memory, width)
        projected = tuple(layer.cross_attention.project_memory(memory.features) for layer in self.decoder_layers)
        # (batch, heads, source, size) -> (batch, source, heads, size)
        sources = changed(projected, lambda part: part.transpose(1, 2).contiguous())
        cell = self.embedding.shape[1] if self.is_recurrent else 0
        return CompiledState.begin(sources, memory.source_valid.sum(dim=1), width, cell=cell)

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState | CompiledState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState | CompiledState]:
        if isinstance(state, TransformerState):
            return self.packed.step(ids, state)
        features, state = self.step_some(ids, state, Active.of(np.full(len(ids), ids.shape[1])))
        return features.unflatten(0, tuple(ids.shape)), state

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: TransformerState | CompiledState, active: Active
    ) -> tuple[Float[Tensor, "rows features"], TransformerState | CompiledState]:
        if isinstance(state, TransformerState):
            return self.packed.step_some(ids, state, active)
        state, decoder = state.with_room(), self.packed.decoder
        among = active.among(ids.shape[1])
        read = ids.flatten().numpy() if among is None else ids.flatten().numpy()[among]
        hidden = torch.from_numpy(self.embedding[read] * self.embedding_scale)
        ages, most = torch.from_numpy(state.ages.numpy()[active.sentences]), state.ancestors.shape[2]
        if decoder.positions is not None:
            hidden = decoder.positions.at(hidden[:, None], ages, most=most)[:, 0]
        turns = None if self.is_recurrent else self._turns(ages, most)
        hidden = self.layers.step(hidden, active.firsts, state, turns)
        return hidden, state.aged()

    def _turns(self, places: Int[Tensor, " rows"], most: int) -> Numbers | None:
        return None if self.rotary is None else self.rotary.at(places, most=most)

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        return self.packed(batch, keep_heads=keep_heads)

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        return self.packed.forward_with_attention(batch, keep_heads=keep_heads)

    def rank(self, features: Float[Tensor, "rows features"]) -> Ranking | None:
        output = self.packed.output
        return Int8Ranking(features, output.packed) if isinstance(output, CompiledInt8Linear) else None

    @property
    def searches(self) -> bool:
        return self.network is not None

    def search(self, queries: Sequence[Query]) -> list[tuple[Path, ...] | None]:
        if self.network is None:
            return super().search(queries)
        return search_for(queries, self.network, start=self.start_id, end=self.end_id)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return self.packed.project(features)


class RotaryTable:
    """Cosines and sines of every position: a cache of a pure function, which grows when a longer sentence comes."""

    def __init__(self, rotary: RotaryPositions) -> None:
        self.rotary = rotary
        self._table = self._made(READY)

    def at(self, places: Int[Tensor, " rows"], *, most: int) -> Numbers:
        """(rows, head_size): the cosines of each row's angles, then the sines; `most` is above every place.

        Callers use what is returned: another thread may put a shorter table in the place of the one that is kept.
        """
        table = self._table
        if most > len(table):
            table = self._table = self._made(2 * most)
        rows: Numbers = table[places.numpy()]
        return rows

    def _made(self, length: int) -> Numbers:
        angles = torch.arange(length)[:, None] * self.rotary.rates.cpu()
        table: Numbers = torch.cat([angles.cos(), angles.sin()], dim=1).numpy()
        return table
