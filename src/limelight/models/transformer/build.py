"""Build Transformers from their configuration: encoder-decoder, decoder-only and encoder-only."""

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch import nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import build_head_score, score_class
from limelight.config import DecoderOnlyConfig, EncoderOnlyConfig, TransformerConfig
from limelight.layers.embedding import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    output_layer,
)
from limelight.layers.feed_forward import FeedForward
from limelight.models.transformer.halves import Classifier, DecoderOnly, MaskedModel
from limelight.models.transformer.layers import Layer, Sublayer
from limelight.models.transformer.model import Stack, Transformer
from limelight.models.transformer.ssru import SSRU, SSRULayer
from limelight.tokens.tokenizer import END

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
    return Transformer(encoder, decoder, output, output_bias=bias, start_id=target_size - 1, end_id=END)


def build_encoder_only(
    config: EncoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> MaskedModel | Classifier:
    """A new encoder-only model: a classifier if `labels` are given, else a masked model."""
    embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    encoder = _stack(config, embedding, [_layer(config) for _ in range(config.layers)])
    if not labels:
        return MaskedModel(encoder)
    return Classifier(encoder, labels, width=config.d_model, pooling=config.pooling, dropout=config.dropout)


def build_decoder_only(
    config: DecoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> DecoderOnly:
    """A new decoder-only model."""
    layers = [_layer(config) for _ in range(config.layers)]
    if config.norm == "pre":
        _scale_residual_projections(layers)
    # Learned positions have the scale of unscaled embeddings (Radford et al. 2018); sinusoids have the scale of
    # embeddings times sqrt(d_model).
    embedding = TokenEmbedding(target_size, config.d_model, scale=config.positions != "learned")
    decoder = _stack(config, embedding, layers)
    return DecoderOnly(decoder, None if config.tie else output_layer(config.d_model, target_size), end_id=END)


def _stack(config: StackConfig, embedding: TokenEmbedding, layers: Sequence[Layer], *, rotates: bool = True) -> Stack:
    return Stack(
        embedding,
        _positions(config),
        layers,
        dropout=config.dropout,
        norm=nn.LayerNorm(config.d_model) if config.norm == "pre" else None,
        rotary=_rotary(config) if rotates else None,
    )


def _layer(config: StackConfig, *, cross: bool = False) -> Layer:
    attention, across = _attention(config), _attention(config, cross=True) if cross else None
    return Layer(attention, _feed_forward(config), partial(_sublayer, config), cross_attention=across)


def _ssru_layer(config: TransformerConfig) -> SSRULayer:
    ssru, across = SSRU(config.d_model), _attention(config, cross=True)
    return SSRULayer(ssru, across, _feed_forward(config), partial(_sublayer, config))


def _attention(config: StackConfig, *, cross: bool = False) -> MultiHeadAttention:
    score = config.score if not cross or score_class(config.score).in_cross_attention else "scaled_dot"
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        head_size=config.head_size,
        value_size=config.value_size,
        score=build_head_score(score, config.head_size or config.d_model // config.heads),
    )


def _feed_forward(config: StackConfig) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, activation=config.activation, dropout=config.dropout)


def _sublayer(config: StackConfig) -> Sublayer:
    return Sublayer(nn.LayerNorm(config.d_model), dropout=config.dropout, norm_first=config.norm == "pre")


@torch.no_grad()
def _scale_residual_projections(layers: Sequence[Layer]) -> None:
    """Scale the last projection of each sub-layer by 1 / sqrt(2 N) for N layers (Radford et al. 2019, section 2.3)."""
    for layer in layers:
        for projection in (layer.attention.out_proj, cast(FeedForward, layer.feed_forward).outer):
            projection.weight /= (2 * len(layers)) ** 0.5


def _positions(config: StackConfig) -> SinusoidalPositions | LearnedPositions | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model, layout=config.sinusoid_layout)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, longest=config.max_positions)
    return None


def _rotary(config: StackConfig) -> RotaryPositions | None:
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.head_size or config.d_model // config.heads)
