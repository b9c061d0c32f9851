"""Scores: how a query and a key are compared, before mask and softmax.

A score maps `(queries, keys)` to `(..., query, key)`. Scores with weights are split in two: `prepare(keys)` is the part
that does not depend on the query, computed once per source sentence; `compare(queries, prepared)` is the rest, computed
at every step. A new mechanism is a subclass of `Score` of at most 20 lines, and a row in
`limelight.config.models.SCORES`; recurrent models and multi-head attention can both use it.

| score         | formula                         | source                                                        |
|---------------|---------------------------------|---------------------------------------------------------------|
| `dot`         | q . k                           | Luong et al. 2015, equation 8, "dot"                          |
| `scaled_dot`  | q . k / sqrt(head_size)         | Vaswani et al. 2017, equation 1                               |
| `general`     | q . W k                         | Luong et al. 2015, equation 8, "general"                      |
| `concat`      | v . tanh(W [q; k])              | Luong et al. 2015, equation 8, "concat"                       |
| `concat_bias` | v . tanh(W [q; k] + b)          | Bahdanau's `[s; h]` form as commonly taught, with its bias    |
| `additive`    | v . tanh(W_q q + W_k k)         | Bahdanau et al. 2015, appendix A.1.2 (W_a, U_a, v_a)          |
"""

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from limelight.config.models import SCORES
from limelight.errors import UserError
from limelight.shapes import Float


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
    """Base class of scores as modules. A score without weights needs only `compare`."""

    equal_sizes = True
    """Whether queries and keys must have the same size, as in a dot product."""

    @classmethod
    def build(cls, query_size: int, key_size: int, hidden: int) -> "Score":
        """A score with new weights for queries and keys of these sizes; `hidden` is the width of an inner layer."""
        return cls()

    def prepare(self, keys: Tensor) -> Tensor:
        """The part of the score that does not depend on the query."""
        return keys

    @abstractmethod
    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        """Scores from queries (..., query, *) and the result of `prepare`: (..., query, key)."""

    def forward(
        self, queries: Float[Tensor, "... query query_size"], keys: Float[Tensor, "... key key_size"]
    ) -> Float[Tensor, "... query key"]:
        """The score of every query with every key."""
        return self.compare(queries, self.prepare(keys))


class Dot(Score):
    """`dot` as a module: queries and keys must have the same size."""

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return dot(queries, prepared)


class ScaledDot(Score):
    """`scaled_dot` as a module: queries and keys must have the same size."""

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return scaled_dot(queries, prepared)


class General(Score):
    """q . W k (Luong et al. 2015, equation 8, "general"): queries and keys may differ in size."""

    equal_sizes = False

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.key_proj = nn.Linear(key_size, query_size, bias=False)

    @classmethod
    def build(cls, query_size: int, key_size: int, hidden: int) -> "General":
        return cls(query_size, key_size)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return dot(queries, prepared)


class Additive(Score):
    """v . tanh(W_q q + W_k k) (Bahdanau et al. 2015, appendix A.1.2)."""

    equal_sizes = False

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()
        self.query_proj = nn.Linear(query_size, hidden, bias=False)
        self.key_proj = nn.Linear(key_size, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    @classmethod
    def build(cls, query_size: int, key_size: int, hidden: int) -> "Additive":
        return cls(query_size, key_size, hidden)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        # (..., query, 1, hidden) + (..., 1, key, hidden): the (query, key, hidden) sum is the cost of additive scores
        mixed = torch.tanh(self.query_proj(queries).unsqueeze(-2) + prepared.unsqueeze(-3))
        return self.energy(mixed).squeeze(-1)


class Concat(Score):
    """v . tanh(W [q; k] + b) (Luong et al. 2015, equation 8, "concat"; with bias, Bahdanau's `[s; h]` form).

    The two halves of W are applied separately, W [q; k] = W[:, :query_size] q + W[:, query_size:] k, so that the half
    of the keys is computed once and no concatenated (query, key, query_size + key_size) tensor is built.
    """

    equal_sizes = False

    def __init__(self, query_size: int, key_size: int, hidden: int, bias: bool = False) -> None:
        super().__init__()
        self.query_size = query_size
        self.mix = nn.Linear(query_size + key_size, hidden, bias=bias)
        self.energy = nn.Linear(hidden, 1, bias=False)

    @classmethod
    def build(cls, query_size: int, key_size: int, hidden: int) -> "Concat":
        return cls(query_size, key_size, hidden)

    def prepare(self, keys: Tensor) -> Tensor:
        return nn.functional.linear(keys, self.mix.weight[:, self.query_size :], self.mix.bias)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        asked = nn.functional.linear(queries, self.mix.weight[:, : self.query_size])
        return self.energy(torch.tanh(asked.unsqueeze(-2) + prepared.unsqueeze(-3))).squeeze(-1)


class ConcatBias(Concat):
    """`Concat` with its bias."""

    @classmethod
    def build(cls, query_size: int, key_size: int, hidden: int) -> "ConcatBias":
        return cls(query_size, key_size, hidden, bias=True)


def score_class(name: str) -> type[Score]:
    """The class of this name in `SCORES`. Raises `UserError` for an unknown name."""
    if name not in SCORES:
        raise UserError(f"unknown score {name!r}; choose from {', '.join(SCORES)}")
    module, _, kind = SCORES[name].partition(":")
    score = getattr(importlib.import_module(module), kind)
    assert issubclass(score, Score)
    return score


def build_score(name: str, query_size: int, key_size: int, hidden: int) -> Score:
    """The score of this name in `SCORES`, with new weights.

    Raises `UserError` for an unknown name, and for sizes that the score does not support.
    """
    score = score_class(name)
    if score.equal_sizes and query_size != key_size:
        raise UserError(
            f"score {name!r} needs queries and keys of the same size, not {query_size} and {key_size}; "
            "take 'general', 'concat' or 'additive', or make the sizes equal"
        )
    return score.build(query_size, key_size, hidden)


def build_head_score(name: str, size: int) -> Callable[[Tensor, Tensor], Tensor]:
    """The score of this name for heads with queries and keys of width `size`.

    `dot` and `scaled_dot` are returned as functions, which `attend` computes with the fused kernel.
    """
    functions = {"dot": dot, "scaled_dot": scaled_dot}
    return functions[name] if name in functions else build_score(name, size, size, size)
