"""The Transformer: layers, stacks, decoder states and complete models."""

from limelight.models.transformer.layers import CrossAttentionLayer, DecoderLayer, EncoderLayer, Layer, SourceView
from limelight.models.transformer.model import (
    Decoder,
    DecoderState,
    Encoder,
    Stack,
    Transformer,
    TransformerMemory,
    TransformerState,
)
from limelight.models.transformer.ssru import SSRU, SSRUDecoder, SSRULayer

__all__ = [
    "SSRU",
    "CrossAttentionLayer",
    "Decoder",
    "DecoderLayer",
    "DecoderState",
    "Encoder",
    "EncoderLayer",
    "Layer",
    "SSRUDecoder",
    "SSRULayer",
    "SourceView",
    "Stack",
    "Transformer",
    "TransformerMemory",
    "TransformerState",
]
