"""The recurrent encoder-decoder behind the interface that training and search know.

Gradients run through the whole sentence. Truncated backpropagation through time cuts streams of unbounded length into
affordable pieces; a sentence is short, all its activations fit into memory, and a cut would only hide from the encoder
what the end of the translation needed from it.
"""

from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.scores import build_score, score_class
from limelight.batching.batch import Batch
from limelight.config import RecurrentConfig
from limelight.errors import UserError
from limelight.layers.dropout import Dropout
from limelight.layers.embedding import TokenEmbedding, projection_weight
from limelight.models.interface import Seq2Seq
from limelight.models.recurrent.cells import KINDS, CellStack, build_layers
from limelight.models.recurrent.decoder import (
    BahdanauDecoder,
    Bridge,
    FixedDecoder,
    InputFeedingDecoder,
    LuongDecoder,
    RecurrentDecoder,
    RecurrentState,
)
from limelight.models.recurrent.encoder import RecurrentEncoder, RecurrentMemory
from limelight.models.state import AttentionWeights, KeepHeads
from limelight.shapes import Bool, Float, Int


class Recurrent(Seq2Seq[RecurrentMemory, RecurrentState]):
    """Encoder and decoder joined; the output projection is the target embedding where they are tied.

    Args:
        embedding: of the target pieces.
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


def build_recurrent(config: RecurrentConfig, source_size: int, target_size: int, *, end_id: int) -> Recurrent:
    """A fresh model with random weights. Sizes count all ids of a vocabulary, padding included.

    Raises:
        UserError: three-way tying of vocabularies that differ in size.
    """
    if config.tie == "three-way" and source_size != target_size:
        raise UserError(
            f"model.tie=three-way shares one embedding between vocabularies of {source_size} and {target_size} pieces; "
            "set tokens.joint=true, or model.tie=two-way"
        )
    embedding = TokenEmbedding(target_size, config.embedding, scale=False)
    tied = config.tie == "three-way"
    source_embedding = embedding if tied else TokenEmbedding(source_size, config.embedding, scale=False)
    encoder = _encoder(config, source_embedding)
    features = _features(config)
    output = None
    if config.tie == "none":
        output = nn.Linear(features, target_size - 1, bias=False)
        nn.init.xavier_uniform_(output.weight)
    return Recurrent(
        encoder,
        _decoder(config, features),
        embedding,
        output,
        dropout=config.dropout,
        start_id=target_size - 1,
        end_id=end_id,
    )


def _needs_one_width(config: RecurrentConfig) -> bool:
    """A dot product compares vectors of one width: a linear layer brings two directions to that of the decoder."""
    return config.wiring != "fixed" and config.bidirectional and score_class(config.score).equal_sizes


def _features(config: RecurrentConfig) -> int:
    """Luong's h~ is as wide as the state; a readout, and whatever meets a tied embedding, as wide as that."""
    return config.hidden if config.wiring == "luong" and config.tie == "none" else config.embedding


def _encoder(config: RecurrentConfig, embedding: TokenEmbedding) -> RecurrentEncoder:
    layers = build_layers(
        config.cell,
        config.embedding,
        config.hidden,
        layers=config.encoder_layers,
        bidirectional=config.bidirectional,
        dropout=config.dropout,
    )
    narrow = nn.Linear(2 * config.hidden, config.hidden, bias=False) if _needs_one_width(config) else None
    return RecurrentEncoder(embedding, layers, narrow, dropout=config.dropout)


def _decoder(config: RecurrentConfig, features: int) -> RecurrentDecoder:
    summary = config.hidden * (2 if config.bidirectional else 1)
    context = config.hidden if _needs_one_width(config) else summary
    fed = {"fixed": context, "bahdanau": context, "luong": features if config.input_feeding else 0}[config.wiring]
    layers = build_layers(
        config.cell,
        config.embedding + fed,
        config.hidden,
        layers=config.decoder_layers,
        bidirectional=False,
        dropout=config.dropout,
    )
    cells = CellStack(layers, dropout=config.dropout)
    parts = KINDS[config.cell].state_parts
    bridge = Bridge(
        [nn.Linear(summary, config.decoder_layers * config.hidden) for _ in range(parts)], layers=config.decoder_layers
    )
    read = config.hidden + context + (0 if config.wiring == "luong" else config.embedding)
    readout = nn.Linear(read, features)
    if config.wiring == "fixed":
        return FixedDecoder(cells, bridge, readout=readout)
    score = build_score(config.score, config.hidden, context, config.score_size or config.hidden)
    if config.wiring == "bahdanau":
        return BahdanauDecoder(cells, bridge, score=score, readout=readout)
    if config.input_feeding:
        return InputFeedingDecoder(cells, bridge, score=score, readout=readout, fed_size=features)
    return LuongDecoder(cells, bridge, score=score, readout=readout)
