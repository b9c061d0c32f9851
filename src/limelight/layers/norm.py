"""Normalizations other than torch's `LayerNorm`."""

from torch import nn

from limelight.config.models import NORMS

register_norm = NORMS.register
"""A decorator: `model.norm_type=name` is this class or function, which makes a module from the width."""


class RMSNorm(nn.RMSNorm):
    """x / sqrt(mean(x^2) + epsilon) * w (Zhang and Sennrich 2019): layer normalization without mean and bias."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=1e-6)
