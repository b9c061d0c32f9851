"""One update: forward, backward, clip, step."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import nn

from limelight.batching.batch import Batch
from limelight.training.loss import Learner, batch_loss


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update was made of."""

    loss_sum: float
    """Summed over pieces, with label smoothing, natural logarithm."""
    pieces: int
    gradient_norm: float
    applied: bool
    """False when loss or gradient was not a number to go on with: such an update changes nothing."""


MAX_NORM = math.sqrt(torch.finfo(torch.float32).max)
"""Adam keeps squares of gradients: of a larger one, finite as it may be, the square is not."""


def update(
    model: Learner,
    batches: Sequence[Batch],
    optimizer: torch.optim.Optimizer,
    *,
    label_smoothing: float,
    clip_norm: float,
    interruptible: AbstractContextManager[object],
    loss_scale: float = 1.0,
) -> UpdateResult:
    """Sum the gradients of all batches, divide by all their pieces, clip, step.

    The gradient is that of one batch holding all the sentences, however they were divided. Within `interruptible` the
    weights do not change: whatever it raises, nothing but the random state has moved. What learns is what `optimizer`
    was made for: `model` itself, or the weights that it stands in for (`HalfCopy`). Gradients are computed at
    `loss_scale` times their size, which nothing but their rounding in fp16 knows of.
    """
    pieces = sum(batch.target_pieces for batch in batches)
    optimizer.zero_grad(set_to_none=True)
    losses = []
    with interruptible:
        for batch in batches:
            loss = batch_loss(model, batch, label_smoothing=label_smoothing)
            (loss / pieces * loss_scale).backward()
            losses.append(loss.detach())
    loss_sum = sum(loss.item() for loss in losses)  # read when all work is on its way: a GPU is waited for once
    limit = clip_norm if clip_norm > 0 else math.inf
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if loss_scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in learned if parameter.grad is not None], 1 / loss_scale)
    norm = nn.utils.clip_grad_norm_(learned, limit).item()
    applied = math.isfinite(loss_sum) and math.isfinite(norm) and min(norm, limit) < MAX_NORM
    if applied:
        optimizer.step()
    return UpdateResult(loss_sum, pieces, norm, applied)
