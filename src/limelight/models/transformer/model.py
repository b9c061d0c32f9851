"""The Transformer (Vaswani et al. 2017): encoder and decoder behind the interface that training and search know."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.masks import permit_keys
from limelight.batching.batch import Batch
from limelight.layers.embedding import projection_weight
from limelight.models.cache import Columns, Past
from limelight.models.interface import AttentionWeights, KeepHeads, Seq2Seq
from limelight.models.transformer.layers import SourceView
from limelight.models.transformer.stacks import Decoder, Encoder
from limelight.models.transformer.state import TransformerMemory, TransformerState
from limelight.shapes import Bool, Float, Int


class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """Encoder and decoder joined; the output projection is the target embedding where they are tied.

    Args:
        output: the final linear layer of its own, or None to use the target embedding's rows (Vaswani et al. 2017,
            section 3.4).
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
        # Asking waits for the device once a sentence, and spares a mask at every step where nothing is padded.
        permitted = None if valid.all() else permit_keys(valid)
        sources = tuple(
            SourceView(_upright(source.keys), source.values.contiguous(), permitted)
            for source in self.decoder.project_memory(memory.features, permitted)
        )
        empty = tuple((Columns.empty(source.keys), Columns.empty(source.values)) for source in sources)
        ages = torch.zeros(len(valid), dtype=torch.int64, device=valid.device)
        return TransformerState(Past(empty, None, width), ages, memory.keep_heads, sources)

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
        decoder_self = tuple(output.self_weights for output in outputs)
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
    """The same keys with neighbors' numbers together in memory: products with few queries are a third faster so."""
    return keys.transpose(-1, -2).contiguous().transpose(-1, -2)
