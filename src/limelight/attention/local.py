"""Local attention (Luong et al. 2015, section 3.2): each query attends to a window of source positions.

The window has 2 D + 1 positions around p_t, and within it keys are compared by `general` (equation 8):

    local-m    p_t = t                                        the translation is about as long as its source
    local-p    p_t = S sigmoid(v . tanh(W h_t))               equation 9, for S source positions
               a_t(s) = align(h_t, h_s) exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2               equation 10

A target longer than its source by more than D would have windows without source positions: `local_m` takes the last
position as p_t then.
"""

import torch
from torch import Tensor, nn

from limelight.attention.scores import General, PositionalScore, dot
from limelight.shapes import Float, Int


class LocalMonotonic(PositionalScore, General):
    """`general` within `window` positions (D) of the query's own position, and no other keys."""

    window = 10

    def centers(
        self, queries: Float[Tensor, "... query size"], positions: Int[Tensor, "... query 1"], last: Int[Tensor, "..."]
    ) -> Tensor:
        """(..., query, 1) p_t of each query; `last` is the last position of the keys."""
        return torch.minimum(positions, last)

    def compare_at(self, queries: Tensor, prepared: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        centers = self.centers(queries, query_positions, key_positions.amax(dim=-1, keepdim=True))
        scores = dot(queries, prepared)
        outside = (key_positions - centers).abs() > self.window
        return scores.masked_fill(outside, torch.finfo(scores.dtype).min / 4)


class LocalPredictive(LocalMonotonic):
    """The same around a predicted position, with a Gaussian around it (equations 9 and 10)."""

    in_self_attention = False

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.position_proj = nn.Linear(query_size, hidden, bias=False)
        self.position = nn.Linear(hidden, 1, bias=False)

    def centers(self, queries: Tensor, positions: Tensor, last: Tensor) -> Tensor:
        # The product in fp32: bf16 has integers up to 256 only.
        return (last + 1).float() * self.position(torch.tanh(self.position_proj(queries))).sigmoid()

    def factors(self, queries: Tensor, prepared: Tensor) -> Tensor:
        content, query_positions = self.split(queries)
        key_positions = self.split(prepared)[1].unsqueeze(-2)
        centers = self.centers(content, query_positions.unsqueeze(-1), key_positions.amax(dim=-1, keepdim=True))
        return torch.exp(-2 * ((key_positions - centers) / self.window) ** 2).to(queries.dtype)  # sigma = D / 2
