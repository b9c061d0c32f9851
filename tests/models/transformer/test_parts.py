"""Parts of a Transformer that a configuration names: RMSNorm, gated networks, QK-norm, shared keys, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from limelight.attention import MultiHeadAttention
from limelight.attention.scores import NormalizedDot
from limelight.config import config_from
from limelight.config.models import FEED_FORWARDS, NORMS
from limelight.errors import UserError
from limelight.layers import GatedFeedForward, RMSNorm

ACTIVATIONS = {
    "swish": lambda x: x / (1 + torch.exp(-x)),
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x / 2 * (1 + torch.erf(x / 2**0.5)),
}


def exact(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_rms_norm_is_its_formula(seed: int) -> None:
    norm, inputs = RMSNorm(7).double(), torch.randn(3, 7, dtype=torch.float64)
    torch.nn.init.normal_(norm.weight)
    exact(norm(inputs), inputs / ((inputs**2).sum(-1, keepdim=True) / 7 + 1e-6) ** 0.5 * norm.weight)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_gated_network_is_its_formula(activation: str, seed: int) -> None:
    network, inputs = GatedFeedForward(5, 9, activation=activation).double(), torch.randn(3, 5, dtype=torch.float64)
    w, v, out = (part.weight for part in (network.inner, network.gate, network.outer))
    exact(network(inputs), (ACTIVATIONS[activation](inputs @ w.T) * (inputs @ v.T)) @ out.T)


def test_qk_norm_is_a_cosine_times_its_factor(seed: int) -> None:
    score = NormalizedDot(3, 3, 3).double()
    queries, keys = torch.randn(4, 6, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
    exact(score(queries, keys), 10 * functional.cosine_similarity(queries[:, None], keys[None], dim=-1))


def test_shared_keys_are_repeated_keys(seed: int) -> None:
    grouped = MultiHeadAttention(8, 4, kv_heads=2, head_size=3, value_size=2).double()
    whole = MultiHeadAttention(8, 4, head_size=3, value_size=2).double()
    for name, parameter in grouped.named_parameters():
        with torch.no_grad():
            own = whole.get_parameter(name)
            if name.startswith(("key", "value")):  # (kv_heads * size, ...): each head twice
                parameter = parameter.unflatten(0, (2, -1)).repeat_interleave(2, dim=0).flatten(0, 1)
            own.copy_(parameter)
    inputs = torch.randn(2, 5, 8, dtype=torch.float64)
    exact(*(each(each.project_queries(inputs), *each.project_memory(inputs), causal=True) for each in (grouped, whole)))
    assert grouped.project_memory(inputs)[0].shape == (2, 2, 5, 3)


def test_kv_heads_divide_heads() -> None:
    with pytest.raises(UserError, match="heads=4 cannot share kv_heads=3"):
        MultiHeadAttention(8, 4, kv_heads=3)


@pytest.mark.parametrize(("setting", "registry"), [("norm_type", NORMS), ("feed_forward", FEED_FORWARDS)])
def test_an_unknown_part_is_refused_by_name(setting: str, registry: Any) -> None:
    with pytest.raises(UserError, match=rf"model\.{setting}: must be one of {', '.join(registry.parts)}.* not 'x'"):
        config_from({"model": {"family": "transformer", setting: "x"}})
