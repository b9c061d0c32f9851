"""Shared modules: the very tensors, and a mode of their own."""

import pytest
import torch
from torch import nn

from limelight.inference.linear import shared
from limelight.layers.embedding import SinusoidalPositions, TokenEmbedding


@pytest.mark.parametrize(
    "part", [TokenEmbedding(7, 5, scale=True), nn.LayerNorm(5), nn.GRU(5, 3, num_layers=2, dropout=0.5)]
)
def test_tensors_are_shared_and_the_mode_is_not(part: nn.Module) -> None:
    part.train()
    twin = shared(part)
    assert type(twin) is type(part)
    assert [(name, weight.data_ptr()) for name, weight in twin.named_parameters()] == [
        (name, weight.data_ptr()) for name, weight in part.named_parameters()
    ]
    assert part.training
    assert not twin.training
    twin.train()
    part.eval()
    assert twin.training


@torch.inference_mode()
def test_cells_compute_the_same_without_dropout() -> None:
    cells, inputs = nn.LSTM(5, 3, num_layers=2, dropout=0.9), torch.randn(7, 2, 5)
    found, _ = shared(cells)(inputs)
    expected, _ = cells.eval()(inputs)
    assert torch.equal(found, expected)


def test_positions_that_grow_serve_both() -> None:
    positions = SinusoidalPositions(5, ready=3)
    shared(positions)(torch.zeros(1, 11, 5))
    assert len(positions.table) >= 11


def test_nothing_is_nothing() -> None:
    assert shared(None) is None


def test_of_a_module_with_parts_the_mode_would_be_shared() -> None:
    with pytest.raises(AssertionError):
        shared(nn.Sequential(nn.Linear(2, 3)))
