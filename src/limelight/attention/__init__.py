"""Attention: score, mask, softmax, sum."""

from limelight.attention.attend import attend
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import Dot, PositionalScore, Score, dot, register_score, scaled_dot

__all__ = ["Dot", "MultiHeadAttention", "PositionalScore", "Score", "attend", "dot", "register_score", "scaled_dot"]
