"""One update: forward, backward, gradient clipping, optimizer step; also with passes compiled by torch.compile
(`training.compile`).

One sample batch compiles both passes for any sizes before the first update. A batch to which that code does not apply,
such as one with a single row, is computed by the model itself. So the compiled code depends on the configuration alone,
not on the first batch: a resumed run computes with the same code.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch, make_blocks, pad_rows
from limelight.errors import UserError
from limelight.models.interface import Model
from limelight.models.transformer import SSRUDecoder, Transformer
from limelight.models.transformer.halves import DecoderOnly
from limelight.shapes import Float
from limelight.training.distributed import ALONE, Group
from limelight.training.optimization.loss import Learner, batch_loss


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
    batches: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    *,
    tokens: int | None = None,
    label_smoothing: float,
    clip_norm: float,
    interruptible: AbstractContextManager[object],
    loss_scale: float = 1.0,
    group: Group = ALONE,
) -> UpdateResult:
    """Sum the gradients of all batches, divide by all their `tokens`, clip, step.

    The gradient equals that of one batch with all sentences, however they are divided into batches. Within
    `interruptible` only the random state changes, so it may raise. `optimizer` updates the parameters of `model`, or
    those that it replaces (`HalfCopy`). Gradients are multiplied by `loss_scale` in the backward pass and divided by it
    afterwards, which only affects rounding in fp16. With a `group`, `batches` are those of this process, `tokens` are
    counted over all processes, and gradients are summed over them.
    """
    if tokens is None:
        batches = list(batches)
        tokens = sum(batch.target_tokens for batch in batches)
    optimizer.zero_grad(set_to_none=True)
    losses = []
    with interruptible:
        for batch in batches:
            loss = batch_loss(model, batch, label_smoothing=label_smoothing)
            (loss / tokens * loss_scale).backward()
            losses.append(loss.detach())
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    loss_there = group.sum_gradients(learned, _sum(losses))
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


BACKEND = "inductor"
ROWS, SOURCE, TARGET = 40, 27, 31
"""The sizes of the sample batch. Three different numbers: sizes that are equal would be compiled as one."""


class Compiled:
    """Replaces a model while losses are computed; weights and gradients are the model's.

    The random numbers of dropout are those of the model, so losses and gradients are equal but for rounding. Validation
    and the saved model are independent of it.
    """

    def __init__(self, model: Model, backend: str | Callable[..., object] = BACKEND) -> None:
        self._model = model
        # Random numbers of torch's own kernels, not of generated code, which draws others.
        options: dict[str, Any] | None = {"fallback_random": True} if backend == "inductor" else None
        self._forward = torch.compile(model, dynamic=True, fullgraph=True, backend=backend, options=options)

    def __call__(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features at every place of `batch.target_out`."""
        with torch.compiler.set_stance("eager_on_recompile"):
            return self._forward(batch)

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return self._model.output_weights()

    def compile(self, batch: Batch) -> None:
        """Compile both passes, with a batch whose sizes are all different and above 1. Raises whatever the compiler
        raises. It leaves gradients, which an update clears before its own."""
        self._forward(batch).square().sum().backward()


def compiled_or_none(model: Model, device: torch.device, say: Callable[[str], None]) -> Compiled | None:
    """The model with compiled passes; None, and one line to `say`, where this machine cannot compile them."""
    compiled = Compiled(model)
    say("compiling the model (training.compile) ...")
    try:
        compiled.compile(sample_batch(model).to(device))
    except Exception as error:  # of a compiler: dozens of kinds
        cause = getattr(error, "inner_exception", error)
        reason = next((line.strip() for line in str(cause).splitlines() if line.strip()), "")
        say(
            f"training.compile: the model cannot be compiled on this machine ({type(cause).__name__}: {reason[:200]}); "
            "training continues without"
        )
        return None
    return compiled


def sample_batch(model: Model) -> Batch:
    """A batch of made-up tokens, with padding on both sides."""
    if isinstance(model, DecoderOnly):
        ids, _ = pad_rows([[1] * (TARGET + 1)] * ROWS, 1)
        return make_blocks(ids.numpy())
    assert isinstance(model, Transformer)
    sources, targets = ([[1] * (longest - 1 - row % 4) for row in range(ROWS)] for longest in (SOURCE, TARGET))
    return model.batch(sources, targets)


def require_compilable(model: Model) -> None:
    """Raise `UserError` for a model whose passes cannot be compiled as a whole."""
    if not isinstance(model, Transformer | DecoderOnly):
        raise UserError(
            f"training.compile=true is for models of the families transformer and decoder_only, and this is a "
            f"{type(model).__name__}; leave it out"
        )
    if isinstance(model, Transformer) and isinstance(model.decoder, SSRUDecoder):
        raise UserError(
            "training.compile=true: model.decoder_autoreg=ssru runs a loop over the positions of the target, which is "
            "compiled for one length only; leave one of them out"
        )
