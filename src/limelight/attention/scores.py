"""Scores: how a query and a key are compared, before mask and softmax.

A score maps `(queries, keys)` to `(..., query, key)`. Scores with weights are split in two: `prepare(keys)` is the part
that does not depend on the query, computed once per source sentence; `compare(queries, prepared)` is the rest, computed
at every step. A new mechanism is a subclass of `Score` of at most 20 lines with `@register_score("name")`; the names of
those below are in `config/models.py` (`SCORES`), which does not import torch. `MultiHeadAttention` and
`RecurrentDecoder` call them, so both families can use each. A `PositionalScore` also sees the positions of queries and
keys.

| score         | formula                         | source                                                        |
|---------------|---------------------------------|---------------------------------------------------------------|
| `dot`         | q . k                           | Luong et al. 2015, equation 8, "dot"                          |
| `scaled_dot`  | q . k / sqrt(head_size)         | Vaswani et al. 2017, equation 1                               |
| `general`     | q . W k                         | Luong et al. 2015, equation 8, "general"                      |
| `concat`      | v . tanh(W [q; k])              | Luong et al. 2015, equation 8, "concat"                       |
| `concat_bias` | v . tanh(W [q; k] + b)          | Bahdanau's `[s; h]` form as commonly taught, with its bias    |
| `additive`    | v . tanh(W_q q + W_k k)         | Bahdanau et al. 2015, appendix A.1.2 (W_a, U_a, v_a)          |
| `qk_norm`     | g q . k with |q| = |k| = 1      | Henry et al. 2020, section 3                                  |
| `local_m`, `local_p` | see `local.py`           | Luong et al. 2015, section 3.2                                |
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from limelight.config.models import SCORES
from limelight.errors import UserError
from limelight.shapes import Float, Int


def dot(
    queries: Float[Tensor, "... query head_size"], keys: Float[Tensor, "... key head_size"]
) -> Float[Tensor, "... query key"]:
    """q . k (Luong et al. 2015, equation 8, "dot")."""
    return queries @ keys.transpose(-2, -1)


def scaled_dot(
    queries: Float[Tensor, "... query head_size"], keys: Float[Tensor, "... key head_size"]
) -> Float[Tensor, "... query key"]:
    """q . k / sqrt(head_size) (Vaswani et al. 2017, equation 1): unit variance if queries and keys have it."""
    return dot(queries / math.sqrt(queries.shape[-1]), keys)


class Score(nn.Module, ABC):
    """Base class of scores as modules. A score without weights needs only `compare`.

    Args:
        query_size: width of the queries.
        key_size: width of the keys.
        hidden: width of an inner layer.
    """

    equal_sizes = True
    """Whether queries and keys must have the same size, as in a dot product."""
    in_cross_attention = True
    """Whether the cross-attention of a Transformer uses this score; if not, it uses `scaled_dot`."""
    in_self_attention = True
    """Whether it can compare the positions of one sequence, whose length is unknown while it is written."""

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()

    def prepare(self, keys: Tensor) -> Tensor:
        """The part of the score that does not depend on the query."""
        return keys

    @abstractmethod
    def compare(self, queries: Tensor, prepared: Tensor, /) -> Tensor:
        """Scores from queries (..., query, *) and the result of `prepare`: (..., query, key)."""

    def factors(self, queries: Tensor, prepared: Tensor) -> Tensor | None:
        """Factors of the weights, after the softmax; None for no factors."""
        return None

    def with_positions(self, vectors: Tensor, positions: Int[Tensor, "..."] | None = None) -> Tensor:
        """Queries or prepared keys with what the score needs of their positions, by default 0, 1, ..."""
        return vectors

    def forward(
        self, queries: Float[Tensor, "... query query_size"], keys: Float[Tensor, "... key key_size"]
    ) -> Float[Tensor, "... query key"]:
        """The score of every query with every key."""
        return self.compare(self.with_positions(queries), self.with_positions(self.prepare(keys)))


BASE = 256
"""A position is stored as two digits in this base: bf16 has integers up to 256 only."""


class PositionalScore(Score):
    """Base class of scores that see positions: `compare_at` instead of `compare`.

    Positions count from 0. In cross-attention, queries have target positions, and keys have source positions.
    Queries and prepared keys carry their positions as two more components, so that they stay together in a cache.
    """

    @abstractmethod
    def compare_at(
        self,
        queries: Float[Tensor, "... query query_size"],
        prepared: Float[Tensor, "... key key_size"],
        query_positions: Int[Tensor, "... query 1"],
        key_positions: Int[Tensor, "... 1 key"],
    ) -> Float[Tensor, "... query key"]:
        """Scores from queries and the result of `prepare`, with their positions, whose difference broadcasts to
        (..., query, key)."""

    def with_positions(
        self, vectors: Float[Tensor, "... length size"], positions: Int[Tensor, "... #length"] | None = None
    ) -> Float[Tensor, "... length placed"]:
        """Append the positions to vectors; by default 0, 1, ..."""
        if positions is None:
            positions = torch.arange(vectors.shape[-2], device=vectors.device)
        digits = torch.stack([positions // BASE, positions % BASE], dim=-1).to(vectors.dtype)
        return torch.cat([vectors, digits.expand(*vectors.shape[:-1], 2)], dim=-1)

    @staticmethod
    def split(placed: Float[Tensor, "... length placed"]) -> tuple[Tensor, Int[Tensor, "... length"]]:
        """Vectors and positions, the inverse of `with_positions`."""
        high, low = placed[..., -2:].long().unbind(dim=-1)
        return placed[..., :-2], high * BASE + low

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        content, query_positions = self.split(queries)
        keys, key_positions = self.split(prepared)
        return self.compare_at(content, keys, query_positions.unsqueeze(-1), key_positions.unsqueeze(-2))


class Dot(Score):
    """`dot` as a module: queries and keys must have the same size."""

    compare = staticmethod(dot)


class ScaledDot(Score):
    """`scaled_dot` as a module, for queries and keys of the same size. `attend` has a fused kernel for it."""

    compare = staticmethod(scaled_dot)


class General(Score):
    """q . W k (Luong et al. 2015, equation 8, "general"): queries and keys may differ in size."""

    equal_sizes = False

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.key_proj = nn.Linear(key_size, query_size, bias=False)

    compare = staticmethod(dot)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)


class Additive(Score):
    """v . tanh(W_q q + W_k k) (Bahdanau et al. 2015, appendix A.1.2)."""

    equal_sizes = False

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.make_projections(query_size, key_size, hidden)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def make_projections(self, query_size: int, key_size: int, hidden: int) -> None:
        """The weights of `prepare_query` and `prepare`."""
        self.query_proj = nn.Linear(query_size, hidden, bias=False)
        self.key_proj = nn.Linear(key_size, hidden, bias=False)

    def prepare_query(self, queries: Tensor) -> Tensor:
        """The part of the sum that does not depend on the key."""
        return self.query_proj(queries)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        # (..., query, 1, hidden) + (..., 1, key, hidden): the (query, key, hidden) sum is the cost of additive scores
        mixed = torch.tanh(self.prepare_query(queries).unsqueeze(-2) + prepared.unsqueeze(-3))
        return self.energy(mixed).squeeze(-1)


class Concat(Additive):
    """v . tanh(W [q; k] + b) (Luong et al. 2015, equation 8, "concat"; with bias, Bahdanau's `[s; h]` form).

    This is `Additive` with W_q and W_k as the two halves of one matrix: W [q; k] = W[:, :query_size] q +
    W[:, query_size:] k. So the half of the keys is computed once and no concatenated (query, key, query_size +
    key_size) tensor is built.
    """

    has_bias = False

    def make_projections(self, query_size: int, key_size: int, hidden: int) -> None:
        self.query_size = query_size
        self.mix = nn.Linear(query_size + key_size, hidden, bias=self.has_bias)

    def prepare_query(self, queries: Tensor) -> Tensor:
        return nn.functional.linear(queries, self.mix.weight[:, : self.query_size])

    def prepare(self, keys: Tensor) -> Tensor:
        return nn.functional.linear(keys, self.mix.weight[:, self.query_size :], self.mix.bias)


class ConcatBias(Concat):
    """`Concat` with its bias."""

    has_bias = True


class NormalizedDot(Score):
    """g q . k for queries and keys of length 1, with a learned factor g (Henry et al. 2020, "Query-Key Normalization
    for Transformers"): scores are bounded, so that training is stable at high rates."""

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.factor = nn.Parameter(torch.tensor(10.0))

    def prepare(self, keys: Tensor) -> Tensor:
        return nn.functional.normalize(keys, dim=-1)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return dot(self.factor * nn.functional.normalize(queries, dim=-1), prepared)


register_score = SCORES.register
"""A class decorator: `model.score=name` is this subclass of `Score`."""


def build_score(name: str, query_size: int, key_size: int, hidden: int) -> Score:
    """The score of this name in `SCORES`, with new weights.

    Raises `UserError` for an unknown name.
    """
    score: Score = SCORES.find(name)(query_size, key_size, hidden)
    return score


def build_head_score(name: str, size: int) -> Score:
    """The score of this name for heads with queries and keys of width `size`."""
    if not SCORES.find(name).in_self_attention:
        raise UserError(f"score {name!r} needs the length of the source: it is for recurrent models")
    return build_score(name, size, size, size)
