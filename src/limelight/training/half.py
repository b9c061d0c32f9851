"""A copy of a model in bf16 or fp16 that computes its updates, with fp32 master weights.

Autocast casts every weight in every forward pass and every input of a product; residual sums and normalization stay in
fp32. A model that is entirely in half precision reads and writes half as much everywhere. Precision is kept where it is
needed: the master weights are fp32, gradients of several batches are accumulated in fp32, and torch accumulates inside
products, normalization and softmax in fp32 (Micikevicius et al. 2018, section 3.1).
"""

import copy
from collections.abc import Callable

import torch

from limelight.models.interface import Model


class HalfCopy:
    """Replaces a model in forward and backward passes; gradients are added to those of the model's own weights.

    Buffers keep their precision: the angles of rotary positions need it.
    """

    def __init__(self, model: Model, dtype: torch.dtype = torch.bfloat16) -> None:
        self._model = copy.deepcopy(model)
        self._masters: list[torch.Tensor] = list(model.parameters())
        self._halves: list[torch.Tensor] = list(self._model.parameters())
        for master, half in zip(self._masters, self._halves, strict=True):
            half.data = half.data.to(dtype)
            if half.requires_grad:
                half.register_post_accumulate_grad_hook(_hand_on_to(master))

    @torch.no_grad()
    def refreshed(self) -> Model:
        """The copy with the current weights. Call it once per update, not for each batch."""
        torch._foreach_copy_(self._halves, self._masters)
        self._model.zero_grad(set_to_none=True)  # an interrupted backward pass may have left gradients
        return self._model


def _hand_on_to(master: torch.Tensor) -> Callable[[torch.Tensor], None]:
    """A hook that adds a complete gradient to that of the master weight, and frees it."""

    def hand_on(half: torch.Tensor) -> None:
        assert half.grad is not None
        if master.grad is None:
            master.grad = half.grad.to(master.dtype)
        else:
            master.grad += half.grad
        half.grad = None

    return hand_on
