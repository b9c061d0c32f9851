"""The Transformer (Vaswani et al. 2017): encoder, decoder, and the step-by-step form of the decoder.

Reading order: `EncoderLayer` and `DecoderLayer` are figure 1 of the paper; `Encoder` and `Decoder` stack them;
`Transformer` joins both behind the interface that training and search know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.masks import permit_keys
from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.batching.batch import Batch
from limelight.layers.dropout import Dropout
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import FeedForward
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from limelight.layers.sublayer import Sublayer
from limelight.models.interface import Seq2Seq
from limelight.models.state import AttentionWeights, KeepHeads, Memory, State
from limelight.shapes import Bool, Float, Int

KeysValues = tuple[Float[Tensor, "batch heads key head_size"], Float[Tensor, "batch heads key head_size"]]
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
            self.attention.project_queries(asked, rotate),
            *self.attention.project_memory(asked, rotate),
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
        cross: "CrossMemory",
        *,
        past: KeysValues | None = None,
        rotate: Rotate | None = None,
        keep_self: Tensor | None = None,
        keep_cross: Tensor | None = None,
        want_weights: bool = False,
    ) -> "DecoderLayerOutput":
        """All positions at once (`past` is None), or one more position after the keys and values of those before it."""
        asked = self.attention_sublayer.before(inputs)
        keys, values = self.attention.project_memory(asked, rotate)
        if past is not None:
            keys, values = torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2)
        # Targets are padded at the end, so "not the future" already keeps every real position from all padding.
        context, self_weights = self.attention(
            self.attention.project_queries(asked, rotate),
            keys,
            values,
            causal=past is None,
            keep_heads=keep_self,
            want_weights=want_weights,
        )
        hidden = self.attention_sublayer.after(inputs, context)

        asked = self.cross_sublayer.before(hidden)
        context, cross_weights = self.cross_attention(
            self.cross_attention.project_queries(asked),
            cross.keys,
            cross.values,
            may_attend=cross.may_attend,
            keep_heads=keep_cross,
            want_weights=want_weights,
        )
        hidden = self.cross_sublayer.after(hidden, context)

        changed = self.feed_forward(self.feed_forward_sublayer.before(hidden))
        features = self.feed_forward_sublayer.after(hidden, changed)
        return DecoderLayerOutput(features, (keys, values), self_weights, cross_weights)


class CrossMemory(NamedTuple):
    """The encoder's output as one decoder layer looks at it."""

    keys: Float[Tensor, "batch heads source head_size"]
    values: Float[Tensor, "batch heads source head_size"]
    may_attend: Bool[Tensor, "batch 1 1 source"]


class DecoderLayerOutput(NamedTuple):
    """What a decoder layer hands on: features, its keys and values so far, and the weights if they were wanted."""

    features: Float[Tensor, "batch target model"]
    present: KeysValues
    self_weights: Float[Tensor, "batch heads target key"] | None
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
        hidden = _embed(source, self.embedding, self.positions, self.dropout, first=0)
        rotate = _rotation(self.rotary, first=0, length=source.shape[1], device=source.device)
        may_attend = permit_keys(source_valid)
        all_weights = []
        for depth, layer in enumerate(self.layers):
            kept = keep_heads.get(f"encoder.{depth}.self") if keep_heads else None
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
        self, memory: Float[Tensor, "batch source model"], source_valid: Bool[Tensor, "batch source"]
    ) -> tuple[CrossMemory, ...]:
        """Keys and values of the memory for each layer: they do not depend on the target, so once is enough."""
        may_attend = permit_keys(source_valid)
        crosses = []
        for layer in self.layers:
            assert isinstance(layer, DecoderLayer)
            keys, values = layer.cross_attention.project_memory(memory)
            crosses.append(CrossMemory(keys, values, may_attend))
        return tuple(crosses)

    def forward(
        self,
        ids: Int[Tensor, "batch target"],
        crosses: Sequence[CrossMemory],
        *,
        past: Sequence[KeysValues] = (),
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target model"], list[DecoderLayerOutput]]:
        """Features of all positions, or of one position after `past`; and what each layer handed on."""
        first = past[0][0].shape[2] if past else 0
        hidden = _embed(ids, self.embedding, self.positions, self.dropout, first=first)
        rotate = _rotation(self.rotary, first=first, length=ids.shape[1], device=ids.device)
        outputs = []
        for depth, (layer, cross) in enumerate(zip(self.layers, crosses, strict=True)):
            output = layer(
                hidden,
                cross,
                past=past[depth] if past else None,
                rotate=rotate,
                keep_self=keep_heads.get(f"decoder.{depth}.self") if keep_heads else None,
                keep_cross=keep_heads.get(f"decoder.{depth}.cross") if keep_heads else None,
                want_weights=want_weights,
            )
            hidden = output.features
            outputs.append(output)
        return hidden if self.norm is None else self.norm(hidden), outputs


@dataclass(frozen=True, slots=True)
class TransformerMemory(Memory):
    """The encoder's output, a vector for each source position."""

    features: Float[Tensor, "batch source model"]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None = None

    def keep(self, rows: Int[Tensor, " rows"]) -> "TransformerMemory":
        return replace(self, features=self.features[rows], source_valid=self.source_valid[rows])


@dataclass(frozen=True, slots=True)
class TransformerState(State):
    """Keys and values of the target so far and of the source, for each decoder layer."""

    past: tuple[KeysValues, ...]
    crosses: tuple[CrossMemory, ...]
    keep_heads: KeepHeads | None = None

    def reorder(self, rows: Int[Tensor, " rows"]) -> "TransformerState":
        return replace(self, past=tuple((keys[rows], values[rows]) for keys, values in self.past))

    def keep(self, rows: Int[Tensor, " rows"]) -> "TransformerState":
        crosses = tuple(CrossMemory(*(part[rows] for part in cross)) for cross in self.crosses)
        return replace(self.reorder(rows), crosses=crosses)


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

    def start(self, memory: TransformerMemory) -> TransformerState:
        crosses = self.decoder.look_at(memory.features, memory.source_valid)
        empty = tuple((cross.keys[:, :, :0], cross.values[:, :, :0]) for cross in crosses)
        return TransformerState(empty, crosses, memory.keep_heads)

    def step(
        self, ids: Int[Tensor, " batch"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch features"], TransformerState]:
        features, outputs = self.decoder(ids[:, None], state.crosses, past=state.past, keep_heads=state.keep_heads)
        return features[:, 0], replace(state, past=tuple(output.present for output in outputs))

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        memory, _ = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads)
        crosses = self.decoder.look_at(memory, batch.source_valid)
        features, _ = self.decoder(batch.target_in, crosses, keep_heads=keep_heads)
        return features

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        memory, encoder_self = self.encoder(batch.source, batch.source_valid, keep_heads=keep_heads, want_weights=True)
        crosses = self.decoder.look_at(memory, batch.source_valid)
        features, outputs = self.decoder(batch.target_in, crosses, keep_heads=keep_heads, want_weights=True)
        decoder_self = tuple(output.self_weights for output in outputs)
        cross = tuple(output.cross_weights for output in outputs)
        return features, AttentionWeights(tuple(encoder_self), decoder_self, cross)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        weight = self.output.weight if self.output is not None else self.decoder.embedding.output_weight()
        return functional.linear(features, weight, self.output_bias)


def _embed(
    ids: Int[Tensor, "batch length"],
    embedding: TokenEmbedding,
    positions: Positions | None,
    dropout: Dropout,
    *,
    first: int,
) -> Float[Tensor, "batch length model"]:
    """Dropout applies to the sums of embeddings and positions (section 5.4)."""
    embedded = embedding(ids)
    return dropout(embedded if positions is None else positions(embedded, first))


def _rotation(rotary: RotaryPositions | None, *, first: int, length: int, device: torch.device) -> Rotate | None:
    """Rotary positions bound to the places of this call."""
    if rotary is None:
        return None
    return partial(rotary, positions=torch.arange(first, first + length, device=device))
