"""Encoder and decoder: embedding, positions, a stack of layers."""

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from limelight.attention.masks import as_bias, permit_keys
from limelight.attention.multi_head import Rotate
from limelight.layers.dropout import Dropout
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from limelight.models.cache import Past
from limelight.models.state import KeepHeads
from limelight.models.transformer.layers import DecoderLayer, DecoderLayerOutput, EncoderLayer, SourceView
from limelight.models.transformer.state import TransformerState
from limelight.shapes import Bool, Float, Int

Positions = SinusoidalPositions | LearnedPositions


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
