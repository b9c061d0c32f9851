"""Build recurrent models from their configuration."""

from collections.abc import Sequence
from functools import partial

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
    RecurrentEncoder,
)


def build_recurrent(config: RecurrentConfig, source_size: int, target_size: int, labels: Sequence[str]) -> Recurrent:
    """A new encoder-decoder with random weights. Sizes count all ids of a vocabulary, padding included."""
    hidden, attends, is_luong = config.hidden, config.wiring != "fixed", config.wiring == "luong"
    summary = 2 * hidden if config.bidirectional else hidden
    # A dot product requires keys of the decoder's width, to which a linear layer brings a bidirectional encoder.
    narrows = attends and config.bidirectional and SCORES.find(config.score).equal_sizes
    context = hidden if narrows else summary
    # Features have the width of the embedding, or of the state for Luong's h~ without tying.
    features = hidden if is_luong and config.tie == "none" else config.embedding
    fed = features * config.input_feeding if is_luong else context
    layers = partial(build_layers, config.cell, hidden=hidden, bidirectional=False, dropout=config.dropout)

    embedding = TokenEmbedding(target_size, config.embedding, scale=False)
    tied = config.tie == "three-way"
    source_embedding = embedding if tied else TokenEmbedding(source_size, config.embedding, scale=False)
    reader = layers(config.embedding, layers=config.encoder_layers, bidirectional=config.bidirectional)
    narrow = nn.Linear(summary, hidden, bias=False) if narrows else None
    encoder = RecurrentEncoder(source_embedding, reader, narrow, dropout=config.dropout)
    output = output_layer(features, target_size) if config.tie == "none" else None

    cells = CellStack(layers(config.embedding + fed, layers=config.decoder_layers), dropout=config.dropout)
    parts = [nn.Linear(summary, config.decoder_layers * hidden) for _ in range(KINDS[config.cell].state_parts)]
    bridge = Bridge(parts, layers=config.decoder_layers)
    readout = nn.Linear(hidden + context + (0 if is_luong else config.embedding), features)
    score = build_score(config.score, hidden, context, config.score_size or hidden) if attends else None
    kind = LuongDecoder if is_luong else BahdanauDecoder
    decoder = kind(cells, bridge, score=score, readout=readout, fed_size=fed if is_luong else 0)
    return Recurrent(encoder, decoder, embedding, output, dropout=config.dropout)
