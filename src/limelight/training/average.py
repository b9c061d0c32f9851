"""The mean of several snapshots of the weights (Vaswani et al. 2017, section 6.1: the last five checkpoints)."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from limelight.storage.weights import read_weights


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Each tensor's mean over the files, summed in float64; one file at a time is in memory."""
    total: dict[str, Tensor] = {}
    for path in paths:
        weights, _ = read_weights(path)
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(paths)).to(torch.float32) for name, tensor in total.items()}
