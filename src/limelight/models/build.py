"""From configuration to model: the one place that unpacks a model's section, so that modules take plain arguments."""

import torch
from torch import nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.config import ModelConfig, RecurrentConfig, TransformerConfig
from limelight.errors import UserError
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import FeedForward
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from limelight.models.interface import Seq2Seq
from limelight.models.recurrent import build_recurrent
from limelight.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import END


def build_model(config: ModelConfig, tokenizers: Tokenizers) -> Seq2Seq:
    """A fresh model with random weights (from torch's global generator). Raises `UserError` for impossible settings."""
    if config.tie == "three-way" and not tokenizers.one_vocabulary:
        raise UserError(
            "model.tie=three-way shares one embedding between both languages and needs one vocabulary; "
            "set tokens.joint=true, or model.tie=two-way"
        )
    if isinstance(config, RecurrentConfig):
        return build_recurrent(config, tokenizers.source.size, tokenizers.target.size, end_id=END)
    return _build_transformer(config, tokenizers.source.size, tokenizers.target.size)


def _build_transformer(config: TransformerConfig, source_size: int, target_size: int) -> Transformer:
    target_embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    tied = config.tie == "three-way"
    source_embedding = target_embedding if tied else TokenEmbedding(source_size, config.d_model, scale=True)
    output = None
    if config.tie == "none":
        output = nn.Linear(config.d_model, target_size - 1, bias=False)
        nn.init.xavier_uniform_(output.weight)

    pre = config.norm == "pre"
    encoder = Encoder(
        source_embedding,
        _positions(config),
        [_encoder_layer(config) for _ in range(config.encoder_layers)],
        dropout=config.dropout,
        norm=nn.LayerNorm(config.d_model) if pre else None,
        rotary=_rotary(config),
    )
    decoder = Decoder(
        target_embedding,
        _positions(config),
        [_decoder_layer(config) for _ in range(config.decoder_layers)],
        dropout=config.dropout,
        norm=nn.LayerNorm(config.d_model) if pre else None,
        rotary=_rotary(config),
    )
    bias = nn.Parameter(torch.zeros(target_size - 1)) if config.output_bias else None
    return Transformer(encoder, decoder, output, output_bias=bias, start_id=target_size - 1, end_id=END)


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.heads, head_size=config.head_size)


def _feed_forward(config: TransformerConfig) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, activation=config.activation, dropout=config.dropout)


def _encoder_layer(config: TransformerConfig) -> EncoderLayer:
    return EncoderLayer(
        _attention(config),
        _feed_forward(config),
        d_model=config.d_model,
        dropout=config.dropout,
        norm_first=config.norm == "pre",
    )


def _decoder_layer(config: TransformerConfig) -> DecoderLayer:
    return DecoderLayer(
        _attention(config),
        _attention(config),
        _feed_forward(config),
        d_model=config.d_model,
        dropout=config.dropout,
        norm_first=config.norm == "pre",
    )


def _positions(config: TransformerConfig) -> SinusoidalPositions | LearnedPositions | None:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.d_model, layout=config.sinusoid_layout)
    if config.positions == "learned":
        return LearnedPositions(config.d_model, longest=config.max_positions)
    return None


def _rotary(config: TransformerConfig) -> RotaryPositions | None:
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.head_size or config.d_model // config.heads)


def count_parameters(model: nn.Module) -> int:
    """Trained numbers, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU where there is one. Raises `UserError` when CUDA is asked for and there is none."""
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("training.device=cuda, but torch finds no CUDA device here; set training.device=cpu or auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
