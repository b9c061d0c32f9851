"""Attention with joined products: the queries, keys and values of the module it was made from."""

import pytest
import torch
from torch import Tensor

from limelight.attention.multi_head import MultiHeadAttention
from limelight.inference.linear import Fp32Linear
from limelight.inference.transformer import PackedCrossAttention, PackedSelfAttention

BATCH, LENGTH, KEYS, HEADS, SIZE, MODEL = 2, 5, 7, 3, 4, 11
VALUE_SIZES = (3, SIZE, 13)


@pytest.fixture(params=VALUE_SIZES)
def attention(request: pytest.FixtureRequest, seed: int) -> MultiHeadAttention:
    made = MultiHeadAttention(MODEL, HEADS, head_size=SIZE, value_size=request.param)
    with torch.no_grad():
        for bias in (made.query_proj.bias, made.key_proj.bias, made.value_proj.bias, made.out_proj.bias):
            bias.normal_()
    return made


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def turned(heads: Tensor) -> Tensor:
    """Stands for rotary positions: something that is done to queries and keys, and not to values."""
    return heads.flip(-1) * torch.arange(1, heads.shape[2] + 1)[:, None]


@torch.inference_mode()
@pytest.mark.parametrize("rotate", [None, turned])
def test_what_looks_at_itself_gets_the_same_queries_keys_and_values(attention: MultiHeadAttention, rotate) -> None:
    inputs, packed = torch.randn(BATCH, LENGTH, MODEL), PackedSelfAttention(attention, Fp32Linear)
    expected, found = attention.project_self(inputs, rotate), packed.project_self(inputs, rotate)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)
    assert_same(packed(*found, causal=True)[0], attention(*expected, causal=True)[0])


@torch.inference_mode()
@pytest.mark.parametrize("rotate", [None, turned])
def test_what_looks_at_the_source_gets_the_same_keys_and_values(attention: MultiHeadAttention, rotate) -> None:
    memory, inputs = torch.randn(BATCH, KEYS, MODEL), torch.randn(BATCH, LENGTH, MODEL)
    packed = PackedCrossAttention(attention, Fp32Linear)
    expected, found = attention.project_memory(memory, rotate), packed.project_memory(memory, rotate)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)
    queries = packed.project_queries(inputs, rotate)
    assert_same(queries, attention.project_queries(inputs, rotate))
    assert_same(packed(queries, *found)[0], attention(queries, *expected)[0])


@torch.inference_mode()
def test_joined_they_stand_side_by_side(attention: MultiHeadAttention) -> None:
    inputs = torch.randn(BATCH, LENGTH, MODEL)
    expected = [part.transpose(1, 2).flatten(2) for part in attention.project_self(inputs)]
    assert_same(PackedSelfAttention(attention, Fp32Linear).joint_proj(inputs), torch.cat(expected, dim=2))
    assert_same(PackedCrossAttention(attention, Fp32Linear).memory_proj(inputs), torch.cat(expected[1:], dim=2))


def test_what_reads_the_same_is_one_product(attention: MultiHeadAttention) -> None:
    """Counted: two linear layers instead of four, three where the queries read something else."""
    made = []

    def linear(weight: Tensor, bias: Tensor | None) -> Fp32Linear:
        made.append(tuple(weight.shape))
        return Fp32Linear(weight, bias)

    keys, values = HEADS * SIZE, HEADS * attention.value_size
    PackedSelfAttention(attention, linear)
    assert sorted(made) == sorted([(2 * keys + values, MODEL), (MODEL, values)])
    made.clear()
    PackedCrossAttention(attention, linear)
    assert sorted(made) == sorted([(keys, MODEL), (keys + values, MODEL), (MODEL, values)])


def test_it_holds_no_weights_that_could_be_trained(attention: MultiHeadAttention) -> None:
    for kind in (PackedSelfAttention, PackedCrossAttention):
        assert list(kind(attention, Fp32Linear).parameters()) == []
    assert all(weight.requires_grad for weight in attention.parameters())
