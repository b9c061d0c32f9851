"""Building blocks between attention and models: positions, embeddings, feed-forward networks, dropout."""

from limelight.layers.embedding import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    register_positions,
    sinusoids,
)
from limelight.layers.feed_forward import Dropout, FeedForward, GatedFeedForward, register_feed_forward
from limelight.layers.norm import RMSNorm, register_norm

__all__ = [
    "Dropout",
    "FeedForward",
    "GatedFeedForward",
    "LearnedPositions",
    "RMSNorm",
    "RotaryPositions",
    "SinusoidalPositions",
    "TokenEmbedding",
    "register_feed_forward",
    "register_norm",
    "register_positions",
    "sinusoids",
]
