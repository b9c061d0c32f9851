"""Building blocks between attention and models: positions, embeddings, feed-forward networks, dropout."""

from limelight.config.models import FEED_FORWARDS, NORMS, POSITIONS
from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, TokenEmbedding, sinusoids
from limelight.layers.feed_forward import Dropout, FeedForward, GatedFeedForward
from limelight.layers.norm import RMSNorm

register_norm, register_feed_forward, register_positions = NORMS.register, FEED_FORWARDS.register, POSITIONS.register
"""Decorators that add a part of a Transformer by the name that `model.norm_type`, `feed_forward` or `positions` has."""

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
