"""Prepare a model for decoding: a new object with the same interface and packed weights.

It shares all unchanged tensors with the readable model, which it is tested against. It cannot be trained.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch

from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import scaled_dot
from limelight.errors import UserError
from limelight.inference.linear import MakeLinear, is_pending, linear_of
from limelight.inference.recurrent import pack_recurrent, pack_recurrent_language_model
from limelight.inference.transformer import pack_decoder_only, pack_transformer
from limelight.models.interface import Seq2Seq
from limelight.models.recurrent import Recurrent
from limelight.models.recurrent.language_model import RecurrentLanguageModel
from limelight.models.transformer import Transformer
from limelight.models.transformer.halves import DecoderOnly

try:
    from limelight.inference.cpu.transformer import CompiledTransformer
except ImportError:  # numba is optional; without it attention uses matrix products
    CompiledTransformer = None  # type: ignore[assignment, misc]


def prepare(model: Seq2Seq, precision: str) -> Seq2Seq:
    """The model prepared for decoding on its device, in evaluation mode; on a GPU in fp32 it is the model itself.

    On a CPU embeddings, normalization, attention, softmax and recurrent cells stay in fp32; `int8` adds a rounding
    error of about a hundredth of each linear layer's output. On a GPU `bf16` converts the whole model.

    Raises `UserError` for a precision that the device or the model does not support.
    """
    linear = linear_of(precision)
    weight = next(model.parameters(), None)
    if weight is None or weight.device.type == "cpu":
        pack = _PACK.get(type(model))
        if pack is not None:
            return pack(model, linear).eval()
        if precision != "fp32":
            raise UserError(f"a {type(model).__name__} supports only fp32, not {precision}")
        return model.eval()
    if precision == "int8":
        raise UserError("precision int8 is for the CPU; on a GPU use bf16, or hide it with CUDA_VISIBLE_DEVICES=''")
    return model if precision == "fp32" else _cast(model, torch.bfloat16).eval()


def _transformer(model: Transformer, linear: MakeLinear) -> Seq2Seq:
    """With compiled attention if it is available, weights are fp32, and all scores are scaled dot products."""
    packed, embedding = pack_transformer(model, linear), model.decoder.embedding
    if CompiledTransformer is None or is_pending() or embedding.weight.dtype != torch.float32:
        return packed
    attentions = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    return CompiledTransformer(packed) if all(part.score is scaled_dot for part in attentions) else packed


_PACK: dict[type[Seq2Seq], Callable[[Any, MakeLinear], Seq2Seq]] = {
    Transformer: _transformer,
    Recurrent: pack_recurrent,
    DecoderOnly: pack_decoder_only,
    RecurrentLanguageModel: pack_recurrent_language_model,
}
"""How each family is packed. A family without an entry is used unchanged."""


def _cast(model: Seq2Seq, dtype: torch.dtype) -> Seq2Seq:
    """A copy with parameters of this type. Buffers are not converted: rotary rates in bf16 have three digits, so that
    an angle at position 300 would be off by a whole turn."""
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.data = parameter.data.to(dtype)
    return twin
