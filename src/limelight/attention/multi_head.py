"""Multi-head attention: project, split, attend, merge, project (Vaswani et al. 2017, section 3.2.2).

Self-attention, masked self-attention and cross-attention are uses of this one module: they differ only in the source of
the keys and in the mask.
"""

from collections.abc import Callable

from torch import Tensor, nn

from limelight.attention.attend import ScoreFunction, attend, sharpened
from limelight.attention.scores import Score, placed, scaled_dot
from limelight.errors import UserError
from limelight.shapes import Bool, Float, Int

Rotate = Callable[[Tensor], Tensor]


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1 ... head_h) W_O with head_i = attend(Q W_Qi, K W_Ki, V W_Vi).

    Args:
        d_model: width of inputs and outputs.
        heads: number of heads; must divide `d_model` unless `head_size` is given.
        head_size: width of a head's queries and keys (d_k in the paper); `d_model / heads` by default.
        value_size: width of a head's values (d_v); `head_size` by default.
        score: compares queries with keys in every head; the heads share the weights of a `Score`.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        head_size: int | None = None,
        value_size: int | None = None,
        score: ScoreFunction = scaled_dot,
    ) -> None:
        super().__init__()
        if head_size is None and d_model % heads:
            raise UserError(f"d_model={d_model} cannot be split over heads={heads}; take a divisor or set head_size")
        self.heads = heads
        self.head_size = head_size or d_model // heads
        self.value_size = value_size or self.head_size
        self.score = score
        self.query_proj = nn.Linear(d_model, heads * self.head_size)
        self.key_proj = nn.Linear(d_model, heads * self.head_size)
        self.value_proj = nn.Linear(d_model, heads * self.value_size)
        self.out_proj = nn.Linear(heads * self.value_size, d_model)
        # Xavier initialization of the three input projections as one matrix, as in the paper's code.
        for projection in (self.query_proj, self.key_proj, self.value_proj):
            nn.init.xavier_uniform_(projection.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.out_proj.weight)
        for projection in (self.query_proj, self.key_proj, self.value_proj, self.out_proj):
            nn.init.zeros_(projection.bias)

    def project_queries(
        self,
        inputs: Float[Tensor, "batch query model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch heads query query_size"]:
        """The queries of each head, rotated by their positions if `rotate` is given (rotary positions).

        A `PositionalScore` sees `positions`, by default 0, 1, ...
        """
        return self.prepare_queries(self._split(self.query_proj(inputs)), rotate, positions)

    def prepare_queries(
        self,
        queries: Float[Tensor, "batch heads query head_size"],
        rotate: Rotate | None,
        positions: Int[Tensor, "..."] | None,
    ) -> Float[Tensor, "batch heads query query_size"]:
        """The queries as the score expects them; `query_size` is `head_size` for scores that do not see positions."""
        return placed(self.score, queries if rotate is None else rotate(queries), positions)

    def project_memory(
        self,
        memory: Float[Tensor, "batch key model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch heads key key_size"], Float[Tensor, "batch heads key value_size"]]:
        """Keys, prepared for the score, and values."""
        keys = self.prepare_keys(self._split(self.key_proj(memory)), rotate, positions)
        return keys, self._split(self.value_proj(memory))

    def prepare_keys(
        self,
        keys: Float[Tensor, "batch heads key head_size"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch heads key key_size"]:
        """The part of the score that depends only on keys; `key_size` is `head_size` for scores without such a part."""
        keys = keys if rotate is None else rotate(keys)
        return placed(self.score, self.score.prepare(keys) if isinstance(self.score, Score) else keys, positions)

    def project_self(
        self,
        inputs: Float[Tensor, "batch length model"],
        rotate: Rotate | None = None,
        positions: Int[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."], Float[Tensor, "..."]]:
        """Queries, keys and values of self-attention."""
        return self.project_queries(inputs, rotate, positions), *self.project_memory(inputs, rotate, positions)

    def forward(
        self,
        queries: Float[Tensor, "batch heads query head_size"],
        keys: Float[Tensor, "batch heads key key_size"],
        values: Float[Tensor, "batch heads key value_size"],
        *,
        may_attend: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        causal: bool = False,
        keep_heads: Float[Tensor, "*changes heads"] | None = None,
        want_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch query model"], Float[Tensor, "batch heads query key"] | None]:
        """Attend with every head, merge the heads and apply the output projection; keys as returned by
        `project_memory`.

        `keep_heads` scales the output of each head: 1 keeps it, 0 switches it off; its weights are still returned. With
        two rows, the second multiplies the scores of each head before the softmax; as (2, batch, heads), each sentence
        of the batch has its own.
        """
        score = self.score.compare if isinstance(self.score, Score) else self.score
        if keep_heads is not None and keep_heads.dim() > 1:
            keep_heads, factors = keep_heads
            score = sharpened(score, factors)
        context, weights = attend(
            queries, keys, values, score=score, may_attend=may_attend, bias=bias, causal=causal,
            want_weights=want_weights,
        )  # fmt: skip
        if keep_heads is not None:
            context = context * keep_heads.to(context.dtype)[..., None, None]
        return self.out_proj(self._merge(context)), weights

    def _split(self, projected: Float[Tensor, "batch length inner"]) -> Float[Tensor, "batch heads length size"]:
        # (batch, length, heads * size) -> (batch, heads, length, size)
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    @staticmethod
    def _merge(context: Float[Tensor, "batch heads length value_size"]) -> Float[Tensor, "batch length inner"]:
        # (batch, heads, length, value_size) -> (batch, length, heads * value_size)
        return context.transpose(1, 2).flatten(-2)
