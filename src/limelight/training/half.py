"""A copy of a model in bf16 or fp16 that computes updates for it, so that nothing has to be cast at a product.

Autocast casts every weight in every forward pass, and what goes into every product; between products, sums and
normalization stay in fp32. A model that is in half precision throughout reads and writes half as much everywhere. What
needs more digits has them: the weights that learn are the fp32 ones, gradients of several batches are added in fp32,
and torch keeps the sums inside products, normalization and softmax in fp32 (Micikevicius et al. 2018, section 3.1).
"""

import copy
from collections.abc import Callable

import torch

from limelight.models.interface import Model


class HalfCopy:
    """Stands in for a model in forward and backward passes; the gradients arrive at the model's own weights.

    Buffers keep their precision: angles of rotary positions would be useless in three digits.
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
        """The copy with the weights as they are now: to be asked for at each update, not at each of its batches."""
        torch._foreach_copy_(self._halves, self._masters)
        self._model.zero_grad(set_to_none=True)  # there is one where a backward pass was broken off
        return self._model


def _hand_on_to(master: torch.Tensor) -> Callable[[torch.Tensor], None]:
    """Adds a gradient to that of the master as soon as it is whole, and lets go of it."""

    def hand_on(half: torch.Tensor) -> None:
        assert half.grad is not None
        if master.grad is None:
            master.grad = half.grad.to(master.dtype)
        else:
            master.grad += half.grad
        half.grad = None

    return hand_on
