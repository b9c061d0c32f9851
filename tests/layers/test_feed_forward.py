"""The feed-forward network against torch's own layers."""

import pytest
import torch
from torch import nn

from limelight.layers.feed_forward import FeedForward


@pytest.mark.parametrize(("name", "activation"), [("relu", nn.ReLU()), ("gelu", nn.GELU()), ("swish", nn.SiLU())])
def test_it_is_the_formula(name: str, activation: nn.Module, seed: int) -> None:
    layer = FeedForward(7, 11, activation=name).double()
    inputs = torch.randn(2, 3, 7, dtype=torch.float64)
    inner = activation(inputs @ layer.inner.weight.T + layer.inner.bias)
    torch.testing.assert_close(layer(inputs), inner @ layer.outer.weight.T + layer.outer.bias)


def test_dropout_thins_the_inner_layer_in_training_only(seed: int) -> None:
    layer = FeedForward(7, 11, dropout=0.5)
    inputs = torch.randn(2, 5, 7)
    assert not torch.equal(layer(inputs), layer(inputs))
    layer.eval()
    assert torch.equal(layer(inputs), layer(inputs))
