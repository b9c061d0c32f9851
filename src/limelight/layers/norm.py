"""Normalizations other than torch's `LayerNorm`."""

from torch import nn


class RMSNorm(nn.RMSNorm):
    """x / sqrt(mean(x^2) + epsilon) * w (Zhang and Sennrich 2019): layer normalization without mean and bias."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=1e-6)
