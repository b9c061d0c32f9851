"""Multi-head attention: equal to torch's with the same weights, and heads that can be switched off."""

import importlib
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.attend import MAX_UNFUSED_QUERIES, permit_keys
from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import Dot, build_head_score
from limelight.config.models import SCORES
from limelight.errors import UserError
from limelight.inspection.probe import attentions_of, probe

IN_HEADS = [
    name for name, kind in SCORES.parts.items() if isinstance(kind, str) and SCORES.find(name).in_self_attention
]
"""Our scores that multi-head attention can have."""

BATCH, QUERY, KEY, HEADS, HEAD_SIZE = 2, 5, 7, 3, 4
D_MODEL = HEADS * HEAD_SIZE


def make(**options: Any) -> MultiHeadAttention:
    attention = MultiHeadAttention(D_MODEL, HEADS, **options).double()
    for bias in (place.bias for place in attention.children() if isinstance(place, nn.Linear)):
        nn.init.normal_(bias)  # they begin at zero, which would hide a mistake
    return attention


def call(attention: MultiHeadAttention, queries: Tensor, memory: Tensor, **mask: object) -> tuple[Tensor, Tensor]:
    """Output and weights; the output is the same without the weights."""
    projected = attention.project_queries(queries), *attention.project_memory(memory)
    (name,) = attentions_of(attention)
    with probe(attention, weights=True) as seen:
        output = attention(*projected, **mask)
    torch.testing.assert_close(attention(*projected, **mask), output, rtol=1e-10, atol=1e-10)
    return output, seen.weights[name]


def as_torch(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """torch's module with the weights of ours."""
    other = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).double()
    parts = (attention.query_proj, attention.key_proj, attention.value_proj)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        other.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        other.out_proj.weight.copy_(attention.out_proj.weight)
        other.out_proj.bias.copy_(attention.out_proj.bias)
    return other


def random_inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(BATCH, QUERY, D_MODEL).double(), torch.randn(BATCH, KEY, D_MODEL).double()


def test_it_is_torchs(seed: int) -> None:
    attention = make()
    queries, memory = random_inputs()
    valid = torch.tensor([[True] * 4 + [False] * 3, [True] * KEY])
    output, weights = call(attention, queries, memory, may_attend=permit_keys(valid))
    expected, expected_weights = as_torch(attention)(
        queries, memory, memory, key_padding_mask=~valid, average_attn_weights=False
    )
    torch.testing.assert_close(output, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-10, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("name", IN_HEADS)
@pytest.mark.parametrize("causal", [False, True])
def test_any_score_compares_queries_with_keys_in_every_head(name: str, causal: bool, seed: int) -> None:
    """With weights and without: the equation, head by head, for more queries than are too few for the fused kernel."""
    attention = make(score=build_head_score(name, HEAD_SIZE)).double()
    inputs = torch.randn(BATCH, MAX_UNFUSED_QUERIES + 3, D_MODEL).double()
    length = inputs.shape[1]
    valid = torch.arange(length) < torch.tensor([[length], [5]])
    permitted = valid[:, None] & (torch.ones(length, length).tril().bool() if causal else torch.tensor(True))
    expected = []
    for head in range(HEADS):
        rows = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
        queries, keys, values = (
            functional.linear(inputs, projection.weight[rows], projection.bias[rows])
            for projection in (attention.query_proj, attention.key_proj, attention.value_proj)
        )
        weights = attention.score(queries, keys).masked_fill(~permitted, -math.inf).softmax(-1)
        expected.append(weights @ values)
    output = attention.out_proj(torch.cat(expected, dim=-1))
    found, _ = call(attention, inputs, inputs, may_attend=permit_keys(valid), causal=causal)
    torch.testing.assert_close(found, output, rtol=1e-10, atol=1e-10)


def test_only_the_scaled_dot_product_reaches_the_fused_kernel(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    fused = []
    module = importlib.import_module("limelight.attention.attend")
    kernel = module._kernel
    monkeypatch.setattr(module, "_kernel", lambda *heads, **options: fused.append(name) or kernel(*heads, **options))
    inputs = torch.randn(BATCH, MAX_UNFUSED_QUERIES + 1, D_MODEL).double()
    for name in IN_HEADS:
        attention = make(score=build_head_score(name, HEAD_SIZE)).double()
        attention(attention.project_queries(inputs), *attention.project_memory(inputs))
    assert fused == ["scaled_dot"]


class Halved(Dot):
    """Half of each weight, after the softmax."""

    def factors(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return torch.full((queries.shape[-2], prepared.shape[-2]), 0.5, dtype=queries.dtype)


def test_factors_of_a_score_multiply_the_weights(seed: int) -> None:
    plain, halved = (make(score=kind(HEAD_SIZE, HEAD_SIZE, HEAD_SIZE)) for kind in (Dot, Halved))
    halved.load_state_dict(plain.state_dict())
    queries, memory = random_inputs()
    torch.testing.assert_close(call(halved, queries, memory)[1], 0.5 * call(plain, queries, memory)[1])


def test_queries_and_keys_are_rotated_and_values_are_not(seed: int) -> None:
    attention = make()
    queries, memory = random_inputs()
    asked = attention.project_queries(queries, rotate=torch.neg)
    keys, values = attention.project_memory(memory, rotate=torch.neg)
    assert torch.equal(asked, -attention.project_queries(queries))
    assert torch.equal(keys, -attention.project_memory(memory)[0])
    assert torch.equal(values, attention.project_memory(memory)[1])


def test_the_width_must_split_evenly() -> None:
    with pytest.raises(UserError, match="d_model=11 cannot be split over heads=3; take a divisor or set head_size"):
        MultiHeadAttention(11, 3)
