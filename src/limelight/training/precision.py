"""In which numbers to multiply. What learns stays in fp32: weights, their gradients' sums, the optimizer."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from limelight.capabilities import multiplies_bf16, multiplies_fp16, multiplies_tf32
from limelight.errors import UserError

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The precisions in which a copy of the model computes the updates (`HalfCopy`)."""


def choose_precision(name: str, device: torch.device) -> str:
    """`auto` becomes `bf16` where the hardware multiplies it, else `fp16` on a GPU that has that, else `fp32`.

    Raises `UserError` for a precision that cannot be had on the device.
    """
    if name == "auto":
        if multiplies_bf16(device):
            return "bf16"
        return "fp16" if multiplies_fp16(device) else "fp32"
    if name == "bf16" and device.type == "cuda" and not multiplies_bf16(device):
        other = "fp16" if multiplies_fp16(device) else "fp32"
        raise UserError(f"training.precision=bf16, but this GPU cannot multiply bf16; set training.precision={other}")
    if name == "tf32" and not multiplies_tf32(device):
        raise UserError(
            f"training.precision=tf32, but {device} has no TF32 (CUDA GPUs have it from compute capability 8.0 on); "
            "set training.precision=fp32"
        )
    return name


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Where products are made in that precision.

    On a CPU without instructions for bf16 they are made in fp32, which is faster there; and torch has no LSTM for its
    autocast there at all (oneDNN's, which it asks for, needs AVX-512). In fp16 a CPU is slow in any case.
    """
    half = HALVES.get(precision)
    fast = device.type != "cpu" or (precision == "bf16" and multiplies_bf16(device))
    return torch.autocast(device.type, dtype=half) if half is not None and fast else nullcontext()


def search_precision(precision: str) -> str:
    """In which precision validation searches: that of the training, where a search has it."""
    return precision if precision == "bf16" else "fp32"


@contextmanager
def fp32_products(precision: str) -> Iterator[None]:
    """Within it fp32 products of the whole process round their factors to TF32 if that is the precision, else they are
    as before. For a run, which owns its process."""
    before = torch.get_float32_matmul_precision()
    if precision == "tf32":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
