"""The Transformer (Vaswani et al. 2017): encoder, decoder, and the step-by-step form of the decoder.

Reading order: `EncoderLayer` and `DecoderLayer` are figure 1 of the paper; `Encoder` and `Decoder` stack them;
`Transformer` joins both behind the interface that training and search know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.masks import as_bias, permit_keys
from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.batching.batch import Batch
from limelight.layers.dropout import Dropout
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import FeedForward
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from limelight.layers.sublayer import Sublayer
from limelight.models.cache import Columns, Past, put_rows
from limelight.models.interface import Seq2Seq
from limelight.models.state import AttentionWeights, KeepHeads, Memory, State
from limelight.shapes import Bool, Float, Int

Positions = SinusoidalPositions | LearnedPositions


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each inside a residual connection."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward,
        *,
        d_model: int,
        dropout: float,
        norm_first: bool,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_sublayer = Sublayer(d_model, dropout=dropout, norm_first=norm_first)
        self.feed_forward = feed_forward
        self.feed_forward_sublayer = Sublayer(d_model, dropout=dropout, norm_first=norm_first)

    def forward(
        self,
        inputs: Float[Tensor, "batch source model"],
        may_attend: Bool[Tensor, "batch 1 1 source"],
        *,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source model"], Float[Tensor, "batch heads source source"] | None]:
        """Every position looks at every real position."""
        asked = self.attention_sublayer.before(inputs)
        context, weights = self.attention(
            *self.attention.project_self(asked, rotate),
            may_attend=may_attend,
            keep_heads=keep_heads,
            want_weights=want_weights,
        )
        hidden = self.attention_sublayer.after(inputs, context)
        changed = self.feed_forward(self.feed_forward_sublayer.before(hidden))
        return self.feed_forward_sublayer.after(hidden, changed), weights


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder, feed-forward; each inside a residual connection."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        *,
        d_model: int,
        dropout: float,
        norm_first: bool,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_sublayer = Sublayer(d_model, dropout=dropout, norm_first=norm_first)
        self.cross_attention = cross_attention
        self.cross_sublayer = Sublayer(d_model, dropout=dropout, norm_first=norm_first)
        self.feed_forward = feed_forward
        self.feed_forward_sublayer = Sublayer(d_model, dropout=dropout, norm_first=norm_first)

    def forward(
        self,
        inputs: Float[Tensor, "batch target model"],
        source: "SourceView",
        *,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
        want_weights: bool = False,
    ) -> "DecoderLayerOutput":
        """All positions at once."""
        asked = self.attention_sublayer.before(inputs)
        # Targets are padded at the end, so "not the future" already keeps every real position from all padding.
        context, self_weights = self.attention(
            *self.attention.project_self(asked, rotate),
            causal=True,
            keep_heads=keep_self,
            want_weights=want_weights,
        )
        hidden = self.attention_sublayer.after(inputs, context)
        context, cross_weights = self.cross_attention(
            self.cross_attention.project_queries(self.cross_sublayer.before(hidden)),
            source.keys,
            source.values,
            may_attend=source.may_attend,
            keep_heads=keep_cross,
            want_weights=want_weights,
        )
        features = self._think(self.cross_sublayer.after(hidden, context))
        return DecoderLayerOutput(features, self_weights, cross_weights)

    def step(
        self,
        inputs: Float[Tensor, "batch width model"],
        source: "SourceView",
        past: tuple[Columns, Columns],
        *,
        bias: Float[Tensor, "batch 1 width columns"] | None,
        source_bias: Float[Tensor, "batch 1 1 source"] | None,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], tuple[Columns, Columns]]:
        """One more position of every hypothesis, after the keys and values of those before it."""
        asked = self.attention_sublayer.before(inputs)
        queries, new_keys, new_values = self.attention.project_self(asked, rotate)
        keys, values = past[0].append(new_keys), past[1].append(new_values)
        context, _ = self.attention(queries, keys.view(), values.view(), bias=bias, keep_heads=keep_self)
        hidden = self.attention_sublayer.after(inputs, context)
        context, _ = self.cross_attention(
            self.cross_attention.project_queries(self.cross_sublayer.before(hidden)),
            source.keys,
            source.values,
            bias=source_bias,
            keep_heads=keep_cross,
        )
        features = self._think(self.cross_sublayer.after(hidden, context))
        return features, (keys, values)

    def _think(self, hidden: Tensor) -> Tensor:
        """The feed-forward network inside its residual connection."""
        changed = self.feed_forward(self.feed_forward_sublayer.before(hidden))
        return self.feed_forward_sublayer.after(hidden, changed)


class SourceView(NamedTuple):
    """The encoder's output as one decoder layer looks at it; `may_attend` is None where no source is padded."""

    keys: Float[Tensor, "batch heads source head_size"]
    values: Float[Tensor, "batch heads source head_size"]
    may_attend: Bool[Tensor, "batch 1 1 source"] | None


class DecoderLayerOutput(NamedTuple):
    """What a decoder layer hands on: features, and the weights if they were wanted."""

    features: Float[Tensor, "batch target model"]
    self_weights: Float[Tensor, "batch heads target target"] | None
    cross_weights: Float[Tensor, "batch heads target source"] | None


class Encoder(nn.Module):
    """Embedding, positions, and a stack of layers; a last LayerNorm where normalisation comes first."""

    def __init__(
        self, embedding: TokenEmbedding, positions: Positions | None, layers: Sequence[EncoderLayer], *,
        dropout: float, norm: nn.LayerNorm | None, rotary: RotaryPositions | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding, self.positions, self.rotary = embedding, positions, rotary
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source model"], list[Tensor]]:
        """The memory, and the weights of each layer if they are wanted."""
        hidden = _embed(source, self.embedding, self.positions, self.dropout)
        rotate = _rotation(self.rotary, torch.arange(source.shape[1], device=source.device))
        may_attend = permit_keys(source_valid)
        all_weights = []
        for depth, layer in enumerate(self.layers):
            kept = _kept(keep_heads, f"encoder.{depth}.self")
            hidden, weights = layer(hidden, may_attend, rotate=rotate, keep_heads=kept, want_weights=want_weights)
            if weights is not None:
                all_weights.append(weights)
        return hidden if self.norm is None else self.norm(hidden), all_weights


class Decoder(nn.Module):
    """Embedding, positions, and a stack of layers that look at their own past and at the memory."""

    def __init__(
        self, embedding: TokenEmbedding, positions: Positions | None, layers: Sequence[DecoderLayer], *,
        dropout: float, norm: nn.LayerNorm | None, rotary: RotaryPositions | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding, self.positions, self.rotary = embedding, positions, rotary
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def look_at(
        self, memory: Float[Tensor, "batch source model"], may_attend: Bool[Tensor, "batch 1 1 source"] | None
    ) -> tuple[SourceView, ...]:
        """Keys and values of the memory for each layer: they do not depend on the target, so once is enough."""
        return tuple(SourceView(*layer.cross_attention.project_memory(memory), may_attend) for layer in self._each())

    def forward(
        self,
        ids: Int[Tensor, "batch target"],
        sources: Sequence[SourceView],
        *,
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target model"], list[DecoderLayerOutput]]:
        """Features of all positions, and what each layer handed on."""
        hidden = _embed(ids, self.embedding, self.positions, self.dropout)
        rotate = _rotation(self.rotary, torch.arange(ids.shape[1], device=ids.device))
        outputs = []
        for depth, (layer, source) in enumerate(zip(self._each(), sources, strict=True)):
            output = layer(
                hidden,
                source,
                rotate=rotate,
                keep_self=_kept(keep_heads, f"decoder.{depth}.self"),
                keep_cross=_kept(keep_heads, f"decoder.{depth}.cross"),
                want_weights=want_weights,
            )
            hidden = output.features
            outputs.append(output)
        return hidden if self.norm is None else self.norm(hidden), outputs

    def step(
        self, ids: Int[Tensor, "batch width"], state: "TransformerState"
    ) -> tuple[Float[Tensor, "batch width model"], Past]:
        """Features of one more position of every hypothesis, and the past after it."""
        embedded = self.embedding(ids)
        if self.positions is not None:
            embedded = self.positions.at(embedded, state.ages, most=state.past.length + 1)
        hidden = self.dropout(embedded)
        rotate = _rotation(self.rotary, state.ages[:, None, None])
        permitted = state.past.next_permission(len(ids), ids.device)
        bias = None if permitted is None else as_bias(permitted, hidden.dtype)[:, None]
        seen = state.sources[0].may_attend
        source_bias = None if seen is None else as_bias(seen, hidden.dtype)
        layers = []
        for depth, (layer, source, past) in enumerate(zip(self._each(), state.sources, state.past.layers, strict=True)):
            hidden, past = layer.step(
                hidden,
                source,
                past,
                bias=bias,
                source_bias=source_bias,
                rotate=rotate,
                keep_self=_kept(state.keep_heads, f"decoder.{depth}.self"),
                keep_cross=_kept(state.keep_heads, f"decoder.{depth}.cross"),
            )
            layers.append(past)
        after = Past(tuple(layers), permitted, ids.shape[1])
        return hidden if self.norm is None else self.norm(hidden), after

    def _each(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))


@dataclass(frozen=True, slots=True)
class TransformerMemory(Memory):
    """The encoder's output, a vector for each source position."""

    features: Float[Tensor, "batch source model"]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None = None


@dataclass(frozen=True, slots=True)
class TransformerState(State):
    """Keys and values of the target so far and of the source, for each decoder layer."""

    past: Past
    ages: Int[Tensor, " batch"]
    """Positions each sentence's hypotheses have read."""
    sources: tuple[SourceView, ...]
    keep_heads: KeepHeads | None = None

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "TransformerState":
        return replace(self, past=self.past.reorder(parents))

    def keep(self, sentences: Int[Tensor, " kept"]) -> "TransformerState":
        permitted = self.sources[0].may_attend
        kept = None if permitted is None else permitted[sentences]
        sources = tuple(SourceView(source.keys[sentences], source.values[sentences], kept) for source in self.sources)
        return replace(self, past=self.past.keep(sentences), ages=self.ages[sentences], sources=sources)

    def release(self, places: Int[Tensor, " places"]) -> "TransformerState":
        # Growing older and older, they would leave the learned positions.
        return replace(self, ages=self.ages.index_fill(0, places, 0))

    def admit(self, fresh: "TransformerState", places: Int[Tensor, " fresh"]) -> "TransformerState":
        batch = max(len(self.ages), int(places.max()) + 1)
        return replace(
            self,
            past=self.past.clear(places, batch),
            ages=put_rows(self.ages, fresh.ages, places),
            sources=_join_sources(self.sources, fresh.sources, places),
        )


def _join_sources(
    sources: tuple[SourceView, ...], fresh: tuple[SourceView, ...], places: Int[Tensor, " fresh"]
) -> tuple[SourceView, ...]:
    """The fresh sources in their places, all padded to the longest that is there then."""
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
    if source.may_attend is not None:
        return source.may_attend
    batch, _, length, _ = source.keys.shape
    return torch.ones(batch, 1, 1, length, dtype=torch.bool, device=source.keys.device)


class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """Encoder and decoder joined; the output projection is the target embedding where they are tied.

    Args:
        output: the final linear layer of its own, or None to use the target embedding's rows (Vaswani et al. 2017,
            section 3.4).
        output_bias: added to the logits, or None.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, output: nn.Linear | None, *,
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
        # Asking waits for the device once a sentence, and spares a mask at every step where nothing is padded.
        permitted = None if valid.all() else permit_keys(valid)
        sources = tuple(
            SourceView(_upright(source.keys), source.values.contiguous(), permitted)
            for source in self.decoder.look_at(memory.features, permitted)
        )
        empty = tuple((Columns.empty(source.keys), Columns.empty(source.values)) for source in sources)
        ages = torch.zeros(len(valid), dtype=torch.int64, device=valid.device)
        return TransformerState(Past(empty, None, width), ages, sources, memory.keep_heads)

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState]:
        features, past = self.decoder.step(ids, state)
        return features, replace(state, past=past, ages=state.ages + 1)

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        memory, _ = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads)
        sources = self.decoder.look_at(memory, permit_keys(batch.source_valid))
        features, _ = self.decoder(batch.target_in, sources, keep_heads=keep_heads)
        return features

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        memory, encoder_self = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads, want_weights=True)
        sources = self.decoder.look_at(memory, permit_keys(batch.source_valid))
        features, outputs = self.decoder(batch.target_in, sources, keep_heads=keep_heads, want_weights=True)
        decoder_self = tuple(output.self_weights for output in outputs)
        cross = tuple(output.cross_weights for output in outputs)
        return features, AttentionWeights(tuple(encoder_self), decoder_self, cross)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        if self.output is None:
            return functional.linear(features, *self.output_weights())
        logits = self.output(features)
        return logits if self.output_bias is None else logits + self.output_bias

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        weight = self.decoder.embedding.output_weight() if self.output is None else self.output.weight
        return weight, self.output_bias


def _upright(keys: Float[Tensor, "batch heads source head_size"]) -> Float[Tensor, "batch heads source head_size"]:
    """The same keys with neighbours' numbers together in memory: products with few queries are a third faster so."""
    return keys.transpose(-1, -2).contiguous().transpose(-1, -2)


def _embed(
    ids: Int[Tensor, "batch length"], embedding: TokenEmbedding, positions: Positions | None, dropout: Dropout
) -> Float[Tensor, "batch length model"]:
    """Dropout applies to the sums of embeddings and positions (section 5.4)."""
    embedded = embedding(ids)
    return dropout(embedded if positions is None else positions(embedded))


def _rotation(rotary: RotaryPositions | None, places: Int[Tensor, "..."]) -> Rotate | None:
    """Rotary positions bound to the places of this call, which stretch over (batch, heads, length) as they are."""
    return None if rotary is None else partial(rotary, positions=places)


def _kept(keep_heads: KeepHeads | None, name: str) -> Tensor | None:
    return keep_heads.get(name) if keep_heads else None
