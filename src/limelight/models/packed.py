"""A model made ready for decoding on a CPU: weights packed once, products that share their input joined to one.

It is the same model behind the same interface and shares every tensor that stays as it is; only its linear layers are
others. It cannot be trained.
"""

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.attention.scores import Score
from limelight.layers.feed_forward import FeedForward
from limelight.layers.packed import MakeLinear, linear_of
from limelight.models.interface import Seq2Seq
from limelight.models.recurrent import Recurrent
from limelight.models.transformer import DecoderLayer, EncoderLayer, Transformer
from limelight.shapes import Float


def pack(model: Seq2Seq, precision: str) -> Seq2Seq:
    """The model with packed weights. Raises `UserError` for an unknown precision.

    Embeddings, normalisation, attention and softmax stay in fp32, and so do recurrent cells; with `int8` about a
    hundredth of the size of each linear layer's output is lost to rounding.
    """
    return cast(Seq2Seq, _replaced(model, linear_of(precision)))


def _replaced(module: nn.Module, linear: MakeLinear) -> nn.Module:
    """A copy of a module that shares its tensors, with linear layers of the other kind."""
    if isinstance(module, nn.Linear):
        return linear(module.weight, module.bias)
    if isinstance(module, FeedForward):
        return PackedFeedForward(module, linear)
    if isinstance(module, Score):
        return module  # small, and some read the halves of their weights apart
    twin = copy.copy(module)
    twin._parameters, twin._modules = dict(module._parameters), dict(module._modules)
    for name, child in module.named_children():
        twin._modules[name] = _replaced(child, linear)
    if isinstance(module, EncoderLayer | DecoderLayer):
        twin.attention = PackedSelfAttention(module.attention, linear)
    if isinstance(module, DecoderLayer):
        twin.cross_attention = PackedCrossAttention(module.cross_attention, linear)
    if isinstance(module, Transformer | Recurrent):
        twin.output = linear(*module.output_weights())
    if isinstance(twin, Transformer):
        twin.output_bias = None
    return twin


class PackedSelfAttention(MultiHeadAttention):
    """The same attention, for what looks at itself: queries, keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size = attention.heads, attention.head_size
        self.joint_proj = _joined(linear, attention.query_proj, attention.key_proj, attention.value_proj)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def project_self(
        self, inputs: Float[Tensor, "batch length model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = _split_into(3, self.joint_proj(inputs), self.heads)
        return (queries, keys, values) if rotate is None else (rotate(queries), rotate(keys), values)


class PackedCrossAttention(MultiHeadAttention):
    """The same attention, for what looks at the source: keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size = attention.heads, attention.head_size
        self.query_proj = linear(attention.query_proj.weight, attention.query_proj.bias)
        self.memory_proj = _joined(linear, attention.key_proj, attention.value_proj)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def project_memory(
        self, memory: Float[Tensor, "batch key model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor]:
        keys, values = _split_into(2, self.memory_proj(memory), self.heads)
        return keys if rotate is None else rotate(keys), values


class PackedFeedForward(nn.Module):
    """The same network; the rectifier works in place."""

    def __init__(self, feed_forward: FeedForward, linear: MakeLinear) -> None:
        super().__init__()
        self.inner = linear(feed_forward.inner.weight, feed_forward.inner.bias)
        rectifies = isinstance(feed_forward.activation, nn.ReLU)
        self.activation = nn.ReLU(inplace=True) if rectifies else feed_forward.activation
        self.outer = linear(feed_forward.outer.weight, feed_forward.outer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """Each position on its own."""
        return self.outer(self.activation(self.inner(inputs)))


def _joined(linear: MakeLinear, *layers: nn.Linear) -> Any:
    """One product for layers that read the same."""
    return linear(torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers]))


def _split_into(parts: int, projected: Float[Tensor, "batch length inner"], heads: int) -> tuple[Tensor, ...]:
    # (batch, length, parts * heads * head_size) -> parts of (batch, heads, length, head_size)
    apart = projected.unflatten(-1, (parts, heads, -1))
    return apart.permute(2, 0, 3, 1, 4).unbind(0)
