"""From configuration to model: the one place that unpacks a model's section, so that modules take plain arguments."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import build_head_score
from limelight.config import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)
from limelight.errors import UserError
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import FeedForward
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from limelight.layers.sublayer import Sublayer
from limelight.models.interface import Model
from limelight.models.recurrent import build_recurrent
from limelight.models.recurrent.cells import CellStack, build_layers
from limelight.models.recurrent.language_model import RecurrentLanguageModel
from limelight.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer
from limelight.models.transformer.decoder_only import CausalLayer, CausalStack, DecoderOnly
from limelight.models.transformer.encoder_only import Classifier, MaskedModel
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import END

StackConfig = TransformerConfig | DecoderOnlyConfig | EncoderOnlyConfig


def build_model(config: ModelConfig, tokenizers: Tokenizers, labels: Sequence[str] = ()) -> Model:
    """A fresh model with random weights (from torch's global generator); with `labels` one that chooses among them.

    Raises `UserError` for impossible settings.
    """
    source_size, target_size = tokenizers.source.size, tokenizers.target.size
    match config:
        case TransformerConfig():
            _require_one_vocabulary(tokenizers, config.tie)
            return _build_transformer(config, source_size, target_size)
        case RecurrentConfig():
            _require_one_vocabulary(tokenizers, config.tie)
            return build_recurrent(config, source_size, target_size, end_id=END)
        case DecoderOnlyConfig():
            _require_one_text(tokenizers, config.family)
            return _build_decoder_only(config, target_size)
        case RecurrentLanguageModelConfig():
            _require_one_text(tokenizers, config.family)
            return _build_recurrent_language_model(config, target_size)
        case EncoderOnlyConfig():
            _require_one_text(tokenizers, config.family)
            return _build_encoder_only(config, target_size, labels)


def _require_one_vocabulary(tokenizers: Tokenizers, tie: str) -> None:
    if tie == "three-way" and not tokenizers.one_vocabulary:
        raise UserError(
            "model.tie=three-way shares one embedding between both languages and needs one vocabulary; "
            "set tokens.joint=true, or model.tie=two-way"
        )


def _require_one_text(tokenizers: Tokenizers, family: str) -> None:
    if not tokenizers.one_vocabulary:
        raise UserError(
            f"model.family={family} reads source and target as one text and needs one vocabulary; set tokens.joint=true"
        )


def _build_transformer(config: TransformerConfig, source_size: int, target_size: int) -> Transformer:
    target_embedding = TokenEmbedding(target_size, config.d_model, scale=True)
    tied = config.tie == "three-way"
    source_embedding = target_embedding if tied else TokenEmbedding(source_size, config.d_model, scale=True)
    output = None if config.tie != "none" else _output(config.d_model, target_size)
    encoder = _encoder(config, source_embedding, config.encoder_layers)
    decoder = Decoder(
        target_embedding,
        _positions(config),
        [_decoder_layer(config) for _ in range(config.decoder_layers)],
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config),
    )
    bias = nn.Parameter(torch.zeros(target_size - 1)) if config.output_bias else None
    return Transformer(encoder, decoder, output, output_bias=bias, start_id=target_size - 1, end_id=END)


def _build_encoder_only(config: EncoderOnlyConfig, size: int, labels: Sequence[str]) -> MaskedModel | Classifier:
    encoder = _encoder(config, TokenEmbedding(size, config.d_model, scale=True), config.layers)
    if not labels:
        return MaskedModel(encoder)
    return Classifier(encoder, labels, width=config.d_model, pooling=config.pooling, dropout=config.dropout)


def _build_decoder_only(config: DecoderOnlyConfig, size: int) -> DecoderOnly:
    layers = [_causal_layer(config) for _ in range(config.layers)]
    if config.norm == "pre":
        _shrink_addends(layers)
    # Learned positions are drawn as small as the embeddings and added as these are (Radford et al. 2018), sinusoids are
    # as large as embeddings times sqrt(d_model).
    decoder = CausalStack(
        TokenEmbedding(size, config.d_model, scale=config.positions != "learned"),
        _positions(config),
        layers,
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config),
    )
    return DecoderOnly(decoder, None if config.tie else _output(config.d_model, size), end_id=END)


def _build_recurrent_language_model(config: RecurrentLanguageModelConfig, size: int) -> RecurrentLanguageModel:
    narrows = config.tie and config.hidden != config.embedding
    return RecurrentLanguageModel(
        TokenEmbedding(size, config.embedding, scale=False),
        CellStack(_cells(config), dropout=config.dropout),
        nn.Linear(config.hidden, config.embedding) if narrows else None,
        None if config.tie else _output(config.hidden, size),
        dropout=config.dropout,
        end_id=END,
    )


def _cells(config: RecurrentLanguageModelConfig) -> nn.RNNBase:
    return build_layers(
        config.cell,
        config.embedding,
        config.hidden,
        layers=config.layers,
        bidirectional=False,
        dropout=config.dropout,
    )


def _output(width: int, size: int) -> nn.Linear:
    """The final linear layer: a class for each piece but padding."""
    output = nn.Linear(width, size - 1, bias=False)
    nn.init.xavier_uniform_(output.weight)
    return output


def _attention(config: StackConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        head_size=config.head_size,
        value_size=config.value_size,
        score=build_head_score(config.score, config.head_size or config.d_model // config.heads),
    )


def _feed_forward(config: StackConfig) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, activation=config.activation, dropout=config.dropout)


def _sublayer(config: StackConfig) -> Sublayer:
    return Sublayer(nn.LayerNorm(config.d_model), dropout=config.dropout, norm_first=config.norm == "pre")


def _encoder(config: TransformerConfig | EncoderOnlyConfig, embedding: TokenEmbedding, depth: int) -> Encoder:
    return Encoder(
        embedding,
        _positions(config),
        [_encoder_layer(config) for _ in range(depth)],
        dropout=config.dropout,
        norm=_last_norm(config),
        rotary=_rotary(config),
    )


def _encoder_layer(config: TransformerConfig | EncoderOnlyConfig) -> EncoderLayer:
    return EncoderLayer(
        _attention(config),
        _feed_forward(config),
        attention_sublayer=_sublayer(config),
        feed_forward_sublayer=_sublayer(config),
    )


def _causal_layer(config: DecoderOnlyConfig) -> CausalLayer:
    return CausalLayer(
        _attention(config),
        _feed_forward(config),
        attention_sublayer=_sublayer(config),
        feed_forward_sublayer=_sublayer(config),
    )


@torch.no_grad()
def _shrink_addends(layers: Sequence[CausalLayer]) -> None:
    """Let what two sums a layer add up to begin as large as one of them (Radford et al. 2019, section 2.3)."""
    for layer in layers:
        for addend in (layer.attention.out_proj, cast(FeedForward, layer.feed_forward).outer):
            addend.weight /= (2 * len(layers)) ** 0.5


def _decoder_layer(config: TransformerConfig) -> DecoderLayer:
    return DecoderLayer(
        _attention(config),
        _attention(config),
        _feed_forward(config),
        attention_sublayer=_sublayer(config),
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


def count_parameters(model: nn.Module) -> int:
    """Trained numbers, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def choose_device(name: str, *, setting: str = "training.device=") -> torch.device:
    """The device of that name: `cpu`, `cuda` (the current GPU), `cuda:N`, `mps`, or `auto`.

    `auto` takes a CUDA GPU where there is one, and the CPU else. Apple's GPU (`mps`) has to be asked for by name:
    nothing has been measured on one.

    Args:
        setting: how whoever calls was told the name, for messages: `--device ` on the command line.

    Raises `UserError` for another name, and for a device that is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type == "cuda":
        _require_gpu(name, device.index or 0, setting)
    elif device.type == "mps":
        if device.index or not torch.backends.mps.is_available():
            raise UserError(
                f"{setting}{name}, but torch finds no such Apple GPU here; use {setting}cpu or {setting}auto"
            )
    elif name != "cpu":
        raise UserError(f"{setting}{name}: there is no such device; there are auto, cpu, cuda, cuda:N and mps")
    return device


def _require_gpu(name: str, index: int, setting: str) -> None:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        why = "" if torch.backends.cuda.is_built() else ": this build of torch is for the CPU alone"
        raise UserError(f"{setting}{name}, but torch finds no CUDA device here{why}; use {setting}cpu or {setting}auto")
    if index >= count:
        there = "there is cuda:0 alone" if count == 1 else f"there are cuda:0 to cuda:{count - 1}"
        raise UserError(f"{setting}{name}, but {there}")
