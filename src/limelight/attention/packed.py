"""Multi-head attention with packed weights: products that read the same are joined to one."""

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.layers.packed import MakeLinear
from limelight.shapes import Float


class PackedSelfAttention(MultiHeadAttention):
    """The same attention, for what looks at itself: queries, keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size = attention.heads, attention.head_size
        self.joint_proj = _joined(linear, attention.query_proj, attention.key_proj, attention.value_proj)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def joint(self, inputs: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length 3 heads head_size"]:
        """Queries, keys and values side by side."""
        return self.joint_proj(inputs).unflatten(-1, (3, self.heads, self.head_size))

    def project_self(
        self, inputs: Float[Tensor, "batch length model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        # (batch, length, 3, heads, head_size) -> three of (batch, heads, length, head_size)
        queries, keys, values = self.joint(inputs).permute(2, 0, 3, 1, 4)
        return (queries, keys, values) if rotate is None else (rotate(queries), rotate(keys), values)


class PackedCrossAttention(MultiHeadAttention):
    """The same attention, for what looks at the source: keys and values in one product."""

    def __init__(self, attention: MultiHeadAttention, linear: MakeLinear) -> None:
        nn.Module.__init__(self)
        self.heads, self.head_size = attention.heads, attention.head_size
        self.query_proj = linear(attention.query_proj.weight, attention.query_proj.bias)
        self.memory_proj = _joined(linear, attention.key_proj, attention.value_proj)
        self.out_proj = linear(attention.out_proj.weight, attention.out_proj.bias)

    def joint_memory(self, memory: Float[Tensor, "batch key model"]) -> Float[Tensor, "batch key 2 heads head_size"]:
        """Keys and values side by side."""
        return self.memory_proj(memory).unflatten(-1, (2, self.heads, self.head_size))

    def project_memory(
        self, memory: Float[Tensor, "batch key model"], rotate: Rotate | None = None
    ) -> tuple[Tensor, Tensor]:
        # (batch, key, 2, heads, head_size) -> two of (batch, heads, key, head_size)
        keys, values = self.joint_memory(memory).permute(2, 0, 3, 1, 4)
        return keys if rotate is None else rotate(keys), values


def _joined(linear: MakeLinear, *layers: nn.Linear) -> nn.Module:
    """One product for layers that read the same."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return linear(weight, torch.cat([layer.bias.detach() for layer in layers]))
