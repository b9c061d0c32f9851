"""The scores of the attention family: how well a key answers a query, before any mask or softmax.

A score takes `(queries, keys)` to `(..., query, key)` and does nothing else. Scores with weights also split in two:
`prepare(keys)` is what does not depend on the query, done once per source sentence; `compare(queries, prepared)` is the
rest, done at every step. A new mechanism is a new score of at most 20 lines.

| score         | formula                         | source                                                        |
|---------------|---------------------------------|---------------------------------------------------------------|
| `dot`         | q . k                           | Luong et al. 2015, equation 8, "dot"                          |
| `scaled_dot`  | q . k / sqrt(head_size)         | Vaswani et al. 2017, equation 1                               |
| `general`     | q . W k                         | Luong et al. 2015, equation 8, "general"                      |
| `concat`      | v . tanh(W [q; k])              | Luong et al. 2015, equation 8, "concat"                       |
| `concat_bias` | v . tanh(W [q; k] + b)          | Bahdanau's `[s; h]` form as commonly taught, with its bias    |
| `additive`    | v . tanh(W_q q + W_k k)         | Bahdanau et al. 2015, appendix A.1.2 (W_a, U_a, v_a)          |
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

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
    """q . k / sqrt(head_size) (Vaswani et al. 2017, equation 1): variance one for unit-variance queries and keys."""
    return dot(queries / math.sqrt(queries.shape[-1]), keys)


class Score(nn.Module, ABC):
    """A score as a module; one without weights needs only `compare`."""

    def prepare(self, keys: Tensor) -> Tensor:
        """What does not depend on the query."""
        return keys

    @abstractmethod
    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        """(..., query, *) and what `prepare` returned -> (..., query, key)."""

    def forward(
        self, queries: Float[Tensor, "... query query_size"], keys: Float[Tensor, "... key key_size"]
    ) -> Float[Tensor, "... query key"]:
        """The score of every query with every key."""
        return self.compare(queries, self.prepare(keys))


class Dot(Score):
    """`dot` as a module: queries and keys must have one size."""

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return dot(queries, prepared)


class ScaledDot(Score):
    """`scaled_dot` as a module: queries and keys must have one size."""

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return scaled_dot(queries, prepared)


class General(Score):
    """q . W k (Luong et al. 2015, equation 8, "general"): queries and keys may differ in size."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.key_proj = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return dot(queries, prepared)


class Additive(Score):
    """v . tanh(W_q q + W_k k) (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()
        self.query_proj = nn.Linear(query_size, hidden, bias=False)
        self.key_proj = nn.Linear(key_size, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return self.key_proj(keys)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        # (..., query, 1, hidden) + (..., 1, key, hidden): the (query, key, hidden) sum is what additive scores cost
        mixed = torch.tanh(self.query_proj(queries).unsqueeze(-2) + prepared.unsqueeze(-3))
        return self.energy(mixed).squeeze(-1)


class Concat(Score):
    """v . tanh(W [q; k] + b) (Luong et al. 2015, equation 8, "concat"; with its bias the `[s; h]` form of Bahdanau's).

    One matrix W, applied to its two halves apart: W [q; k] = W[:, :query_size] q + W[:, query_size:] k, so that the
    half of the keys is computed once and no concatenated (query, key, query_size + key_size) tensor is ever built.
    """

    def __init__(self, query_size: int, key_size: int, hidden: int, bias: bool = False) -> None:
        super().__init__()
        self.query_size = query_size
        self.mix = nn.Linear(query_size + key_size, hidden, bias=bias)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        return nn.functional.linear(keys, self.mix.weight[:, self.query_size :], self.mix.bias)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        asked = nn.functional.linear(queries, self.mix.weight[:, : self.query_size])
        return self.energy(torch.tanh(asked.unsqueeze(-2) + prepared.unsqueeze(-3))).squeeze(-1)


def build_score(name: str, query_size: int, key_size: int, hidden: int) -> Score:
    """The score of that name. Raises `UserError` for an unknown name, or for sizes a dot product cannot take."""
    if name in ("dot", "scaled_dot"):
        if query_size != key_size:
            raise UserError(
                f"score {name!r} needs queries and keys of one size, not {query_size} and {key_size}; "
                "take 'general', 'concat' or 'additive', or make the sizes equal"
            )
        return Dot() if name == "dot" else ScaledDot()
    if name == "general":
        return General(query_size, key_size)
    if name in ("concat", "concat_bias"):
        return Concat(query_size, key_size, hidden, bias=name == "concat_bias")
    if name == "additive":
        return Additive(query_size, key_size, hidden)
    raise UserError(f"unknown score {name!r}: there are dot, scaled_dot, general, concat, concat_bias and additive")
