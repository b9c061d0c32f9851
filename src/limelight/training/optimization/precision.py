"""The precision of training: autocast, a half-precision copy of the model, and loss scaling.

Weights, accumulated gradients and optimizer state stay in fp32. Autocast casts every weight in every forward pass and
every input of a product; a model that is entirely in half precision reads and writes half as much everywhere. torch
accumulates inside products, normalization and softmax in fp32 (Micikevicius et al. 2018, section 3.1).

fp16 has a range of 6e-8 to 65,504. The loss is multiplied by a scale before the backward pass, so that small gradients
are not rounded to zero, and the fp32 gradients are divided by it before they are used (sections 3.2 and 3.3). If a
gradient overflows, the scale is halved and the update is skipped; after many updates without an overflow it is doubled.
Scales are powers of two, so scaling is exact.
"""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import torch

from limelight.capabilities import multiplies_bf16, multiplies_fp16
from limelight.errors import UserError
from limelight.models.interface import Model

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The precisions in which a copy of the model computes the updates (`HalfCopy`)."""


def choose_precision(name: str, device: torch.device) -> str:
    """Resolve `auto`: `bf16` if the hardware supports it, else `fp16` on a GPU that supports it, else `fp32`.

    Raises `UserError` for a precision that the device does not support.
    """
    best = "bf16" if multiplies_bf16(device) else "fp16" if multiplies_fp16(device) else "fp32"
    if name == "auto":
        return best
    if name == "bf16" and device.type == "cuda" and best != "bf16":
        raise UserError(f"training.precision=bf16, but this GPU cannot multiply bf16; set training.precision={best}")
    return name


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """A context in which products are computed in a precision.

    On a CPU without bf16 instructions products are computed in fp32, which is faster; and torch's autocast has no LSTM
    there (oneDNN's needs AVX-512). fp16 is always slow on a CPU.
    """
    half = HALVES.get(precision)
    fast = device.type != "cpu" or (precision == "bf16" and multiplies_bf16(device))
    return torch.autocast(device.type, dtype=half) if half is not None and fast else nullcontext()


@contextmanager
def deterministic_kernels(wanted: bool) -> Iterator[None]:
    """A context in which the whole process uses only deterministic kernels, if wanted. For a run, which owns its
    process."""
    before = torch.are_deterministic_algorithms_enabled()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read by cuBLAS with its first product
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


class HalfCopy:
    """Replaces a model in forward and backward passes; gradients are added to the gradients of the model's own weights.

    Buffers keep their precision: the angles of rotary positions need it.
    """

    def __init__(
        self,
        model: Model,
        dtype: torch.dtype = torch.bfloat16,
        *,
        arrived: Callable[[torch.Tensor], None] = lambda _: None,
    ) -> None:
        """`arrived` is called with a weight of `model` after a batch has added to its gradient."""
        self._model = copy.deepcopy(model)
        self._masters: list[torch.Tensor] = list(model.parameters())
        self._halves: list[torch.Tensor] = list(self._model.parameters())
        for master, half in zip(self._masters, self._halves, strict=True):
            half.data = half.data.to(dtype)
            if half.requires_grad:
                half.register_post_accumulate_grad_hook(partial(_hand_on, master, arrived))

    @torch.no_grad()
    def refreshed(self) -> Model:
        """The copy with the current weights. Call it once per update, not for each batch."""
        torch._foreach_copy_(self._halves, self._masters)
        self._model.zero_grad(set_to_none=True)  # an interrupted backward pass may have left gradients
        return self._model


def _hand_on(master: torch.Tensor, arrived: Callable[[torch.Tensor], None], half: torch.Tensor) -> None:
    """Add a complete gradient to the gradient of the master weight, and free it."""
    assert half.grad is not None
    if master.grad is None:
        master.grad = half.grad.to(master.dtype)
    else:
        master.grad += half.grad
    half.grad = None
    arrived(master)


FIRST_SCALE, MAX_SCALE = 2.0**16, 2.0**24
GROWTH_INTERVAL = 2000
"""Consecutive updates without an overflow after which the scale doubles; this number and the first scale are those of
`torch.amp.GradScaler`."""


def next_scale(scale: float, since_change: int, *, applied: bool) -> tuple[float, int]:
    """The scale of the next update, and the number of consecutive updates that were applied with it.

    Args:
        applied: whether the gradient of this update was finite.
    """
    if not applied:
        return max(1.0, scale / 2), 0
    if since_change + 1 == GROWTH_INTERVAL:
        return min(MAX_SCALE, scale * 2), 0
    return scale, since_change + 1
