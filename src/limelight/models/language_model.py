"""What language models share: source and target are one text."""

from abc import abstractmethod
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.models.interface import AttentionWeights, KeepHeads, Memory, Seq2Seq, State
from limelight.shapes import Bool, Float, Int

MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


class LanguageModel(Seq2Seq[MemoryT, StateT]):
    """A model of p(text), a token at a time; its source is the prompt, of any length, none at all included.

    There is one vocabulary, positions count source and target together, and what separates texts, the end, is also what
    the first token of a text is predicted from. Trained on pairs it is a translator without an encoder (Liu et al.
    2018, section 4.2.3): the target goes on where the source ends.

    Args:
        output: the final linear layer of its own, or None where it is the embedding's.
        padding: the last id of the vocabulary.
    """

    def __init__(self, output: nn.Module | None, *, padding: int, end_id: int) -> None:
        super().__init__()
        self.output = output
        self.start_id = self.end_id = end_id
        self.source_padding = self.target_padding = padding

    @abstractmethod
    def read(
        self, ids: Int[Tensor, "batch length"], *, keep_heads: KeepHeads | None = None, want_weights: bool = False
    ) -> tuple[Float[Tensor, "batch length features"], list[Tensor]]:
        """Features of every position of texts from their beginning on, and the weights of each layer if wanted."""

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        features, _ = self.read(_one_text(batch), keep_heads=keep_heads)
        return _of_target(features, batch)

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        """The same features; `decoder_self` is between all positions of source and target, which are one text."""
        features, weights = self.read(_one_text(batch), keep_heads=keep_heads, want_weights=True)
        return _of_target(features, batch), AttentionWeights(decoder_self=tuple(weights))

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return functional.linear(features, *self.output_weights()) if self.output is None else self.output(features)


def _one_text(batch: Batch) -> Int[Tensor, "batch length"]:
    """The target right behind its source, and what pads the source behind both."""
    if not batch.source.shape[1]:
        return batch.target_in
    ids = torch.cat([batch.source, batch.target_in], dim=1)
    return ids.gather(1, _source_padding(batch).to(torch.uint8).argsort(dim=1, stable=True))


def _of_target(
    features: Float[Tensor, "batch length features"], batch: Batch
) -> Float[Tensor, "batch target features"]:
    """The features of the target's positions alone."""
    if not batch.source.shape[1]:
        return features
    places = torch.arange(batch.target_in.shape[1], device=features.device) + batch.source_valid.sum(1, keepdim=True)
    return features.gather(1, places[:, :, None].expand(-1, -1, features.shape[2]))


def _source_padding(batch: Batch) -> Bool[Tensor, "batch length"]:
    """Which places of source and target, side by side, are padding between them."""
    return torch.cat([~batch.source_valid, torch.zeros_like(batch.target_in, dtype=torch.bool)], dim=1)
