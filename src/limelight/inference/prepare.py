"""A model made ready for decoding: weights packed once, products that share their input joined to one.

It is the same model behind the same interface and shares every tensor that stays as it is; only its linear layers are
others. It cannot be trained.
"""

import copy
from typing import cast

import torch
from torch import nn

from limelight.attention.scores import Score
from limelight.errors import UserError
from limelight.inference.attention import PackedCrossAttention, PackedSelfAttention
from limelight.inference.cpu.transformer import CompiledTransformer
from limelight.inference.feed_forward import PackedFeedForward
from limelight.inference.linear import (
    CompiledInt8Linear,
    MakeLinear,
    linear_of,
)
from limelight.layers.feed_forward import FeedForward
from limelight.models.interface import Seq2Seq
from limelight.models.language_model import LanguageModel
from limelight.models.recurrent import Recurrent
from limelight.models.transformer import DecoderLayer, Layer, Transformer


def prepare(model: Seq2Seq, precision: str) -> Seq2Seq:
    """The model made ready for decoding where it is. Raises `UserError` for a precision that is not to be had there.

    On a CPU embeddings, normalisation, attention and softmax stay in fp32, and so do recurrent cells; with `int8` about
    a hundredth of the size of each linear layer's output is lost to rounding. On a GPU `bf16` is the whole model.
    """
    linear = linear_of(precision)
    weight = next(model.parameters(), None)
    if weight is None or weight.device.type == "cpu":
        return cast(Seq2Seq, _replaced(model, linear))
    if precision == "int8":
        raise UserError("precision int8 is for the CPU; on a GPU use bf16, or hide it with CUDA_VISIBLE_DEVICES=''")
    return model if precision == "fp32" else _cast(model, torch.bfloat16)


def _cast(model: Seq2Seq, dtype: torch.dtype) -> Seq2Seq:
    """A copy whose parameters have that type. Buffers keep theirs: the angles of rotary positions are computed from
    rates, of which bf16 keeps three digits, so that at position 300 an angle would be off by a whole turn."""
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.data = parameter.data.to(dtype)
    return twin


def _replaced(module: nn.Module, linear: MakeLinear) -> nn.Module:
    """A copy of a module that shares its tensors, with linear layers of the other kind."""
    if isinstance(module, nn.Linear):
        return linear(module.weight, module.bias)
    if isinstance(module, FeedForward):
        return PackedFeedForward(module, linear)
    if isinstance(module, Score):
        return module  # small, and some read the halves of their weights apart
    twin = copy.copy(module)
    twin._parameters = dict(module._parameters)
    twin._modules = {name: None if part is None else _replaced(part, linear) for name, part in module._modules.items()}
    if isinstance(module, Layer):
        twin.attention = PackedSelfAttention(module.attention, linear)
    if isinstance(module, DecoderLayer):
        twin.cross_attention = PackedCrossAttention(module.cross_attention, linear)
    if isinstance(module, Transformer | Recurrent | LanguageModel):
        twin.output = linear(*module.output_weights())
    if isinstance(twin, Transformer):
        twin.output_bias = None
        twin.__class__ = CompiledTransformer
        compiled = cast(CompiledTransformer, twin)
        compiled.least_rows = getattr(twin.output, "least_rows", 1)
        if linear is CompiledInt8Linear:
            compiled.use_integer_layers()
    return twin
