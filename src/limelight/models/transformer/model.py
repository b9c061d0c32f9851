"""The Transformer (Vaswani et al. 2017): memory, state, encoder, decoder, and the complete model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.attend import as_bias, permit_keys
from limelight.attention.multi_head import Rotate
from limelight.batching.batch import Batch
from limelight.layers.embedding import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    projection_weight,
)
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Cells, Columns, Past, put_rows
from limelight.models.interface import AttentionWeights, KeepHeads, Memory, Seq2Seq, State
from limelight.models.transformer.layers import (
    CrossAttentionLayer,
    DecoderLayerOutput,
    EncoderLayer,
    Layer,
    SourceView,
)
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class TransformerMemory(Memory):
    """The encoder's output, a vector for each source position."""

    features: Float[Tensor, "batch source model"]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None = None


Own = TypeVar("Own", bound="DecoderState[Any]")
PastT = TypeVar("PastT", Past, Cells)


@dataclass(frozen=True, slots=True)
class DecoderState(State, Generic[PastT]):
    """What each decoder layer keeps of the target so far: cached keys and values, or cells."""

    past: PastT
    ages: Int[Tensor, " batch"]
    """Number of positions that each sentence's hypotheses have read."""
    keep_heads: KeepHeads | None

    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        return replace(self, past=self.past.reorder(parents))

    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        return replace(self, past=self.past.keep(sentences), ages=self.ages[sentences])

    def release(self: Own, places: Int[Tensor, " places"]) -> Own:
        # Otherwise their ages would exceed the learned positions.
        return replace(self, ages=self.ages.index_fill(0, places, 0))

    def admit(self: Own, fresh: Own, places: Int[Tensor, " fresh"]) -> Own:
        past, ages = self.past.admit(fresh.past, places), put_rows(self.ages, fresh.ages, places)
        return replace(self, past=past, ages=ages)


@dataclass(frozen=True, slots=True)
class TransformerState(DecoderState[Any]):
    """A decoder state with the keys and values of the source."""

    sources: tuple[SourceView, ...]

    def keep(self, sentences: Int[Tensor, " kept"]) -> "TransformerState":
        permitted = self.sources[0].may_attend
        kept = None if permitted is None else permitted[sentences]
        sources = tuple(SourceView(source.keys[sentences], source.values[sentences], kept) for source in self.sources)
        return replace(DecoderState.keep(self, sentences), sources=sources)

    def admit(self, fresh: "TransformerState", places: Int[Tensor, " fresh"]) -> "TransformerState":
        sources = _join_sources(self.sources, fresh.sources, places)
        return replace(DecoderState.admit(self, fresh, places), sources=sources)


def _join_sources(
    sources: tuple[SourceView, ...], fresh: tuple[SourceView, ...], places: Int[Tensor, " fresh"]
) -> tuple[SourceView, ...]:
    """Insert fresh sources at `places`, all padded to the longest."""
    permitted = put_rows(_permission(sources[0]), _permission(fresh[0]), places, axis=3)
    longest = int(permitted.flatten(1).any(dim=0).sum())  # sources are padded at the end
    return tuple(
        SourceView(
            put_rows(one.keys, other.keys, places, axis=2)[:, :, :longest],
            put_rows(one.values, other.values, places, axis=2)[:, :, :longest],
            permitted[..., :longest],
        )
        for one, other in zip(sources, fresh, strict=True)
    )


def _permission(source: SourceView) -> Bool[Tensor, "batch 1 1 source"]:
    """The mask of a source, made if nothing is padded."""
    if source.may_attend is not None:
        return source.may_attend
    batch, _, length, _ = source.keys.shape
    return torch.ones(batch, 1, 1, length, dtype=torch.bool, device=source.keys.device)


Positions = SinusoidalPositions | LearnedPositions


class Stack(nn.Module):
    """Embedding, positions, and a stack of layers, with a final LayerNorm for pre-norm."""

    def __init__(
        self, embedding: TokenEmbedding, positions: Positions | None, layers: Sequence[Layer], *,
        dropout: float, norm: nn.LayerNorm | None, rotary: RotaryPositions | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding, self.positions, self.rotary = embedding, positions, rotary
        self.dropout = Dropout(dropout) if dropout else nn.Identity()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def enter(self, ids: Int[Tensor, "batch length"]) -> tuple[Float[Tensor, "batch length model"], Rotate | None]:
        """The first layer's input at positions 0, 1, ..., and the rotation for these positions (None if not rotary).

        Dropout applies to the sums of embeddings and positions (section 5.4).
        """
        embedded = self.embedding(ids)
        hidden = self.dropout(embedded if self.positions is None else self.positions(embedded))
        return hidden, self._rotation(torch.arange(ids.shape[1], device=ids.device))

    def enter_next(
        self, ids: Int[Tensor, "batch width"], state: DecoderState[Any]
    ) -> tuple[Float[Tensor, "batch width model"], Rotate | None]:
        """`enter` for one more position of every hypothesis."""
        embedded = self.embedding(ids)
        if self.positions is not None:
            embedded = self.positions.at(embedded, state.ages, most=state.past.most_read(state.ages) + 1)
        return self.dropout(embedded), self._rotation(state.ages[:, None, None])

    def leave(self, hidden: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Apply the final LayerNorm (pre-norm only)."""
        return hidden if self.norm is None else self.norm(hidden)

    def _rotation(self, places: Int[Tensor, "..."]) -> Rotate | None:
        """Rotary embedding bound to positions, which broadcast over (batch, heads, length)."""
        return None if self.rotary is None else partial(self.rotary, positions=places)


class Encoder(Stack):
    """A stack of layers with self-attention over all positions."""

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source model"], list[Tensor]]:
        """The encoder's output, and the attention weights of each layer if `want_weights`."""
        hidden, rotate = self.enter(source)
        may_attend = permit_keys(source_valid)
        all_weights = []
        for depth, layer in enumerate(cast(list[EncoderLayer], list(self.layers))):
            kept = kept_heads(keep_heads, f"encoder.{depth}.self")
            hidden, weights = layer(hidden, may_attend, rotate=rotate, keep_heads=kept, want_weights=want_weights)
            if weights is not None:
                all_weights.append(weights)
        return self.leave(hidden), all_weights


class Decoder(Stack):
    """A stack of layers with causal self-attention, or another part that reads the target so far, and
    cross-attention."""

    def project_memory(
        self, memory: Float[Tensor, "batch source model"], may_attend: Bool[Tensor, "batch 1 1 source"] | None
    ) -> tuple[SourceView, ...]:
        """Keys and values of the memory for each layer. They do not depend on the target: compute them once."""
        return tuple(SourceView(*layer.cross_attention.project_memory(memory), may_attend) for layer in self._each())

    def begin(self, sources: Sequence[SourceView], width: int) -> Past | Cells:
        """The past before the first position, of `width` hypotheses for each source."""
        return Past(tuple((Columns.empty(each.keys), Columns.empty(each.values)) for each in sources), None, width)

    def forward(
        self,
        ids: Int[Tensor, "batch target"],
        sources: Sequence[SourceView],
        *,
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target model"], list[DecoderLayerOutput]]:
        """Features at all positions, and the output of each layer."""
        hidden, rotate = self.enter(ids)
        outputs = []
        for depth, (layer, source) in enumerate(zip(self._each(), sources, strict=True)):
            output = layer(
                hidden,
                source,
                rotate=rotate,
                keep_self=kept_heads(keep_heads, f"decoder.{depth}.self"),
                keep_cross=kept_heads(keep_heads, f"decoder.{depth}.cross"),
                want_weights=want_weights,
            )
            hidden = output.features
            outputs.append(output)
        return self.leave(hidden), outputs

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch width model"], Past | Cells]:
        """Features of one more position of every hypothesis, and the updated past."""
        hidden, rotate = self.enter_next(ids, state)
        permitted, bias = next_bias(state, hidden)
        positions = state.ages[:, None, None]
        seen = state.sources[0].may_attend
        source_bias = None if seen is None else as_bias(seen, hidden.dtype)
        layers = []
        for depth, (layer, source, past) in enumerate(zip(self._each(), state.sources, state.past.layers, strict=True)):
            hidden, past = layer.step(
                hidden,
                source,
                past,
                positions=positions,
                bias=bias,
                source_bias=source_bias,
                rotate=rotate,
                keep_self=kept_heads(state.keep_heads, f"decoder.{depth}.self"),
                keep_cross=kept_heads(state.keep_heads, f"decoder.{depth}.cross"),
            )
            layers.append(past)
        return self.leave(hidden), state.past.advanced(tuple(layers), permitted)

    def _each(self) -> list[CrossAttentionLayer]:
        """The layers; `nn.ModuleList` does not know their type."""
        return cast(list[CrossAttentionLayer], list(self.layers))


def next_bias(
    state: DecoderState[Any], hidden: Float[Tensor, "batch width model"]
) -> tuple[Bool[Tensor, "batch width columns"] | None, Float[Tensor, "batch 1 width columns"] | None]:
    """The mask of columns after one more position, and the same as a bias to be added to scores; None if all are
    allowed."""
    permitted = state.past.next_permission(len(hidden), hidden.device)
    return permitted, None if permitted is None else as_bias(permitted, hidden.dtype)[:, None]


def kept_heads(keep_heads: KeepHeads | None, name: str) -> Tensor | None:
    """The head multipliers of this attention, or None."""
    return keep_heads.get(name) if keep_heads else None


class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """Encoder and decoder; the output projection may be tied to the target embedding.

    Args:
        output: the final linear layer, or None to use the target embedding's rows (Vaswani et al. 2017, section 3.4).
        output_bias: added to the logits, or None.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, output: nn.Module | None, *,
        output_bias: nn.Parameter | None = None, start_id: int, end_id: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder, self.decoder, self.output, self.output_bias = encoder, decoder, output, output_bias
        self.start_id, self.end_id = start_id, end_id
        self.source_padding = encoder.embedding.padding
        self.target_padding = decoder.embedding.padding

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> TransformerMemory:
        features, _ = self.encoder(source, source_valid, keep_heads=keep_heads)
        return TransformerMemory(features, source_valid, keep_heads)

    def start(self, memory: TransformerMemory, width: int = 1) -> TransformerState:
        valid = memory.source_valid
        # The check synchronizes with the device once per batch, and saves a mask at every step if nothing is padded.
        permitted = None if valid.all() else permit_keys(valid)
        sources = tuple(
            SourceView(_upright(source.keys), source.values.contiguous(), permitted)
            for source in self.decoder.project_memory(memory.features, permitted)
        )
        ages = torch.zeros(len(valid), dtype=torch.int64, device=valid.device)
        return TransformerState(self.decoder.begin(sources, width), ages, memory.keep_heads, sources)

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState]:
        features, past = self.decoder.step(ids, state)
        return features, replace(state, past=past, ages=state.ages + 1)

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        memory, _ = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads)
        sources = self.decoder.project_memory(memory, permit_keys(batch.source_valid))
        features, _ = self.decoder(batch.target_in, sources, keep_heads=keep_heads)
        return features

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        memory, encoder_self = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads, want_weights=True)
        sources = self.decoder.project_memory(memory, permit_keys(batch.source_valid))
        features, outputs = self.decoder(batch.target_in, sources, keep_heads=keep_heads, want_weights=True)
        decoder_self = tuple(output.self_weights for output in outputs if output.self_weights is not None)
        cross = tuple(output.cross_weights for output in outputs)
        return features, AttentionWeights(tuple(encoder_self), decoder_self, cross)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        if self.output is None:
            return functional.linear(features, *self.output_weights())
        logits = self.output(features)
        return logits if self.output_bias is None else logits + self.output_bias

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return projection_weight(self.output, self.decoder.embedding), self.output_bias


def _upright(keys: Float[Tensor, "batch heads source head_size"]) -> Float[Tensor, "batch heads source head_size"]:
    """The same keys, stored so that one component of all positions is contiguous: a third faster with few queries."""
    return keys.transpose(-1, -2).contiguous().transpose(-1, -2)
