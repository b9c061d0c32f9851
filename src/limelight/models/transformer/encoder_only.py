"""Encoder-only: every position attends to all positions, before and after it (Devlin et al. 2019).

What it reads is a row of an end, the tokens of a text, an end. What it is asked for tells two models apart: which token
stands at a place, or which label a text has. Their encoders bear the same names, so one begins where the other ended.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.layers.feed_forward import Dropout
from limelight.models.interface import KeepHeads, Model
from limelight.models.transformer import Encoder
from limelight.shapes import Bool, Float, Int

Pooling = Literal["mean", "first"]


class EncoderOnly(Model):
    """An encoder, and what both models have of it."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def read(
        self,
        ids: Int[Tensor, "batch length"],
        valid: Bool[Tensor, "batch length"],
        *,
        keep_heads: KeepHeads | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch length features"], list[Tensor]]:
        """Features of every position, and the weights of each layer if wanted."""
        features, weights = self.encoder(ids, valid, keep_heads=keep_heads, want_weights=want_weights)
        return features, weights

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... classes"]:
        """The final linear layer: features to logits, of tokens or of labels."""
        return functional.linear(features, *self.output_weights())


class MaskedModel(EncoderOnly):
    """Guesses tokens from all that stands around them: the embedding is the output projection, a bias is added.

    The original has one more layer between features and projection (its "transform"); here the last layer of the
    encoder is all there is.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.output_bias = nn.Parameter(torch.zeros(encoder.embedding.padding))

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch length features"]:
        return self.read(batch.source, batch.source_valid, keep_heads=keep_heads)[0]

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"]]:
        return self.encoder.embedding.output_weight(), self.output_bias


class Classifier(EncoderOnly):
    """Chooses one of some labels for a text.

    Args:
        labels: their names; the output has a class for each, in this order.
        pooling: how the features of all positions become those of the text, see `pool`.
        dropout: of what is pooled.
    """

    def __init__(
        self, encoder: Encoder, labels: Sequence[str], *, width: int, pooling: Pooling, dropout: float
    ) -> None:
        super().__init__(encoder)
        self.labels, self.pooling = tuple(labels), pooling
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(width, len(labels))
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch 1 features"]:
        features, _ = self.read(batch.source, batch.source_valid, keep_heads=keep_heads)
        return self.dropout(pool(features, batch.source_valid, self.pooling))[:, None]

    def output_weights(self) -> tuple[Float[Tensor, "labels features"], Float[Tensor, " labels"]]:
        return self.output.weight, self.output.bias


def pool(
    features: Float[Tensor, "batch length features"], valid: Bool[Tensor, "batch length"], pooling: Pooling
) -> Float[Tensor, "batch features"]:
    """A vector for each text: that of the end it begins with, or the mean over all positions, both ends included."""
    if pooling == "first":
        return features[:, 0]
    kept = features * valid[:, :, None]
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True)
