"""Attention: score, mask, softmax, sum."""

from limelight.attention.attend import Attend, attend
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import (
    Additive,
    Concat,
    Dot,
    General,
    PositionalScore,
    ScaledDot,
    Score,
    build_score,
    dot,
    register_score,
    scaled_dot,
)

__all__ = [
    "Additive",
    "Attend",
    "Concat",
    "Dot",
    "General",
    "MultiHeadAttention",
    "PositionalScore",
    "ScaledDot",
    "Score",
    "attend",
    "build_score",
    "dot",
    "register_score",
    "scaled_dot",
]
