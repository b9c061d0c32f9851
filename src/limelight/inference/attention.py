"""Multi-head attention with packed weights: products that have the same input are joined to one."""

import copy

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.inference.linear import MakeLinear
from limelight.shapes import Float


class PackedSelfAttention(MultiHeadAttention):
    """Self-attention with packed weights: queries, keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size, self.value_size = attention.heads, attention.head_size, attention.value_size
        self.score = copy.deepcopy(attention.score)
        layers = (attention.query_proj, attention.key_proj, attention.value_proj)
        self.widths = [layer.out_features for layer in layers]
        self.joint_proj = _joined(linear, *layers)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def project_self(
        self, inputs: Float[Tensor, "batch length model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = map(self._split, self.joint_proj(inputs).split(self.widths, dim=-1))
        return queries if rotate is None else rotate(queries), self.prepare_keys(keys, rotate), values


class PackedCrossAttention(MultiHeadAttention):
    """Cross-attention with packed weights: keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size, self.value_size = attention.heads, attention.head_size, attention.value_size
        self.score = copy.deepcopy(attention.score)
        layers = (attention.key_proj, attention.value_proj)
        self.widths = [layer.out_features for layer in layers]
        self.query_proj = linear(attention.query_proj.weight, attention.query_proj.bias)
        self.memory_proj = _joined(linear, *layers)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def project_memory(
        self, memory: Float[Tensor, "batch key model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor]:
        keys, values = map(self._split, self.memory_proj(memory).split(self.widths, dim=-1))
        return self.prepare_keys(keys, rotate), values


def _joined(linear: MakeLinear, *layers: nn.Linear) -> nn.Module:
    """One product for layers that have the same input."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return linear(weight, torch.cat([layer.bias.detach() for layer in layers]))
