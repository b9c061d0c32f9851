"""The Transformer: layers, stacks, decoder states and complete models."""

from limelight.models.transformer.layers import DecoderLayer, EncoderLayer, Layer, SourceView
from limelight.models.transformer.model import (
    Decoder,
    DecoderState,
    Encoder,
    Stack,
    Transformer,
    TransformerMemory,
    TransformerState,
)

__all__ = [
    "Decoder",
    "DecoderLayer",
    "DecoderState",
    "Encoder",
    "EncoderLayer",
    "Layer",
    "SourceView",
    "Stack",
    "Transformer",
    "TransformerMemory",
    "TransformerState",
]
