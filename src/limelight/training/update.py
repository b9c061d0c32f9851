"""One update: forward, backward, clip, step."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.training.distributed import UNDIVIDED, Division
from limelight.training.loss import Learner, batch_loss


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update was made of."""

    loss_sum: float
    """Summed over tokens, with label smoothing, natural logarithm."""
    tokens: int
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
    division: Division = UNDIVIDED,
) -> UpdateResult:
    """Sum the gradients of all batches, divide by all their tokens, clip, step.

    The gradient is that of one batch holding all the sentences, however they were divided. Within `interruptible` the
    weights do not change: whatever it raises, nothing but the random state has moved. What learns is what `optimizer`
    was made for: `model` itself, or the weights that it stands in for (`HalfCopy`). Gradients are computed at
    `loss_scale` times their size, which nothing but their rounding in fp16 knows of. With a `division` this process
    computes its share of the batches, and takes part in the sum.
    """
    tokens = sum(batch.target_tokens for batch in batches)
    optimizer.zero_grad(set_to_none=True)
    losses = []
    with interruptible:
        for batch in division.own(batches):
            loss = batch_loss(model, batch, label_smoothing=label_smoothing)
            (loss / tokens * loss_scale).backward()
            losses.append(loss.detach())
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    loss_there = division.group.sum_gradients(learned, _sum(losses))
    limit = clip_norm if clip_norm > 0 else math.inf
    if loss_scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in learned if parameter.grad is not None], 1 / loss_scale)
    norm_there = nn.utils.clip_grad_norm_(learned, limit)
    loss_sum, norm = _read(loss_there, norm_there)  # the one time that the device is waited for
    applied = math.isfinite(loss_sum) and math.isfinite(norm) and min(norm, limit) < MAX_NORM
    if applied:
        optimizer.step()
    return UpdateResult(loss_sum, tokens, norm, applied)


def _sum(losses: Sequence[Tensor]) -> Tensor:
    """In double precision, where they are; MPS has none."""
    if not losses:
        return torch.zeros((), dtype=torch.float64)
    stacked = torch.stack(tuple(losses))
    return (stacked.cpu() if stacked.device.type == "mps" else stacked).double().sum()


def _read(loss: Tensor, norm: Tensor) -> tuple[float, float]:
    """Both numbers, in one copy from the device."""
    if norm.device.type == "mps":
        return loss.item(), norm.item()
    loss_sum, gradient_norm = torch.stack([loss.to(norm.device).double(), norm.double()]).tolist()
    return loss_sum, gradient_norm
