"""Matrices in eight bits: never further from the exact number than half a scale."""

import pytest
import torch
from torch import Tensor

from limelight.storage.weights import quantize_rows

OUTPUTS, INPUTS = 43, 1000


@pytest.fixture
def weight(seed: int) -> Tensor:
    """Rows of very different size: one scale for all of them would lose the small ones."""
    return torch.randn(OUTPUTS, INPUTS) * torch.logspace(-3, 1, OUTPUTS)[:, None]


def test_quantize_rows_are_within_half_a_scale(weight: Tensor) -> None:
    integers, scales = quantize_rows(weight)
    assert (integers.dtype, scales.dtype) == (torch.int8, torch.float32)
    error = (weight.double() - integers.double() * scales.double()[:, None]).abs()
    rounded = 127 * 2.0**-24  # what the quotient, up to 127, may lose in fp32
    assert (error <= scales.double()[:, None] * (0.5 + rounded)).all()
    assert (integers.abs().amax(dim=1) == 127).all()
    torch.testing.assert_close(scales, weight.abs().amax(dim=1) / 127)


def test_a_row_of_zeros_stays_one(weight: Tensor) -> None:
    weight[7], weight[8] = 0, 1e-45
    integers, scales = quantize_rows(weight)
    assert (integers[7:9] == 0).all()
    assert (scales > 0).all()
    assert torch.isfinite(scales).all()


@pytest.mark.parametrize("size", [0.03, 0.1, 0.2, 0.3])
def test_a_little_training_after_int8_is_not_rounded_away(seed: int, size: float) -> None:
    """The projection of the rounded change on the change is about 1; with the old steps, hardly any of it is left."""
    integers, scales = quantize_rows(torch.randn(400, 256))
    stored = integers * scales[:, None]
    change = size * scales[:, None] * torch.randn(400, 256)
    rows, factors = quantize_rows(stored + change)
    kept = ((rows * factors[:, None] - stored) * change).sum() / change.square().sum()
    assert 0.85 < kept < 1.15
    assert all(map(torch.equal, quantize_rows(rows * factors[:, None]), (rows, factors))), "what is stored is itself"
