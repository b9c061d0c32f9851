"""Building blocks between attention and models: positions, embeddings, feed-forward networks, dropout."""

from limelight.layers.embedding import register_positions
from limelight.layers.feed_forward import FeedForward, GatedFeedForward, register_feed_forward
from limelight.layers.norm import RMSNorm, register_norm

__all__ = [
    "FeedForward",
    "GatedFeedForward",
    "RMSNorm",
    "register_feed_forward",
    "register_norm",
    "register_positions",
]
