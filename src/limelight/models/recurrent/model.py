"""The recurrent encoder-decoder behind the interface that training and search know.

Gradients run through the whole sentence. Truncated backpropagation through time cuts streams of unbounded length into
affordable tokens; a sentence is short, all its activations fit into memory, and a cut would only hide from the encoder
what the end of the translation needed from it.
"""

from torch import Tensor, nn
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.layers.embedding import TokenEmbedding, projection_weight
from limelight.layers.feed_forward import Dropout
from limelight.models.interface import AttentionWeights, KeepHeads, Seq2Seq
from limelight.models.recurrent.decoder import (
    RecurrentDecoder,
    RecurrentState,
)
from limelight.models.recurrent.encoder import RecurrentEncoder, RecurrentMemory
from limelight.shapes import Bool, Float, Int


class Recurrent(Seq2Seq[RecurrentMemory, RecurrentState]):
    """Encoder and decoder joined; the output projection is the target embedding where they are tied.

    Args:
        embedding: of the target tokens.
        output: the final linear layer of its own, or None to use the target embedding's rows.
    """

    def __init__(
        self,
        encoder: RecurrentEncoder,
        decoder: RecurrentDecoder,
        embedding: TokenEmbedding,
        output: nn.Module | None,
        *,
        dropout: float,
        start_id: int,
        end_id: int,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.embedding, self.output = encoder, decoder, embedding, output
        self.dropout = Dropout(dropout)
        self.start_id, self.end_id = start_id, end_id
        self.source_padding = encoder.embedding.padding
        self.target_padding = embedding.padding

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> RecurrentMemory:
        return self.encoder(source, source_valid, keep_heads=keep_heads)

    def start(self, memory: RecurrentMemory, width: int = 1) -> RecurrentState:
        return self.decoder.start(memory, width)

    def step(
        self, ids: Int[Tensor, "batch width"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch width features"], RecurrentState]:
        features, state = self.decoder.step(self.dropout(self.embedding(ids)), state)
        return self.dropout(features), state

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        features, _ = self._unroll(batch, keep_heads, want_weights=False)
        return features

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        features, weights = self._unroll(batch, keep_heads, want_weights=True)
        # (batch, target, source) -> (batch, 1 head, target, source)
        return features, AttentionWeights(cross=() if weights is None else (weights[:, None],))

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        if self.output is not None:
            return self.output(features)
        return functional.linear(features, self.embedding.output_weight())

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return projection_weight(self.output, self.embedding), None

    def _unroll(
        self, batch: Batch, keep_heads: KeepHeads | None, *, want_weights: bool
    ) -> tuple[Float[Tensor, "batch target features"], Float[Tensor, "batch target source"] | None]:
        state = self.start(self.encode(batch.source, batch.source_valid, keep_heads=keep_heads))
        embedded = self.dropout(self.embedding(batch.target_in))
        features, weights = self.decoder.unroll(embedded, state, want_weights=want_weights)
        return self.dropout(features), weights
