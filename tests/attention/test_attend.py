"""The soft look-up: both of its paths against a loop, against each other, and against the laws of a weighted mean."""

import importlib
import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from limelight.attention import attend
from limelight.attention.attend import MAX_UNFUSED_KEYS, MAX_UNFUSED_QUERIES, permit_keys

module = importlib.import_module("limelight.attention.attend")  # the function of that name stands before it

BATCH, HEADS, QUERY, KEY, SIZE, VALUE_SIZE = 2, 3, 5, 7, 11, 13


def random_inputs(*, query: int = QUERY, key: int = KEY, heads: int = HEADS) -> tuple[Tensor, Tensor, Tensor]:
    double = partial(torch.randn, dtype=torch.float64)
    return double(BATCH, heads, query, SIZE), double(BATCH, heads, key, SIZE), double(BATCH, heads, key, VALUE_SIZE)


def looped(queries: Tensor, keys: Tensor, values: Tensor, may_attend: Tensor) -> Tensor:
    """softmax(q k / sqrt(d)) v over the permitted keys, for one row and head, a number at a time."""
    context = torch.zeros(len(queries), values.shape[-1], dtype=torch.float64)
    for place, query in enumerate(queries):
        permitted = [other for other in range(len(keys)) if may_attend[place, other]]
        exponentials = {other: math.exp(float(query @ keys[other]) / math.sqrt(len(query))) for other in permitted}
        for other, exponential in exponentials.items():
            context[place] += exponential / sum(exponentials.values()) * values[other]
    return context


@pytest.mark.parametrize("want_weights", [False, True])
@pytest.mark.parametrize("query", [QUERY, MAX_UNFUSED_QUERIES + 1])
def test_a_mask_of_integers_is_refused(want_weights: bool, query: int) -> None:
    """As a bias it would mask nothing."""
    queries, keys, _ = random_inputs(query=query)
    with pytest.raises((RuntimeError, TypeCheckError), match=r"[Bb]ool"):  # the latter where shapes are checked
        attend(queries, keys, keys, may_attend=torch.zeros(KEY, dtype=torch.int64), want_weights=want_weights)


@pytest.mark.parametrize("want_weights", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_attend_is_the_formula(want_weights: bool, causal: bool, seed: int) -> None:
    queries, keys, values = random_inputs()
    may_attend = torch.rand(BATCH, 1, QUERY, KEY) < 0.6
    context, _ = attend(queries, keys, values, may_attend=may_attend, causal=causal, want_weights=want_weights)
    for row in range(BATCH):
        permitted = may_attend[row, 0].clone()
        if causal:
            permitted &= torch.tensor([[key <= query + KEY - QUERY for key in range(KEY)] for query in range(QUERY)])
        for head in range(HEADS):
            expected = looped(queries[row, head], keys[row, head], values[row, head], permitted)
            torch.testing.assert_close(context[row, head], expected, rtol=1e-10, atol=1e-10)


@given(
    query=st.integers(1, 9),
    key=st.integers(1, 9),
    mask=st.sampled_from(["none", "keys", "free", "nothing"]),
    causal=st.booleans(),
    number=st.integers(0, 2**31),
)
def test_fused_equals_readable(query: int, key: int, mask: str, causal: bool, number: int) -> None:
    """In the values and in the gradients, for any shape and mask."""
    torch.manual_seed(number)
    inputs = random_inputs(query=query, key=key)
    may_attend = {
        "none": None,
        "keys": permit_keys(torch.rand(BATCH, key) < 0.7),
        "free": torch.rand(BATCH, HEADS, query, key) < 0.5,
        "nothing": torch.zeros(BATCH, 1, 1, key, dtype=torch.bool),
    }[mask]
    answers = []
    for want_weights in (False, True):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        context, weights = attend(*leaves, may_attend=may_attend, causal=causal, want_weights=want_weights)
        assert (weights is not None) == want_weights
        context.sin().sum().backward()
        answers.append((context, *(leaf.grad for leaf in leaves)))
    for fused, readable in zip(*answers, strict=True):
        torch.testing.assert_close(fused, readable, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5), (torch.bfloat16, 3e-2)]
)
@pytest.mark.parametrize(("masked", "causal"), [(False, False), (False, True), (True, False), (True, True)])
def test_the_kernel_is_the_one_that_never_holds_the_weights(
    dtype: torch.dtype, tolerance: float, masked: bool, causal: bool, seed: int
) -> None:
    """Where it cannot be had, torch is told to fail."""
    query, key = MAX_UNFUSED_QUERIES + 3, MAX_UNFUSED_KEYS + 1
    queries, keys, values = (
        torch.randn(1, 2, *shape).to(dtype).requires_grad_() for shape in ((query, SIZE), (key, SIZE), (key, SIZE))
    )
    may_attend = torch.rand(1, 1, query, key) < 0.6 if masked else None
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        context, _ = attend(queries, keys, values, may_attend=may_attend, causal=causal)
        context.sum().backward()
    permitted = torch.ones(query, key, dtype=torch.bool) if may_attend is None else may_attend[0, 0]
    if causal:
        permitted = permitted & (torch.arange(key) <= torch.arange(query)[:, None] + key - query)
    assert (context.dtype, context.shape) == (dtype, (1, 2, query, SIZE))
    exact = [part.detach().double() for part in (queries, keys, values)]
    for head in range(2):
        expected = looped(*(part[0, head] for part in exact), permitted)
        torch.testing.assert_close(context[0, head].double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("dtype", "query", "key", "fused"),
    [
        (torch.float32, MAX_UNFUSED_QUERIES + 1, 5, True),
        (torch.float32, MAX_UNFUSED_QUERIES, 5, False),
        (torch.float32, 1, 5, False),
        (torch.bfloat16, MAX_UNFUSED_QUERIES + 1, 5, False),
        (torch.bfloat16, MAX_UNFUSED_QUERIES + 1, MAX_UNFUSED_KEYS, False),
        (torch.bfloat16, MAX_UNFUSED_QUERIES + 1, MAX_UNFUSED_KEYS + 1, True),
    ],
)
def test_the_kernel_is_taken_where_it_is_faster(
    dtype: torch.dtype, query: int, key: int, fused: bool, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    calls = []
    kernel = module._kernel
    monkeypatch.setattr(module, "_kernel", lambda *heads, **options: calls.append(1) or kernel(*heads, **options))
    queries, keys = torch.randn(3, query, 4, dtype=dtype), torch.randn(3, key, 4, dtype=dtype)
    context, _ = attend(queries, keys, keys)
    assert bool(calls) == fused
    readable, _ = attend(queries, keys, keys, want_weights=True)
    torch.testing.assert_close(context, readable, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("query", [1, MAX_UNFUSED_QUERIES + 1])
def test_a_mask_of_keys_alone_is_that_of_all_queries(query: int, seed: int) -> None:
    queries, keys, _ = random_inputs(query=query)
    may_attend = torch.rand(KEY) < 0.6
    context, expected = (
        attend(queries, keys, keys, may_attend=mask)[0] for mask in (may_attend, may_attend.expand(query, KEY))
    )
    torch.testing.assert_close(context, expected)


@pytest.mark.parametrize("want_weights", [False, True])
@pytest.mark.parametrize("query", [1, QUERY])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_query_without_keys_gets_zeros_and_finite_gradients(
    want_weights: bool, query: int, dtype: torch.dtype, seed: int
) -> None:
    inputs = [tensor.to(dtype).requires_grad_() for tensor in random_inputs(query=query)]
    may_attend = torch.ones(BATCH, 1, query, KEY, dtype=torch.bool)
    may_attend[0, :, -1] = False
    context, weights = attend(*inputs, may_attend=may_attend, want_weights=want_weights)
    assert (context[0, :, -1] == 0).all()
    assert (context[1] != 0).all()
    if weights is not None:
        assert (weights[0, :, -1] == 0).all()
    context.square().sum().backward()
    for leaf in inputs:
        assert torch.isfinite(leaf.grad).all()
    assert (inputs[0].grad[0, :, -1] == 0).all()
    if query == 1:  # nobody looked at the first row's keys and values
        assert (inputs[1].grad[0] == 0).all()
        assert (inputs[2].grad[0] == 0).all()
