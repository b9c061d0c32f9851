"""What a Transformer leaves of the source, and what a decoder carries from step to step."""

from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from limelight.models.cache import Past, put_rows
from limelight.models.interface import KeepHeads, Memory, State
from limelight.models.transformer.layers import SourceView
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class TransformerMemory(Memory):
    """The encoder's output, a vector for each source position."""

    features: Float[Tensor, "batch source model"]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None = None


Own = TypeVar("Own", bound="DecoderState")


@dataclass(frozen=True, slots=True)
class DecoderState(State):
    """Keys and values of the text so far, for each decoder layer."""

    past: Past
    ages: Int[Tensor, " batch"]
    """Positions each sentence's hypotheses have read."""
    keep_heads: KeepHeads | None

    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        return replace(self, past=self.past.reorder(parents))

    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        return replace(self, past=self.past.keep(sentences), ages=self.ages[sentences])

    def release(self: Own, places: Int[Tensor, " places"]) -> Own:
        # Growing older and older, they would leave the learned positions.
        return replace(self, ages=self.ages.index_fill(0, places, 0))

    def admit(self: Own, fresh: Own, places: Int[Tensor, " fresh"]) -> Own:
        past, ages = self.past.admit(fresh.past, places), put_rows(self.ages, fresh.ages, places)
        return replace(self, past=past, ages=ages)


@dataclass(frozen=True, slots=True)
class TransformerState(DecoderState):
    """The same, and keys and values of the source."""

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
