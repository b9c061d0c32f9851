"""A matrix in eight bits: the form that int8 products take, and that model folders store."""

import torch
from torch import Tensor

from limelight.shapes import Float, Int


def integer_rows(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, " out"]]:
    """int8 values and the scale of each row, so that `values * scale` is the row to within half a scale."""
    scales = weight.float().abs().amax(dim=1) / 127
    safe = scales.where(scales > 0, torch.ones_like(scales))
    return (weight.float() / safe[:, None]).round().to(torch.int8), safe
