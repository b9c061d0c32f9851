"""Half a Transformer: decoder-only language models, and encoder-only masked models and classifiers.

Decoder-only: every position attends to the previous ones (Liu et al. 2018, section 4.2.3: "we drop the encoder module";
Radford et al. 2018 and 2019, GPT and GPT-2). Encoder-only: every position attends to all positions (Devlin et al.
2019); the input is `</s> tokens </s>`. The encoders of a masked model and of a classifier have the same parameter
names, so that one can be initialized from the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.multi_head import Rotate
from limelight.batching.batch import Batch
from limelight.layers.embedding import projection_weight
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Columns, Past
from limelight.models.interface import KeepHeads, LanguageModel, Memory, Model
from limelight.models.transformer import DecoderState, Encoder, Stack
from limelight.models.transformer.layers import SelfAttentionLayer
from limelight.models.transformer.model import kept_heads, next_bias
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class Prompt(Memory):
    """Keys and values of the source for each layer."""

    layers: tuple[
        tuple[Float[Tensor, "batch heads source head_size"], Float[Tensor, "batch heads source value_size"]], ...
    ]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None


class CausalOutput(NamedTuple):
    """Output of a layer: features, keys and values, and the attention weights if requested."""

    features: Float[Tensor, "batch length model"]
    keys: Float[Tensor, "batch heads length head_size"]
    values: Float[Tensor, "batch heads length value_size"]
    weights: Float[Tensor, "batch heads length length"] | None


class CausalLayer(SelfAttentionLayer):
    """Masked self-attention, then a feed-forward network."""

    def forward(
        self,
        inputs: Float[Tensor, "batch length model"],
        *,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
        want_weights: bool = False,
    ) -> CausalOutput:
        """All positions at once. Texts are padded at the end, so the causal mask also excludes padding."""
        attended = self.attend_self(
            inputs, causal=True, rotate=rotate, keep_heads=keep_heads, want_weights=want_weights
        )
        return CausalOutput(self.apply_feed_forward(attended.hidden), attended.keys, attended.values, attended.weights)

    def step(
        self,
        inputs: Float[Tensor, "batch width model"],
        past: tuple[Columns, Columns],
        *,
        positions: Int[Tensor, "batch 1 1"],
        bias: Float[Tensor, "batch 1 width columns"] | None,
        rotate: Rotate | None = None,
        keep_heads: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch width model"], tuple[Columns, Columns]]:
        """One more position of every hypothesis, given the keys and values of the previous positions."""
        hidden, past = self.attend_past(
            inputs, past, positions=positions, bias=bias, rotate=rotate, keep_heads=keep_heads
        )
        return self.apply_feed_forward(hidden), past


class CausalStack(Stack):
    """A stack of layers with causal self-attention."""

    def layer_by_layer(
        self, ids: Int[Tensor, "batch length"], *, keep_heads: KeepHeads | None = None, want_weights: bool = False
    ) -> Iterator[CausalOutput]:
        """The output of each layer in turn, so that the caller keeps only what it needs."""
        hidden, rotate = self.enter(ids)
        for depth, layer in enumerate(self._each()):
            kept = kept_heads(keep_heads, f"decoder.{depth}.self")
            output = layer(hidden, rotate=rotate, keep_heads=kept, want_weights=want_weights)
            yield output
            hidden = output.features

    def step(
        self, ids: Int[Tensor, "batch width"], state: DecoderState[Past]
    ) -> tuple[Float[Tensor, "batch width model"], Past]:
        """Features of one more position of every hypothesis, and the updated cache."""
        hidden, rotate = self.enter_next(ids, state)
        permitted, bias = next_bias(state, hidden)
        layers = []
        for depth, (layer, past) in enumerate(zip(self._each(), state.past.layers, strict=True)):
            kept = kept_heads(state.keep_heads, f"decoder.{depth}.self")
            hidden, past = layer.step(
                hidden, past, positions=state.ages[:, None, None], bias=bias, rotate=rotate, keep_heads=kept
            )
            layers.append(past)
        return self.leave(hidden), state.past.advanced(tuple(layers), permitted)

    def _each(self) -> list[CausalLayer]:
        return cast(list[CausalLayer], list(self.layers))


class DecoderOnly(LanguageModel[Prompt, DecoderState[Past]]):
    """A causal Transformer; the output projection may be tied to the embedding."""

    def __init__(self, decoder: CausalStack, output: nn.Module | None, *, end_id: int) -> None:
        super().__init__(output, padding=decoder.embedding.padding, end_id=end_id)
        self.decoder = decoder

    def read(
        self, ids: Int[Tensor, "batch length"], *, keep_heads: KeepHeads | None = None, want_weights: bool = False
    ) -> tuple[Float[Tensor, "batch length features"], list[Tensor]]:
        all_weights = []
        for output in self.decoder.layer_by_layer(ids, keep_heads=keep_heads, want_weights=want_weights):
            hidden = output.features
            if output.weights is not None:
                all_weights.append(output.weights)
        return self.decoder.leave(hidden), all_weights

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> Prompt:
        layers = tuple(
            (output.keys, output.values) for output in self.decoder.layer_by_layer(source, keep_heads=keep_heads)
        )
        return Prompt(layers, source_valid, keep_heads)

    def start(self, memory: Prompt, width: int = 1) -> DecoderState[Past]:
        valid = memory.source_valid
        # The check synchronizes with the device once per prompt, and saves a mask at every step if nothing is padded.
        permitted = None if width == 1 and valid.all() else valid[:, None].expand(-1, width, -1)
        layers = tuple(
            (Columns.begun(keys, width=width), Columns.begun(values, width=width)) for keys, values in memory.layers
        )
        return DecoderState(Past(layers, permitted, width), valid.sum(dim=1), memory.keep_heads)

    def step(
        self, ids: Int[Tensor, "batch width"], state: DecoderState[Past]
    ) -> tuple[Float[Tensor, "batch width features"], DecoderState[Past]]:
        features, past = self.decoder.step(ids, state)
        return features, DecoderState(past, state.ages + 1, state.keep_heads)

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return projection_weight(self.output, self.decoder.embedding), None


Pooling = Literal["mean", "first"]


class EncoderOnly(Model):
    """Base class of models that consist of an encoder."""

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
        """Features at every position, and the attention weights of each layer if `want_weights`."""
        features, weights = self.encoder(ids, valid, keep_heads=keep_heads, want_weights=want_weights)
        return features, weights

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... classes"]:
        """The final linear layer: features to logits of tokens or of labels."""
        return functional.linear(features, *self.output_weights())


class MaskedModel(EncoderOnly):
    """A masked language model: predicts tokens from both sides. The output projection is the embedding, with a bias.

    The original has one more layer between features and projection (its "transform"), which is left out here.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.output_bias = nn.Parameter(torch.zeros(encoder.embedding.padding))

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch length features"]:
        return self.read(batch.source, batch.source_valid, keep_heads=keep_heads)[0]

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"]]:
        return self.encoder.embedding.output_weight(), self.output_bias


class Classifier(EncoderOnly):
    """Assigns one label to a text.

    Args:
        labels: their names, in the order of the output classes.
        pooling: how the features of all positions become those of the text, see `pool`.
        dropout: dropout probability of the pooled features.
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
    """A vector for each text: that of the first position (the end token), or the mean over all valid positions."""
    if pooling == "first":
        return features[:, 0]
    kept = features * valid[:, :, None]
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True)
