"""The precision of matrix products. Weights, accumulated gradients and optimizer state stay in fp32."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from limelight.capabilities import multiplies_bf16, multiplies_fp16, multiplies_tf32
from limelight.errors import UserError

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The precisions in which a copy of the model computes the updates (`HalfCopy`)."""


def choose_precision(name: str, device: torch.device) -> str:
    """Resolve `auto`: `bf16` if the hardware supports it, else `fp16` on a GPU that supports it, else `fp32`.

    Raises `UserError` for a precision that the device does not support.
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
    """A context in which products are computed in a precision.

    On a CPU without bf16 instructions products are computed in fp32, which is faster; and torch's autocast has no LSTM
    there (oneDNN's needs AVX-512). fp16 is always slow on a CPU.
    """
    half = HALVES.get(precision)
    fast = device.type != "cpu" or (precision == "bf16" and multiplies_bf16(device))
    return torch.autocast(device.type, dtype=half) if half is not None and fast else nullcontext()


def search_precision(precision: str) -> str:
    """The precision of searches in validation: that of the training if a search supports it."""
    return precision if precision == "bf16" else "fp32"


@contextmanager
def fp32_products(precision: str) -> Iterator[None]:
    """A context in which fp32 products of the whole process use TF32 if that is the precision. For a run, which owns
    its process."""
    before = torch.get_float32_matmul_precision()
    if precision == "tf32":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
