"""Each score against an explicit loop in float64, and its gradients against finite differences."""

import math

import pytest
import torch
from torch import Tensor

from limelight.attention.scores import Score, build_head_score, build_score
from limelight.config.models import SCORES

BATCH, QUERY, KEY, QUERY_SIZE, KEY_SIZE, HIDDEN = 2, 3, 5, 7, 11, 13

NAMES = ["dot", "scaled_dot", "general", "concat", "concat_bias", "additive"]


def make(name: str) -> tuple[Score, Tensor, Tensor]:
    """The score in float64, and queries and keys that fit it."""
    key_size = QUERY_SIZE if "dot" in name else KEY_SIZE
    score = build_score(name, QUERY_SIZE, key_size, HIDDEN).double()
    queries = torch.randn(BATCH, QUERY, QUERY_SIZE, dtype=torch.float64)
    return score, queries, torch.randn(BATCH, KEY, key_size, dtype=torch.float64)


def one_score(name: str, score: Score, query: Tensor, key: Tensor) -> float:
    """The paper's formula for one query and one key, a number at a time."""
    weights = {place: weight.detach() for place, weight in score.named_parameters()}

    def product(matrix: Tensor, vector: Tensor) -> list[float]:
        return [sum(float(a) * float(b) for a, b in zip(row, vector, strict=True)) for row in matrix]

    if name in ("dot", "scaled_dot"):
        total = sum(float(a) * float(b) for a, b in zip(query, key, strict=True))
        return total / math.sqrt(QUERY_SIZE) if name == "scaled_dot" else total
    if name == "general":
        turned = product(weights["key_proj.weight"], key)
        return sum(float(a) * b for a, b in zip(query, turned, strict=True))
    if name == "additive":
        asked, offered = product(weights["query_proj.weight"], query), product(weights["key_proj.weight"], key)
        mixed = [math.tanh(a + b) for a, b in zip(asked, offered, strict=True)]
    else:
        both = product(weights["mix.weight"], torch.cat([query, key]))
        bias = weights["mix.bias"].tolist() if "mix.bias" in weights else [0.0] * HIDDEN
        mixed = [math.tanh(a + b) for a, b in zip(both, bias, strict=True)]
    return sum(a * float(b) for a, b in zip(mixed, weights["energy.weight"][0], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_score_is_the_formula(name: str, seed: int) -> None:
    score, queries, keys = make(name)
    scores = score(queries, keys)
    assert scores.shape == (BATCH, QUERY, KEY)
    for row in range(BATCH):
        for query in range(QUERY):
            for key in range(KEY):
                expected = one_score(name, score, queries[row, query], keys[row, key])
                assert scores[row, query, key].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SCORES.parts)
def test_every_row_of_the_registry_is_a_score(name: str, seed: int) -> None:
    score = build_score(name, 7, 7, 3)
    assert isinstance(score, Score)
    assert score(torch.randn(2, 5, 7), torch.randn(2, 4, 7)).shape == (2, 5, 4)
    if score.in_self_attention:
        assert type(build_head_score(name, 7)) is type(score)
