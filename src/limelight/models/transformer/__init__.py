"""The Transformer: layers, stacks, decoder states and complete models."""

from limelight.models.cache import SourceView
from limelight.models.transformer.layers import Layer, Sublayer
from limelight.models.transformer.model import Stack, Transformer, TransformerMemory, TransformerState
from limelight.models.transformer.ssru import SSRU, SSRULayer

__all__ = [
    "SSRU",
    "Layer",
    "SSRULayer",
    "SourceView",
    "Stack",
    "Sublayer",
    "Transformer",
    "TransformerMemory",
    "TransformerState",
]
