"""Building blocks between attention and models: positions, embeddings, feed-forward networks, dropout."""

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
