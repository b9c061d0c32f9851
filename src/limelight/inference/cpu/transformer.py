"""The Transformer with compiled attention: the form that decodes on a CPU.

It is batch-invariant: sentences are encoded end to end, without padding, and nothing that is computed for one depends
on the others, so that its translation and its scores are the same alone and in any batch.

Keys and values stand where they were written; which of them are a hypothesis' own past is told by a table of ancestors,
and only that table moves when hypotheses change places. Every sentence has its own age, so that sentences join at any
step, and no padding is ever looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from limelight.inference.attention import PackedSelfAttention
from limelight.models.cache import put_rows
from limelight.models.state import Integers, KeepHeads, Living, State
from limelight.models.transformer import DecoderLayer, Transformer, TransformerMemory, TransformerState
from limelight.models.transformer.layers import EncoderLayer
from limelight.shapes import Bool, Float, Int

try:
    from limelight.inference.cpu import attention as loops
    from limelight.inference.cpu.int8_layers import Int8Layers
    from limelight.inference.cpu.ragged_attention import attend_ragged
except ImportError:  # numba is an extra; without it steps are made of products
    loops = None  # type: ignore[assignment]

Pairs = tuple[tuple[Tensor, Tensor], ...]
Layers = tuple[
    tuple[Float[Tensor, "batch width room heads head_size"], Float[Tensor, "batch width room heads value_size"]], ...
]
Sources = tuple[
    tuple[Float[Tensor, "batch source heads head_size"], Float[Tensor, "batch source heads value_size"]], ...
]

FIRST_ROOM = 64
"""Positions there is room for at first; it doubles when they are full."""


@dataclass(frozen=True, slots=True)
class CompiledState(State):
    """Keys and values of the target so far and of the source, for each decoder layer.

    A step writes into its tensors, so a state is used up by the step that follows it.
    """

    past: Layers
    """Keys and values."""
    ancestors: Int[Tensor, "batch width room"]
    """Which hypothesis of its sentence each one was, at each position."""
    ages: Int[Tensor, " batch"]
    """Positions each sentence's hypotheses have read."""
    sources: Sources
    """Keys and values."""
    lengths: Int[Tensor, " batch"]
    """Real positions of each source."""

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "CompiledState":
        return replace(self, ancestors=self.ancestors.gather(1, parents[:, :, None].expand_as(self.ancestors)))

    def keep(self, sentences: Int[Tensor, " kept"]) -> "CompiledState":
        ages = self.ages[sentences]
        used = int(ages.max())

        def kept(part: Tensor) -> Tensor:
            few = part.new_empty(len(sentences), *part.shape[1:])
            few[:, :, :used] = part[:, :, :used][sentences]
            return few

        return CompiledState(
            _changed(self.past, kept),
            self.ancestors[sentences],
            ages,
            _changed(self.sources, lambda part: part[sentences]),
            self.lengths[sentences],
        )

    def admit(self, fresh: "CompiledState", places: Int[Tensor, " fresh"]) -> "CompiledState":
        past, ancestors, batch = self.past, self.ancestors, int(places.max()) + 1
        if batch > len(ancestors):
            past, ancestors = self._widened(batch, ancestors.shape[2])
        lengths = put_rows(self.lengths, fresh.lengths, places)
        longest = int(lengths.max())
        sources = tuple(
            (put_rows(keys, fresh_keys, places, axis=1), put_rows(values, fresh_values, places, axis=1))
            for (keys, values), (fresh_keys, fresh_values) in zip(self.sources, fresh.sources, strict=True)
        )
        if 2 * longest <= sources[0][0].shape[1]:
            sources = _changed(sources, lambda part: part[:, :longest].contiguous())
        # Of the past nothing is written: at age 0 none of it is looked at.
        return CompiledState(past, ancestors, put_rows(self.ages, fresh.ages, places), sources, lengths)

    def release(self, places: Int[Tensor, " places"]) -> "CompiledState":
        self.ages[places] = 0
        return self

    def with_room(self) -> "CompiledState":
        """A state in which the next position can be written."""
        room = self.ancestors.shape[2]
        if int(self.ages.max()) < room:
            return self
        past, ancestors = self._widened(len(self.ages), 2 * room)
        return replace(self, past=past, ancestors=ancestors)

    def _widened(self, batch: int, room: int) -> tuple[Layers, Int[Tensor, "{batch} width {room}"]]:
        """Past and ancestors of more sentences, or with room for more positions."""

        def widened(part: Tensor) -> Tensor:
            wide = part.new_empty(batch, part.shape[1], room, *part.shape[3:])
            wide[: len(part), :, : part.shape[2]] = part
            return wide

        ancestors = self.ancestors.new_zeros(batch, self.ancestors.shape[1], room)
        ancestors[: len(self.ages), :, : self.ancestors.shape[2]] = self.ancestors
        return _changed(self.past, widened), ancestors


class CompiledTransformer(Transformer):
    """A packed Transformer whose steps take the compiled attention, where they can.

    They take products as others do for rotary positions, for heads that are switched off, for other numbers than fp32,
    and where numba is not installed.
    """

    integer: "Int8Layers | None" = None
    """Its layers where weights have eight bits."""
    least_rows = 1
    """So many rows of a step its products fill up to; filled up here, it is done once."""

    def use_integer_layers(self) -> None:
        """Take the compiled layers for weights of eight bits, if that can be."""
        if self._plain(self.decoder.embedding.weight):
            self.integer = Int8Layers(self)

    def _plain(self, numbers: Tensor) -> bool:
        """Whether the compiled loops can be taken for these numbers."""
        on_cpu = numbers.device.type == "cpu" and numbers.dtype == torch.float32
        return loops is not None and self.decoder.rotary is None and on_cpu

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> TransformerMemory:
        hidden, _ = self.encoder.enter(source)
        if keep_heads or not self._plain(hidden):
            return super().encode(source, source_valid, keep_heads=keep_heads)
        rows, firsts = hidden.detach()[source_valid], np.zeros(len(source) + 1, dtype=np.int64)
        firsts[1:] = source_valid.sum(dim=1).cumsum(dim=0).numpy()
        rows = self._encoded(rows, firsts) if self.integer is None else self.integer.encode(rows, firsts)
        features = torch.zeros_like(hidden)
        features[source_valid] = self.encoder.leave(rows[None])[0].detach()
        return TransformerMemory(features, source_valid)

    def _encoded(self, rows: Float[Tensor, "rows model"], firsts: Integers) -> Float[Tensor, "rows model"]:
        """What the encoder's layers make of sentences that stand end to end."""
        hidden = rows[None]
        for layer in cast(list[EncoderLayer], list(self.encoder.layers)):
            attention = cast(PackedSelfAttention, layer.attention)
            joint = attention.joint_proj(layer.attention_sublayer.before(hidden))[0].detach()
            context = attend_ragged(joint, firsts, attention.heads, attention.head_size)
            hidden = layer.think(layer.attention_sublayer.after(hidden, attention.out_proj(context[None])))
        return hidden[0]

    def start(  # type: ignore[override]
        self, memory: TransformerMemory, width: int = 1
    ) -> TransformerState | CompiledState:
        features = memory.features
        if memory.keep_heads is not None or not self._plain(features):
            return super().start(memory, width)
        batch, attention = len(features), self._layers()[0].attention
        room = (batch, width, FIRST_ROOM, attention.heads)
        return CompiledState(
            tuple(
                (features.new_empty(*room, attention.head_size), features.new_empty(*room, attention.value_size))
                for _ in self.decoder.layers
            ),
            torch.zeros(batch, width, FIRST_ROOM, dtype=torch.int64),
            torch.zeros(batch, dtype=torch.int64),
            self._sources(features),
            memory.source_valid.sum(dim=1),
        )

    def step(  # type: ignore[override]
        self, ids: Int[Tensor, "batch width"], state: TransformerState | CompiledState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState | CompiledState]:
        if isinstance(state, TransformerState):
            return super().step(ids, state)
        features, state = self.step_some(ids, state, Living.of(np.full(len(ids), ids.shape[1])))
        return features.unflatten(0, tuple(ids.shape)), state

    def step_some(  # type: ignore[override]
        self, ids: Int[Tensor, "batch width"], state: TransformerState | CompiledState, living: Living
    ) -> tuple[Float[Tensor, "rows features"], TransformerState | CompiledState]:
        if isinstance(state, TransformerState):
            return super().step_some(ids, state, living)
        state, decoder = state.with_room(), self.decoder
        among = living.among(ids.shape[1])
        read = ids.flatten() if among is None else ids.flatten()[torch.from_numpy(among)]
        hidden = decoder.embedding(read[None])
        if decoder.positions is not None:
            ages = state.ages[torch.from_numpy(living.sentences)]
            hidden = decoder.positions.at(hidden.transpose(0, 1), ages, most=state.ancestors.shape[2]).transpose(0, 1)
        if self.integer is not None:
            _step_integer(self.integer, hidden, state, living)
        else:
            hidden = functional.pad(hidden, (0, 0, 0, max(0, self.least_rows - len(read))))
            for layer, past, source in zip(self._layers(), state.past, state.sources, strict=True):
                hidden = _attend_past(layer, hidden, past, state, living)
                hidden = _attend_source(layer, hidden, source, state, living)
                changed = layer.feed_forward(layer.feed_forward_sublayer.before(hidden))
                hidden = layer.feed_forward_sublayer.after(hidden, changed)
        return decoder.leave(hidden)[0, : len(read)], replace(state, ages=state.ages + 1)

    def _sources(self, features: Float[Tensor, "batch source model"]) -> Sources:
        """Keys and values of the sources for each layer."""
        projected = tuple(layer.cross_attention.project_memory(features) for layer in self._layers())
        # (batch, heads, source, size) -> (batch, source, heads, size)
        return _changed(projected, lambda part: part.transpose(1, 2).contiguous())

    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.decoder.layers))


def _changed(layers: Pairs, change: Callable[[Tensor], Tensor]) -> Pairs:
    """The same done to the keys and to the values of each layer."""
    return tuple((change(keys), change(values)) for keys, values in layers)


def _step_integer(
    layers: "Int8Layers", hidden: Float[Tensor, "1 rows model"], state: CompiledState, living: Living
) -> None:
    """All layers for one position of the hypotheses, which are changed in place."""
    rows = hidden.detach()[0].numpy()
    ancestors, ages, lengths = state.ancestors.numpy(), state.ages.numpy(), state.lengths.numpy()
    for layer, past, source in zip(layers.decoder, state.past, state.sources, strict=True):
        layer.attend_past(rows, living.firsts, past[0].numpy(), past[1].numpy(), ancestors, ages)
        layer.attend_source(rows, living.firsts, source[0].numpy(), source[1].numpy(), lengths)
        layer.feed_forward(rows)


def _attend_past(
    layer: DecoderLayer,
    hidden: Float[Tensor, "1 rows model"],
    past: tuple[Tensor, Tensor],
    state: CompiledState,
    living: Living,
) -> Float[Tensor, "1 rows model"]:
    """Masked self-attention of one position, inside its residual connection."""
    joint = cast(PackedSelfAttention, layer.attention).joint_proj(layer.attention_sublayer.before(hidden))[0]
    keys, values = past
    context = values.new_zeros(len(joint), *values.shape[-2:])
    loops.attend_past(
        joint.numpy(), living.firsts, keys.numpy(), values.numpy(), state.ancestors.numpy(), state.ages.numpy(),
        context.numpy(),
    )  # fmt: skip
    return layer.attention_sublayer.after(hidden, layer.attention.out_proj(context.flatten(1)[None]))


def _attend_source(
    layer: DecoderLayer,
    hidden: Float[Tensor, "1 rows model"],
    source: tuple[Tensor, Tensor],
    state: CompiledState,
    living: Living,
) -> Float[Tensor, "1 rows model"]:
    """Cross-attention of one position, inside its residual connection."""
    keys, values = source
    queries = layer.cross_attention.query_proj(layer.cross_sublayer.before(hidden))[0].unflatten(-1, keys.shape[-2:])
    context = values.new_zeros(len(queries), *values.shape[-2:])
    loops.attend_source(
        queries.numpy(), living.firsts, keys.numpy(), values.numpy(), state.lengths.numpy(), context.numpy()
    )
    return layer.cross_sublayer.after(hidden, layer.cross_attention.out_proj(context.flatten(1)[None]))
