"""Build Transformers from their configuration: encoder-decoder, decoder-only and encoder-only."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import build_head_score
from limelight.config import DecoderOnlyConfig, EncoderOnlyConfig, TransformerConfig
from limelight.config.models import FEED_FORWARDS, NORMS, POSITIONS, SCORES
from limelight.layers.embedding import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    output_layer,
)
from limelight.models.transformer.halves import Classifier, DecoderOnly, MaskedModel
from limelight.models.transformer.layers import Layer, Sublayer
from limelight.models.transformer.model import Stack, Transformer
from limelight.models.transformer.ssru import SSRU, SSRULayer

StackConfig = TransformerConfig | DecoderOnlyConfig | EncoderOnlyConfig


def build_transformer(
    config: TransformerConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> Transformer:
    """A new encoder-decoder. Sizes count all ids of a vocabulary, padding included; `labels` are ignored."""
    target_embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    tied = config.tie == "three-way"
    source_embedding = target_embedding if tied else TokenEmbedding(source_size, config.d_model, scale=True)
    output = None if config.tie != "none" else output_layer(config.d_model, target_size)
    encoder = _stack(config, source_embedding, [_layer(config) for _ in range(config.encoder_layers)])
    attentive = config.decoder_autoreg == "self-attention"
    make = partial(_layer, cross=True) if attentive else _ssru_layer
    decoder = _stack(config, target_embedding, [make(config) for _ in range(config.decoder_layers)], rotates=attentive)
    bias = nn.Parameter(torch.zeros(target_size - 1)) if config.output_bias else None
    return Transformer(encoder, decoder, output, output_bias=bias)


def build_encoder_only(
    config: EncoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str]
) -> MaskedModel | Classifier:
    """A new encoder-only model: a classifier if `labels` are given, else a masked model."""
    embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    encoder = _stack(config, embedding, [_layer(config) for _ in range(config.layers)])
    if not labels:
        return MaskedModel(encoder)
    return Classifier(encoder, labels, width=config.d_model, pooling=config.pooling, dropout=config.dropout)


def build_decoder_only(
    config: DecoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str]
) -> DecoderOnly:
    """A new decoder-only model."""
    layers = [_layer(config) for _ in range(config.layers)]
    if config.norm == "pre":
        _scale_residual_projections(layers)
    # Learned positions have the scale of unscaled embeddings (Radford et al. 2018); sinusoids have the scale of
    # embeddings times sqrt(d_model).
    embedding = TokenEmbedding(target_size, config.d_model, scale=config.positions != "learned")
    decoder = _stack(config, embedding, layers)
    return DecoderOnly(decoder, None if config.tie else output_layer(config.d_model, target_size))


def _stack(config: StackConfig, embedding: TokenEmbedding, layers: Sequence[Layer], *, rotates: bool = True) -> Stack:
    positions = POSITIONS.find(config.positions)(config)
    turns = isinstance(positions, RotaryPositions)
    return Stack(
        embedding,
        None if turns else positions,
        layers,
        dropout=config.dropout,
        norm=_norm(config) if config.norm == "pre" else None,
        rotary=positions if turns and rotates else None,
    )


def _layer(config: StackConfig, *, cross: bool = False) -> Layer:
    attention, across = _attention(config), _attention(config, cross=True) if cross else None
    return Layer(attention, _feed_forward(config), partial(_sublayer, config), cross_attention=across)


def _ssru_layer(config: TransformerConfig) -> SSRULayer:
    ssru, across = SSRU(config.d_model), _attention(config, cross=True)
    return SSRULayer(ssru, across, _feed_forward(config), partial(_sublayer, config))


def _attention(config: StackConfig, *, cross: bool = False) -> MultiHeadAttention:
    score = config.score if not cross or SCORES.find(config.score).in_cross_attention else "scaled_dot"
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        kv_heads=config.kv_heads,
        head_size=config.head_size,
        value_size=config.value_size,
        score=build_head_score(score, _head_size(config)),
    )


def _feed_forward(config: StackConfig) -> nn.Module:
    make = FEED_FORWARDS.find(config.feed_forward)
    return make(config.d_model, config.d_ff, activation=config.activation, dropout=config.dropout)


def _norm(config: StackConfig) -> nn.Module:
    return NORMS.find(config.norm_type)(config.d_model)


def _sublayer(config: StackConfig) -> Sublayer:
    return Sublayer(_norm(config), dropout=config.dropout, norm_first=config.norm == "pre")


@torch.no_grad()
def _scale_residual_projections(layers: Sequence[Layer]) -> None:
    """Scale the last projection of each sub-layer by 1 / sqrt(2 N) for N layers (Radford et al. 2019, section 2.3);
    in feed-forward networks it is called `outer`."""
    for layer in layers:
        for projection in (layer.attention.out_proj, getattr(layer.feed_forward, "outer", None)):
            if projection is not None:
                projection.weight /= (2 * len(layers)) ** 0.5


def sinusoidal(config: StackConfig) -> SinusoidalPositions:
    """Positions as in the paper."""
    return SinusoidalPositions(layout=config.sinusoid_layout)


def learned(config: StackConfig) -> LearnedPositions:
    """One trained vector per position."""
    return LearnedPositions(config.d_model, longest=config.max_positions)


def rotary(config: StackConfig) -> RotaryPositions:
    """Positions as rotations of queries and keys."""
    return RotaryPositions(_head_size(config))


def without_positions(config: StackConfig) -> None:
    """No positions: for scores that see them, and for decoders, whose masks tell them the order."""


def _head_size(config: StackConfig) -> int:
    return config.head_size or config.d_model // config.heads
