"""The Transformer: its layers, the stacks of them, what it carries from step to step, and the whole model."""

from limelight.models.transformer.layers import DecoderLayer, EncoderLayer, SourceView
from limelight.models.transformer.model import Transformer
from limelight.models.transformer.stacks import Decoder, Encoder
from limelight.models.transformer.state import TransformerMemory, TransformerState

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "SourceView",
    "Transformer",
    "TransformerMemory",
    "TransformerState",
]
