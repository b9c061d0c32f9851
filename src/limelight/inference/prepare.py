"""Prepare a model for decoding: its precision, and a new object with the same interface and packed weights.

It shares all unchanged tensors with the readable model, which it is tested against. It cannot be trained.
"""

import copy
from typing import cast

import torch

from limelight.capabilities import bf16_products, has, multiplies_bf16
from limelight.errors import UserError
from limelight.inference.linear import int8_kind, is_pending, linear_of
from limelight.inference.pack import packed
from limelight.models.interface import Seq2Seq, device_of
from limelight.models.transformer.model import Transformer
from limelight.storage.model import StoredModel

try:
    from limelight.inference.cpu.network import network_of
    from limelight.inference.cpu.transformer import CompiledTransformer
except ImportError:  # numba is optional; without it attention uses matrix products
    network_of = CompiledTransformer = None  # type: ignore[assignment, misc]


def prepare(model: Seq2Seq | StoredModel, precision: str) -> Seq2Seq:
    """The model prepared for decoding on its device, in evaluation mode; on a GPU in fp32 it is the model itself. A
    stored model that compiled code knows is packed from its numbers: the readable one is not built.

    On a CPU embeddings, normalization, attention, softmax and recurrent cells stay in fp32; `int8` adds a rounding
    error of about a hundredth of each linear layer's output. On a GPU `bf16` converts the whole model.

    Raises `UserError` for a precision that the device or the model does not support.
    """
    linear = linear_of(precision)
    if isinstance(model, StoredModel):
        fast = _compiled(cast(Seq2Seq, model.rows), precision) if model.device.type == "cpu" else None
        return fast or prepare(cast(Seq2Seq, model.model), precision)
    if device_of(model).type == "cpu":
        if (fast := _compiled(model, precision)) is not None:
            return fast
        twin = packed(model, linear)
        if precision != "fp32" and not any(isinstance(part, cast(type, linear)) for part in twin.modules()):
            raise UserError(f"a {type(model).__name__} supports only fp32, not {precision}: it has no linear layers")
        return twin
    if precision == "int8":
        raise UserError("precision int8 is for the CPU; on a GPU use bf16, or hide it with CUDA_VISIBLE_DEVICES=''")
    return model if precision == "fp32" else _in_bf16(model).eval()


def _compiled(model: Seq2Seq, precision: str) -> Seq2Seq | None:
    """The compiled form of a model on the CPU; None if compiled code does not know it, or is not there yet."""
    if CompiledTransformer is None or type(model) is not Transformer or is_pending():
        return None
    network = network_of(model, precision)
    return None if network is None else CompiledTransformer(model, network).eval()


def _in_bf16(model: Seq2Seq) -> Seq2Seq:
    """A copy with parameters in bf16. Buffers are not converted: rotary rates in bf16 have three digits, so that
    an angle at position 300 would be off by a whole turn."""
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return twin


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
    return f"int8 ({'VNNI' if has('vnni') else 'AVX2'})"


def slow_precision(precision: str, device: torch.device) -> str | None:
    """Why the chosen precision is slow on this device; None if the hardware supports it."""
    if precision == "fp16" and device.type == "cpu":
        return "precision fp16 is slower than fp32 here: it is for GPUs; fp32 is more accurate"
    if precision != "bf16" or multiplies_bf16(device):
        return None
    why = bf16_products().reason if device.type == "cpu" else "this GPU has no bf16 instructions"
    return f"precision bf16 is slower than fp32 here: {why}; fp32 is at least as accurate"
