"""Matrices in eight bits: never further from the exact number than half a scale."""

import pytest
import torch
from torch import Tensor

from limelight.layers.embedding import quantize_rows

OUTPUTS, INPUTS = 43, 67


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
    weight[7] = 0
    integers, scales = quantize_rows(weight)
    assert (integers[7] == 0).all()
    assert (scales > 0).all()
    assert torch.isfinite(scales).all()
