"""Build Transformers from their configuration: encoder-decoder, decoder-only and encoder-only."""

from collections.abc import Sequence
from typing import TypeVar, cast

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
from limelight.models.transformer.halves import CausalLayer, CausalStack, Classifier, DecoderOnly, MaskedModel
from limelight.models.transformer.layers import DecoderLayer, EncoderLayer, Sublayer
from limelight.models.transformer.model import Decoder, Encoder, Transformer
from limelight.models.transformer.ssru import SSRU, SSRUDecoder, SSRULayer
from limelight.tokens.tokenizer import END

StackConfig = TransformerConfig | DecoderOnlyConfig | EncoderOnlyConfig
LayerT = TypeVar("LayerT", EncoderLayer, CausalLayer)


def build_transformer(
    config: TransformerConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> Transformer:
    """A new encoder-decoder. Sizes count all ids of a vocabulary, padding included; `labels` are ignored."""
    target_embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    tied = config.tie == "three-way"
    source_embedding = target_embedding if tied else TokenEmbedding(source_size, config.d_model, scale=True)
    output = None if config.tie != "none" else output_layer(config.d_model, target_size)
    encoder = _encoder(config, source_embedding, config.encoder_layers)
    decoder = _decoder(config, target_embedding)
    bias = nn.Parameter(torch.zeros(target_size - 1)) if config.output_bias else None
    return Transformer(encoder, decoder, output, output_bias=bias, start_id=target_size - 1, end_id=END)


def build_encoder_only(
    config: EncoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> MaskedModel | Classifier:
    """A new encoder-only model: a classifier if `labels` are given, else a masked model."""
    encoder = _encoder(config, TokenEmbedding(target_size, config.d_model, scale=True), config.layers)
    if not labels:
        return MaskedModel(encoder)
    return Classifier(encoder, labels, width=config.d_model, pooling=config.pooling, dropout=config.dropout)


def build_decoder_only(
    config: DecoderOnlyConfig, source_size: int, target_size: int, labels: Sequence[str] = ()
) -> DecoderOnly:
    """A new decoder-only model."""
    layers = [_self_attention_layer(CausalLayer, config) for _ in range(config.layers)]
    if config.norm == "pre":
        _scale_residual_projections(layers)
    # Learned positions have the scale of unscaled embeddings (Radford et al. 2018); sinusoids have the scale of
    # embeddings times sqrt(d_model).
    decoder = CausalStack(
        TokenEmbedding(target_size, config.d_model, scale=config.positions != "learned"),
        _positions(config),
        layers,
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config),
    )
    return DecoderOnly(decoder, None if config.tie else output_layer(config.d_model, target_size), end_id=END)


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


def _encoder(config: TransformerConfig | EncoderOnlyConfig, embedding: TokenEmbedding, depth: int) -> Encoder:
    return Encoder(
        embedding,
        _positions(config),
        [_self_attention_layer(EncoderLayer, config) for _ in range(depth)],
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config),
    )


def _self_attention_layer(kind: type[LayerT], config: StackConfig) -> LayerT:
    return kind(
        _attention(config),
        _feed_forward(config),
        attention_sublayer=_sublayer(config),
        feed_forward_sublayer=_sublayer(config),
    )


@torch.no_grad()
def _scale_residual_projections(layers: Sequence[CausalLayer]) -> None:
    """Scale the last projection of each sub-layer by 1 / sqrt(2 N) for N layers (Radford et al. 2019, section 2.3)."""
    for layer in layers:
        for projection in (layer.attention.out_proj, cast(FeedForward, layer.feed_forward).outer):
            projection.weight /= (2 * len(layers)) ** 0.5


def _decoder(config: TransformerConfig, embedding: TokenEmbedding) -> Decoder:
    attentive = config.decoder_autoreg == "self-attention"
    kind, layer = (Decoder, _decoder_layer) if attentive else (SSRUDecoder, _ssru_layer)
    return kind(
        embedding,
        _positions(config),
        [layer(config) for _ in range(config.decoder_layers)],
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config) if attentive else None,
    )


def _decoder_layer(config: TransformerConfig) -> DecoderLayer:
    return DecoderLayer(
        _attention(config),
        _attention(config, cross=True),
        _feed_forward(config),
        attention_sublayer=_sublayer(config),
        cross_sublayer=_sublayer(config),
        feed_forward_sublayer=_sublayer(config),
    )


def _ssru_layer(config: TransformerConfig) -> SSRULayer:
    return SSRULayer(
        SSRU(config.d_model),
        _attention(config, cross=True),
        _feed_forward(config),
        ssru_sublayer=_sublayer(config),
        cross_sublayer=_sublayer(config),
        feed_forward_sublayer=_sublayer(config),
    )


def _last_norm(config: StackConfig) -> nn.LayerNorm | None:
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else None


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
