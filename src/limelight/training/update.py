"""One update: forward, backward, gradient clipping, optimizer step."""

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
    """The result of an update."""

    loss_sum: float
    """Summed over tokens, with label smoothing, natural logarithm."""
    tokens: int
    gradient_norm: float
    applied: bool
    """False if loss or gradient was not finite: such an update changes no weights."""


MAX_NORM = math.sqrt(torch.finfo(torch.float32).max)
"""Maximum gradient norm: Adam squares gradients, and the square of a larger one is not finite in fp32."""


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

    The gradient equals that of one batch with all sentences, however they are divided into batches. Within
    `interruptible` only the random state changes, so it may raise. `optimizer` updates the parameters of `model`, or
    those that it replaces (`HalfCopy`). Gradients are multiplied by `loss_scale` in the backward pass and divided by it
    afterwards, which only affects rounding in fp16. With a `division` this process computes its share of the batches
    and takes part in the sum.
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
    loss_sum, norm = _read(loss_there, norm_there)  # the only synchronization with the device
    applied = math.isfinite(loss_sum) and math.isfinite(norm) and min(norm, limit) < MAX_NORM
    if applied:
        optimizer.step()
    return UpdateResult(loss_sum, tokens, norm, applied)


def _sum(losses: Sequence[Tensor]) -> Tensor:
    """The sum in double precision, on their device; MPS has no float64."""
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
