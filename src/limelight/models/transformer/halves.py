"""Half a Transformer: decoder-only language models, and encoder-only masked models and classifiers.

Decoder-only: every position attends to the previous ones (Liu et al. 2018, section 4.2.3: "we drop the encoder module";
Radford et al. 2018 and 2019, GPT and GPT-2). Encoder-only: every position attends to all positions (Devlin et al.
2019); the input is `</s> tokens </s>`. The encoders of a masked model and of a classifier have the same parameter
names, so that one can be initialized from the other.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.attend import permit_keys
from limelight.batching.batch import Batch
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Columns, Past
from limelight.models.interface import Model
from limelight.models.transformer.model import Stack, StackDecoder, TransformerState
from limelight.shapes import Bool, Float, Int


class Prompt(NamedTuple):
    """Keys and values of the source for each layer."""

    layers: tuple[Columns, ...]
    source_valid: Bool[Tensor, "batch source"]


class DecoderOnly(StackDecoder[Prompt]):
    """A causal Transformer: a model of p(text). Its source is the prompt, which may be empty.

    There is one vocabulary, and positions count source and target together. The end token, which separates texts, is
    also the first input. The target continues the source (Liu et al. 2018, section 4.2.3). The output projection is
    tied to the embedding if `output` is None.
    """

    def __init__(self, decoder: Stack, output: nn.Module | None) -> None:
        super().__init__()
        self.output, self.output_bias, self.decoder = output, None, decoder
        self.start_id = self.end_id
        self.source_padding = self.target_padding = decoder.embedding.padding

    def read(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length features"]:
        """Features at every position of whole texts."""
        return self.decoder(ids, causal=True)

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        if not batch.source.shape[1]:
            return self.read(batch.target_in)
        # Source and target without a gap: the padding of the source is moved to the end.
        ids = torch.cat([batch.source, batch.target_in], dim=1)
        padding = torch.cat([~batch.source_valid, torch.zeros_like(batch.target_in, dtype=torch.bool)], dim=1)
        features = self.read(ids.gather(1, padding.to(torch.uint8).argsort(dim=1, stable=True)))
        targets = torch.arange(batch.target_in.shape[1], device=ids.device) + batch.source_valid.sum(1, keepdim=True)
        return features.gather(1, targets[:, :, None].expand(-1, -1, features.shape[2]))

    def encode(self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]) -> Prompt:
        layers = tuple(Columns() for _ in self.decoder.layers)
        self.decoder(source, causal=True, past=layers)
        return Prompt(layers, source_valid)

    def start(self, memory: Prompt, width: int = 1) -> TransformerState:
        prompts = memory.source_valid.sum(dim=1)
        layers = tuple(Columns(*(part.clone() for part in layer.parts)) for layer in memory.layers)
        past = Past.begin(layers, prompts, width, max_prompt=memory.source_valid.shape[1])
        return TransformerState(past, prompts.clone())


Pooling = Literal["mean", "first"]


class EncoderOnly(Model):
    """Base class of models that consist of an encoder."""

    def __init__(self, encoder: Stack) -> None:
        super().__init__()
        self.encoder = encoder

    def read(
        self, ids: Int[Tensor, "batch length"], valid: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length features"]:
        """Features at every position."""
        return self.encoder(ids, may_attend=permit_keys(valid))

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... classes"]:
        """The final linear layer: features to logits of tokens or of labels."""
        return functional.linear(features, *self.output_weights())


class MaskedModel(EncoderOnly):
    """A masked language model: predicts tokens from both sides. The output projection is the embedding, with a bias.

    The original has one more layer between features and projection (its "transform"), which is left out here.
    """

    def __init__(self, encoder: Stack) -> None:
        super().__init__(encoder)
        self.output_bias = nn.Parameter(torch.zeros(encoder.embedding.padding))

    def forward(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        return self.read(batch.source, batch.source_valid)

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"]]:
        return self.encoder.embedding.output_weight(), self.output_bias


class Classifier(EncoderOnly):
    """Assigns one label to a text.

    Args:
        labels: their names, in the order of the output classes.
        pooling: how the features of all positions become one vector of the text, see `pool`.
        dropout: dropout probability of the pooled features.
    """

    def __init__(self, encoder: Stack, labels: Sequence[str], *, width: int, pooling: Pooling, dropout: float) -> None:
        super().__init__(encoder)
        self.labels, self.pooling = tuple(labels), pooling
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(width, len(labels))
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: Batch) -> Float[Tensor, "batch 1 features"]:
        features = self.read(batch.source, batch.source_valid)
        return self.dropout(pool(features, batch.source_valid, self.pooling))[:, None]

    def output_weights(self) -> tuple[Float[Tensor, "labels features"], Float[Tensor, " labels"]]:
        return self.output.weight, self.output.bias


def pool(
    features: Float[Tensor, "batch length features"], valid: Bool[Tensor, "batch length"], pooling: Pooling
) -> Float[Tensor, "batch features"]:
    """A vector for each text: the vector of the first position (the end token), or the mean over all valid
    positions."""
    if pooling == "first":
        return features[:, 0]
    kept = features * valid[:, :, None]
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True)
