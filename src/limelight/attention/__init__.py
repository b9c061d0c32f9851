"""Attention: score, mask, softmax, sum."""

from limelight.attention.attend import attend
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import (
    Additive,
    Concat,
    Dot,
    General,
    ScaledDot,
    Score,
    build_score,
    dot,
    scaled_dot,
)

__all__ = [
    "Additive",
    "Concat",
    "Dot",
    "General",
    "MultiHeadAttention",
    "ScaledDot",
    "Score",
    "attend",
    "build_score",
    "dot",
    "scaled_dot",
]
