"""In which numbers to multiply. What learns stays in fp32: weights, their gradients' sums, the optimizer."""

from contextlib import AbstractContextManager, nullcontext

import torch

from limelight.capabilities import multiplies_bf16
from limelight.errors import UserError


def choose_precision(name: str, device: torch.device) -> str:
    """`auto` becomes `bf16` where the hardware multiplies it, `fp32` else. Raises `UserError` if bf16 cannot be had."""
    if name == "auto":
        return "bf16" if multiplies_bf16(device) else "fp32"
    if name == "bf16" and device.type == "cuda" and not multiplies_bf16(device):
        raise UserError("training.precision=bf16, but this GPU cannot multiply bf16; set training.precision=fp32")
    return name


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Where products are made in that precision.

    On a CPU without instructions for bf16 they are made in fp32, which is faster there; and torch has no LSTM for its
    autocast there at all (oneDNN's, which it asks for, needs AVX-512).
    """
    if precision == "fp32" or (device.type == "cpu" and not multiplies_bf16(device)):
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
