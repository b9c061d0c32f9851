"""Two scores that see positions: `limelight --plugin examples/scores.py train ... --set model.score=alibi`.

With them a model needs no other positions: `--set model.positions=none`.
"""

import math

import torch
from torch import Tensor, nn

from limelight.attention import PositionalScore, dot, register_score, scaled_dot


@register_score("alibi")
class Alibi(PositionalScore):
    """q_i . k_j / sqrt(d) - m_h |i - j| with m_h = 2^(-8 h / H) for head h of H (Press et al. 2022, section 3)."""

    in_cross_attention = False

    def compare_at(self, queries: Tensor, prepared: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        heads = queries.shape[1] if queries.dim() == 4 else 1  # a recurrent model has no axis of heads
        slopes = 2.0 ** (-8 / heads * torch.arange(1, heads + 1, device=queries.device))
        distance = (query_positions - key_positions).abs()
        return scaled_dot(queries, prepared) - (slopes[:, None, None] * distance).to(queries.dtype)


@register_score("relative")
class Relative(PositionalScore):
    """q_i . (k_j + r_{j - i}) / sqrt(d) with a learned vector for each distance (Shaw et al. 2018, equation 4)."""

    in_cross_attention = False
    farthest = 16

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.vectors = nn.Parameter(torch.randn(2 * self.farthest + 1, key_size) / math.sqrt(key_size))

    def compare_at(self, queries: Tensor, prepared: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        distance = (key_positions - query_positions).clamp(-self.farthest, self.farthest) + self.farthest
        scores = dot(queries, prepared)
        of_distances = dot(queries, self.vectors).gather(-1, distance.expand_as(scores))
        return (scores + of_distances) / math.sqrt(queries.shape[-1])
