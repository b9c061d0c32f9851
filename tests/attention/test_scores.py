"""Each score against an explicit loop in float64, and its gradients against finite differences."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from limelight.attention.scores import (
    Additive,
    Concat,
    Dot,
    General,
    ScaledDot,
    Score,
    build_head_score,
    build_score,
    dot,
    scaled_dot,
)
from limelight.config.models import SCORES
from limelight.errors import UserError

BATCH, QUERY, KEY, QUERY_SIZE, KEY_SIZE, HIDDEN = 2, 3, 5, 7, 11, 13

MODULES: dict[str, Callable[[], Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": lambda: General(QUERY_SIZE, KEY_SIZE),
    "concat": lambda: Concat(QUERY_SIZE, KEY_SIZE, HIDDEN),
    "concat-bias": lambda: Concat(QUERY_SIZE, KEY_SIZE, HIDDEN, bias=True),
    "additive": lambda: Additive(QUERY_SIZE, KEY_SIZE, HIDDEN),
}


def make(name: str) -> tuple[Score, Tensor, Tensor]:
    """The score in float64, and queries and keys that fit it."""
    score = MODULES[name]().double()
    queries = torch.randn(BATCH, QUERY, QUERY_SIZE, dtype=torch.float64)
    keys = torch.randn(BATCH, KEY, QUERY_SIZE if "dot" in name else KEY_SIZE, dtype=torch.float64)
    return score, queries, keys


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


@pytest.mark.parametrize("name", MODULES)
def test_score_is_the_formula(name: str, seed: int) -> None:
    score, queries, keys = make(name)
    scores = score(queries, keys)
    assert scores.shape == (BATCH, QUERY, KEY)
    for row in range(BATCH):
        for query in range(QUERY):
            for key in range(KEY):
                expected = one_score(name, score, queries[row, query], keys[row, key])
                assert scores[row, query, key].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_those_of_the_formula(name: str, seed: int) -> None:
    score, queries, keys = make(name)
    names = [place for place, _ in score.named_parameters()]
    weights = [weight.detach().clone().requires_grad_() for weight in score.parameters()]

    def run(queries: Tensor, keys: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(score, dict(zip(names, weights, strict=True)), (queries, keys))

    assert gradcheck(run, (queries.requires_grad_(), keys.requires_grad_(), *weights))


@pytest.mark.parametrize("name", MODULES)
def test_preparing_the_keys_once_changes_nothing(name: str, seed: int) -> None:
    score, queries, keys = make(name)
    prepared = score.prepare(keys)
    one_by_one = [score.compare(queries[:, place : place + 1], prepared) for place in range(QUERY)]
    torch.testing.assert_close(torch.cat(one_by_one, dim=1), score(queries, keys), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODULES)
def test_leading_axes_are_free(name: str, seed: int) -> None:
    """(query, size) alone, or (batch, heads, query, size): a score only knows the last two axes."""
    score, queries, keys = make(name)
    scores = score(queries, keys)
    torch.testing.assert_close(score(queries[0], keys[0]), scores[0])
    torch.testing.assert_close(score(queries[:, None], keys[:, None]), scores[:, None])


@pytest.mark.parametrize(("function", "module"), [(dot, Dot()), (scaled_dot, ScaledDot())])
def test_function_and_module_are_one(function: Callable[[Tensor, Tensor], Tensor], module: Score, seed: int) -> None:
    queries, keys = torch.randn(3, 7), torch.randn(5, 7)
    assert torch.equal(function(queries, keys), module(queries, keys))


def test_scaled_dot_has_unit_variance(seed: int) -> None:
    """Why it is scaled: independent unit-variance queries and keys give scores of variance one at any head size."""
    scores = scaled_dot(torch.randn(500, 257), torch.randn(500, 257))
    assert scores.std().item() == pytest.approx(1, abs=0.1)


def test_concat_is_additive_with_its_matrix_split(seed: int) -> None:
    """v . tanh(W [q; k]) = v . tanh(W_q q + W_k k) for W = [W_q W_k]."""
    concat, additive = Concat(QUERY_SIZE, KEY_SIZE, HIDDEN), Additive(QUERY_SIZE, KEY_SIZE, HIDDEN)
    with torch.no_grad():
        additive.query_proj.weight.copy_(concat.mix.weight[:, :QUERY_SIZE])
        additive.key_proj.weight.copy_(concat.mix.weight[:, QUERY_SIZE:])
        additive.energy.weight.copy_(concat.energy.weight)
    queries, keys = torch.randn(QUERY, QUERY_SIZE), torch.randn(KEY, KEY_SIZE)
    torch.testing.assert_close(concat(queries, keys), additive(queries, keys))


def test_general_with_the_identity_is_dot(seed: int) -> None:
    general = General(QUERY_SIZE, QUERY_SIZE)
    with torch.no_grad():
        general.key_proj.weight.copy_(torch.eye(QUERY_SIZE))
    queries, keys = torch.randn(QUERY, QUERY_SIZE), torch.randn(KEY, QUERY_SIZE)
    torch.testing.assert_close(general(queries, keys), dot(queries, keys))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("dot", Dot), ("scaled_dot", ScaledDot), ("general", General), ("concat", Concat), ("additive", Additive)],
)
def test_build_score_knows_every_name(name: str, kind: type[Score]) -> None:
    assert type(build_score(name, 7, 7, 3)) is kind


@pytest.mark.parametrize("name", SCORES.parts)
def test_every_row_of_the_registry_is_a_score(name: str, seed: int) -> None:
    score = build_score(name, 7, 7, 3)
    assert isinstance(score, Score)
    assert score(torch.randn(2, 5, 7), torch.randn(2, 4, 7)).shape == (2, 5, 4)
    if score.in_self_attention:
        assert isinstance(build_head_score(name, 7), Score) == (name not in ("dot", "scaled_dot"))


def test_heads_take_the_functions_that_the_fused_kernel_computes() -> None:
    assert build_head_score("dot", 7) is dot
    assert build_head_score("scaled_dot", 7) is scaled_dot


def test_concat_has_its_bias_by_name() -> None:
    assert build_score("concat", 7, 5, 3).mix.bias is None
    assert build_score("concat_bias", 7, 5, 3).mix.bias.shape == (3,)


def test_build_score_refuses_an_unknown_name() -> None:
    with pytest.raises(
        UserError, match="unknown score 'cosine'; choose from dot, scaled_dot, general, concat, concat_bias, additive"
    ):
        build_score("cosine", 7, 7, 3)


@pytest.mark.parametrize("name", ["dot", "scaled_dot"])
def test_build_score_refuses_sizes_a_dot_product_cannot_take(name: str) -> None:
    with pytest.raises(UserError, match=f"score '{name}' needs queries and keys of the same size, not 7 and 11"):
        build_score(name, 7, 11, 3)


def test_a_score_that_compares_nothing_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="compare"):
        Score()
