"""Scores that see positions, against their formulas in plain loops with double precision."""

import math

import numpy as np
import pytest
import torch

import examples.scores
from limelight.attention.attend import attend
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import PositionalScore, build_score
from limelight.inspection.probe import probe

BATCH, HEADS, SIZE = 2, 4, 4


def expected(
    name: str, score: PositionalScore, query: np.ndarray, key: np.ndarray, *, head: int, at: int, to: int
) -> float:
    """The score of one query at position `at` with one key at position `to`."""
    product = sum(float(one) * float(other) for one, other in zip(query, key, strict=True))
    if name == "alibi":
        return product / math.sqrt(SIZE) - 2 ** (-8 * (head + 1) / HEADS) * abs(at - to)
    far = examples.scores.Relative.farthest
    vector = score.vectors[max(-far, min(far, to - at)) + far].detach().numpy()
    return (product + sum(float(one) * float(other) for one, other in zip(query, vector, strict=True))) / math.sqrt(
        SIZE
    )


@pytest.mark.parametrize("name", ["alibi", "relative"])
@pytest.mark.parametrize("first", [0, 700])
def test_weights_are_those_of_the_formula(name: str, first: int, seed: int) -> None:
    torch.manual_seed(seed)
    score = build_score(name, SIZE, SIZE, SIZE).double()
    assert isinstance(score, PositionalScore)
    asked, keys, values = (torch.randn(BATCH, HEADS, length, SIZE, dtype=torch.float64) for length in (4, 6, 6))
    query_positions, key_positions = torch.arange(first + 1, first + 5), torch.arange(first, first + 6)
    context, weights = attend(
        score.with_positions(asked, query_positions), score.with_positions(score.prepare(keys), key_positions), values,
        score=score.compare, want_weights=True,
    )  # fmt: skip
    assert weights is not None
    for row, head, query in np.ndindex(BATCH, HEADS, 4):
        scores = [
            expected(name, score, asked[row, head, query].numpy(), keys[row, head, key].numpy(),
                     head=head, at=first + 1 + query, to=first + key)
            for key in range(6)
        ]  # fmt: skip
        exponentials = [math.exp(each - max(scores)) for each in scores]
        own = [each / sum(exponentials) for each in exponentials]
        np.testing.assert_allclose(weights[row, head, query].detach().numpy(), own, atol=1e-12)
        summed = sum(weight * values[row, head, key].numpy() for key, weight in enumerate(own))
        np.testing.assert_allclose(context[row, head, query].detach().numpy(), summed, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_positions_are_exact_in_every_precision(dtype: torch.dtype) -> None:
    score = build_score("alibi", 2, 2, 2)
    assert isinstance(score, PositionalScore)
    positions = torch.tensor([[0, 255, 256, 257, 4097, 65_535]])
    vectors, found = score.split(score.with_positions(torch.ones(1, 3, 6, 2, dtype=dtype), positions))
    assert torch.equal(vectors, torch.ones(1, 3, 6, 2, dtype=dtype))
    assert torch.equal(found, positions.expand(1, 3, 6))


def test_a_recurrent_model_is_one_head(seed: int) -> None:
    score = build_score("alibi", SIZE, SIZE, SIZE)
    queries, keys = torch.randn(BATCH, 5, SIZE), torch.randn(BATCH, 6, SIZE)
    torch.testing.assert_close(score(queries, keys), score(queries[:, None], keys[:, None])[:, 0])


def test_heads_in_self_attention_see_their_positions(seed: int) -> None:
    """Equal vectors: only distance can tell positions apart."""
    attention = MultiHeadAttention(16, HEADS, score=build_score("alibi", SIZE, SIZE, SIZE))
    with probe(attention, weights=True) as seen:
        inputs = torch.ones(1, 5, 16)
        attention(attention.project_queries(inputs), *attention.project_memory(inputs), causal=True)
    (weights,) = seen.weights.values()
    for head in range(HEADS):
        slope = 2 ** (-8 * (head + 1) / HEADS)
        row = torch.tensor([-slope * (4 - key) for key in range(5)]).softmax(dim=-1)
        torch.testing.assert_close(weights[0, head, 4], row)
