"""Build recurrent models from their configuration."""

from collections.abc import Sequence

from torch import nn

from limelight.attention.scores import build_score
from limelight.config import RecurrentConfig
from limelight.config.models import SCORES
from limelight.layers.embedding import TokenEmbedding, output_layer
from limelight.models.recurrent.cells import KINDS, CellStack, build_layers
from limelight.models.recurrent.model import (
    BahdanauDecoder,
    Bridge,
    LuongDecoder,
    Recurrent,
    RecurrentDecoder,
    RecurrentEncoder,
)
from limelight.tokens.tokenizer import END


def build_recurrent(
    config: RecurrentConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> Recurrent:
    """A new encoder-decoder with random weights. Sizes count all ids of a vocabulary, padding included."""
    embedding = TokenEmbedding(target_size, config.embedding, scale=False)
    tied = config.tie == "three-way"
    source_embedding = embedding if tied else TokenEmbedding(source_size, config.embedding, scale=False)
    encoder = _encoder(config, source_embedding)
    features = _features(config)
    output = output_layer(features, target_size) if config.tie == "none" else None
    return Recurrent(
        encoder,
        _decoder(config, features),
        embedding,
        output,
        dropout=config.dropout,
        start_id=target_size - 1,
        end_id=END,
    )


def _layers(config: RecurrentConfig, inputs: int, layers: int, *, bidirectional: bool = False) -> nn.RNNBase:
    return build_layers(
        config.cell, inputs, config.hidden, layers=layers, bidirectional=bidirectional, dropout=config.dropout
    )


def _needs_one_width(config: RecurrentConfig) -> bool:
    """Whether a linear layer must bring a bidirectional encoder to the decoder's width, as a dot product requires."""
    return config.wiring != "fixed" and config.bidirectional and bool(SCORES.find(config.score).equal_sizes)


def _features(config: RecurrentConfig) -> int:
    """Width of the features: the state's for Luong's h~ without tying, else the embedding width."""
    return config.hidden if config.wiring == "luong" and config.tie == "none" else config.embedding


def _encoder(config: RecurrentConfig, embedding: TokenEmbedding) -> RecurrentEncoder:
    layers = _layers(config, config.embedding, config.encoder_layers, bidirectional=config.bidirectional)
    narrow = nn.Linear(2 * config.hidden, config.hidden, bias=False) if _needs_one_width(config) else None
    return RecurrentEncoder(embedding, layers, narrow, dropout=config.dropout)


def _decoder(config: RecurrentConfig, features: int) -> RecurrentDecoder:
    summary = config.hidden * (2 if config.bidirectional else 1)
    context = config.hidden if _needs_one_width(config) else summary
    fed = {"fixed": context, "bahdanau": context, "luong": features if config.input_feeding else 0}[config.wiring]
    cells = CellStack(_layers(config, config.embedding + fed, config.decoder_layers), dropout=config.dropout)
    parts = KINDS[config.cell].state_parts
    bridge = Bridge(
        [nn.Linear(summary, config.decoder_layers * config.hidden) for _ in range(parts)], layers=config.decoder_layers
    )
    read = config.hidden + context + (0 if config.wiring == "luong" else config.embedding)
    readout = nn.Linear(read, features)
    score = None
    if config.wiring != "fixed":
        score = build_score(config.score, config.hidden, context, config.score_size or config.hidden)
    if config.wiring == "luong":
        return LuongDecoder(cells, bridge, score=score, readout=readout, fed_size=fed)
    return BahdanauDecoder(cells, bridge, score=score, readout=readout)
