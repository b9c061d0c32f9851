"""The parts between attention and a model: positions, embeddings, feed-forward, residuals, dropout."""

from limelight.layers.dropout import Dropout
from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import FeedForward
from limelight.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions, sinusoids

__all__ = [
    "Dropout",
    "FeedForward",
    "LearnedPositions",
    "RotaryPositions",
    "SinusoidalPositions",
    "TokenEmbedding",
    "sinusoids",
]
