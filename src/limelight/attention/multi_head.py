"""Multi-head attention: project, split, attend, merge, project (Vaswani et al. 2017, section 3.2.2).

Self-attention, masked self-attention and cross-attention are uses of this one module: they differ only in the source of
the keys and in the mask.
"""

from collections.abc import Callable

from torch import Tensor, nn

from limelight.attention.attend import Attend, Mask
from limelight.attention.scores import ScaledDot, Score
from limelight.errors import UserError
from limelight.shapes import Float, Int

Rotate = Callable[[Tensor], Tensor]


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1 ... head_h) W_O with head_i = attend(Q W_Qi, K W_Ki, V W_Vi).

    Args:
        d_model: width of inputs and outputs.
        heads: number of heads; must divide `d_model` unless `head_size` is given.
        kv_heads: number of heads of keys and values, each for a group of `heads / kv_heads` query heads (Ainslie et al.
            2023, "GQA"); `heads` by default.
        head_size: width of a head's queries and keys (d_k in the paper); `d_model / heads` by default.
        value_size: width of a head's values (d_v); `head_size` by default.
        score: compares queries with keys in every head, with the same weights; `ScaledDot` by default.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_size: int | None = None,
        value_size: int | None = None,
        score: Score | None = None,
    ) -> None:
        super().__init__()
        if head_size is None and d_model % heads:
            raise UserError(f"d_model={d_model} cannot be split over heads={heads}; take a divisor or set head_size")
        self.heads, self.kv_heads = heads, kv_heads or heads
        if heads % self.kv_heads:
            raise UserError(f"heads={heads} cannot share kv_heads={kv_heads} in equal groups; take a divisor")
        self.head_size = head_size or d_model // heads
        self.value_size = value_size or self.head_size
        self.score = score or ScaledDot(self.head_size, self.head_size, 0)
        self.attend = Attend()
        self.query_proj = nn.Linear(d_model, heads * self.head_size)
        self.key_proj = nn.Linear(d_model, self.kv_heads * self.head_size)
        self.value_proj = nn.Linear(d_model, self.kv_heads * self.value_size)
        self.out_proj = nn.Linear(heads * self.value_size, d_model)
        # Xavier initialization of the three input projections as one matrix, as in the paper's code.
        for projection in (self.query_proj, self.key_proj, self.value_proj, self.out_proj):
            nn.init.xavier_uniform_(projection.weight, gain=1.0 if projection is self.out_proj else 2**-0.5)
            nn.init.zeros_(projection.bias)

    def project_queries(
        self,
        inputs: Float[Tensor, "batch query model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch heads query query_size"]:
        """The queries of each head, rotated by their positions if `rotate` is given (rotary positions).

        A `PositionalScore` sees `positions`, by default 0, 1, ...; for others `query_size` is `head_size`.
        """
        queries = self._split(self.query_proj(inputs), self.heads)
        return self.score.with_positions(queries if rotate is None else rotate(queries), positions)

    def project_memory(
        self,
        memory: Float[Tensor, "batch key model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch kv_heads key key_size"], Float[Tensor, "batch kv_heads key value_size"]]:
        """Keys and values. Keys include the part of the score that depends only on them."""
        keys = self._split(self.key_proj(memory), self.kv_heads)
        keys = self.score.prepare(keys if rotate is None else rotate(keys))
        return self.score.with_positions(keys, positions), self._split(self.value_proj(memory), self.kv_heads)

    def forward(
        self,
        queries: Float[Tensor, "batch heads query head_size"],
        keys: Float[Tensor, "batch kv_heads key key_size"],
        values: Float[Tensor, "batch kv_heads key value_size"],
        *,
        may_attend: Mask | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch query model"]:
        """Attend with every head, merge the heads and apply the output projection; keys as returned by
        `project_memory`, the mask as for `attend`."""
        if self.kv_heads < self.heads:
            keys, values = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (keys, values))
        context = self.attend(
            queries,
            keys,
            values,
            score=self.score.compare,
            may_attend=may_attend,
            causal=causal,
            factors=self.score.factors(queries, keys),
        )
        # (batch, heads, length, value_size) -> (batch, length, heads * value_size)
        return self.out_proj(context.transpose(1, 2).flatten(-2))

    @staticmethod
    def _split(projected: Float[Tensor, "batch length inner"], heads: int) -> Float[Tensor, "batch heads length size"]:
        # (batch, length, heads * size) -> (batch, heads, length, size)
        return projected.unflatten(-1, (heads, -1)).transpose(1, 2)
