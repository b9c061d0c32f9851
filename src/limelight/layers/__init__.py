"""The parts between attention and a model: positions, embeddings, feed-forward, residuals, dropout."""

from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, TokenEmbedding, sinusoids
from limelight.layers.feed_forward import Dropout, FeedForward

__all__ = [
    "Dropout",
    "FeedForward",
    "LearnedPositions",
    "RotaryPositions",
    "SinusoidalPositions",
    "TokenEmbedding",
    "sinusoids",
]
