"""The position-wise network with packed weights: the same numbers, and nothing of the original changed."""

import pytest
import torch
from torch import nn

from limelight.inference.linear import Fp32Linear
from limelight.inference.transformer import PackedFeedForward
from limelight.layers.feed_forward import ACTIVATIONS, FeedForward


@torch.inference_mode()
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_packed_network_is_the_network(activation: str, seed: int) -> None:
    network = FeedForward(67, 29, activation=activation, dropout=0.3).eval()
    for layer in (network.inner, network.outer):
        nn.init.normal_(layer.bias)
    inputs = torch.randn(3, 5, 67)
    given = inputs.clone()
    torch.testing.assert_close(PackedFeedForward(network, Fp32Linear)(inputs), network(inputs), rtol=1e-5, atol=1e-5)
    assert torch.equal(inputs, given)
    assert not getattr(network.activation, "inplace", False)
