"""The precision of decoding, from the format of the stored weights and the hardware."""

import torch

from limelight.capabilities import bf16_products, has, multiplies_bf16
from limelight.inference.linear import int8_kind
from limelight.inference.torch_int8 import TorchInt8Linear


def search_precision(stored: str, device: torch.device) -> str:
    """The default precision of decoding: the format of the stored weights if the device computes it fast.

    Weights of any format can be used in any precision. bf16 without hardware support becomes fp32. int8 is for CPUs: on
    a GPU it becomes bf16 if that is supported, else fp32.
    """
    if stored == "int8" and device.type == "cpu":
        return "int8" if int8_kind() else "fp32"
    return "bf16" if stored != "fp32" and multiplies_bf16(device) else "fp32"


def arithmetic_of(precision: str, device: torch.device) -> str:
    """The precision including the kind of int8 products: different kinds of CPUs round differently, which changes some
    translations."""
    if precision != "int8" or device.type != "cpu":
        return precision
    compiled = "compiled, VNNI" if has("vnni") else "compiled, AVX2"
    return f"int8 ({'torch' if int8_kind() is TorchInt8Linear else compiled})"


def slow_precision(precision: str, device: torch.device) -> str | None:
    """Why the chosen precision is slow on this device; None if the hardware supports it."""
    if precision == "fp16" and device.type == "cpu":
        return "precision fp16 is slower than fp32 here: it is for GPUs; fp32 is more accurate"
    if precision != "bf16" or multiplies_bf16(device):
        return None
    why = bf16_products().reason if device.type == "cpu" else "this GPU has no bf16 instructions"
    return f"precision bf16 is slower than fp32 here: {why}; fp32 is at least as accurate"
