"""One update: forward, backward, gradient clipping, optimizer step; also with passes compiled by torch.compile
(`training.compile`).

One sample batch compiles both passes for any sizes before the first update. A batch to which that code does not apply,
such as one with a single row, is computed by the model itself. So the compiled code depends on the configuration alone,
not on the first batch: a resumed run computes with the same code.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch, make_blocks
from limelight.errors import UserError, shown
from limelight.models.interface import Model
from limelight.models.transformer.halves import DecoderOnly
from limelight.models.transformer.model import Transformer
from limelight.models.transformer.ssru import SSRULayer
from limelight.shapes import Float
from limelight.training.gradient_sum import GradientSum
from limelight.training.optimization.loss import LossFunction, LossModel


class UpdateResult(NamedTuple):
    """The result of an update."""

    loss_sum: float
    """Summed over tokens, with label smoothing, natural logarithm."""
    tokens: int
    gradient_norm: float
    applied: bool
    """False if loss or gradient was not finite: such an update changes no weights."""


class PendingUpdate:
    """The result of an update that the device may still be computing."""

    def __init__(self, loss: Tensor, norm: Tensor, applied: Tensor, tokens: int) -> None:
        self._tokens, self._event = tokens, None
        kind = torch.float32 if norm.device.type == "mps" else torch.float64
        self._numbers = torch.stack([number.to(norm.device, kind) for number in (loss, norm, applied)])
        if norm.device.type == "cuda":  # copied now: a later copy would wait for the next update, too
            on_device, self._numbers = self._numbers, torch.empty(3, dtype=kind, pin_memory=True)
            self._numbers.copy_(on_device, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(norm.device))  # it may not be the current GPU

    def read(self) -> UpdateResult:
        """Wait for the update: the only synchronization with the device."""
        if self._event is not None:
            self._event.synchronize()
        loss_sum, norm, applied = self._numbers.tolist()
        return UpdateResult(loss_sum, self._tokens, norm, bool(applied))


MAX_NORM = math.sqrt(torch.finfo(torch.float32).max)
"""Maximum gradient norm: Adam squares gradients, and the square of a larger one is not finite in fp32."""


def update(
    model: LossModel,
    batches: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    *,
    loss: LossFunction,
    clip_norm: float,
    interruptible: AbstractContextManager[object],
    tokens: int,
    loss_scale: float = 1.0,
    sums: GradientSum | None = None,
) -> PendingUpdate:
    """Sum the gradients of all batches, divide by all their `tokens`, clip, step.

    The gradient equals the gradient of one batch with all sentences, however they are divided into batches. Within
    `interruptible` only the random state and gradients change, and these are cleared first, so it may raise.
    `optimizer` updates the parameters of `model`, or those that it replaces (`HalfCopy`). Gradients are multiplied by
    `loss_scale` in the backward pass and divided by it afterwards, which only affects rounding in fp16. With `sums`,
    which has begun, `batches` are the batches of this process, `tokens` are counted over all processes, and gradients
    are summed over them.

    Nothing waits for the device: a fused optimizer decides there whether the step is applied.
    """
    if sums is None:
        optimizer.zero_grad(set_to_none=True)
    losses = []
    with interruptible:
        for batch in batches:
            summed = loss(model, batch)
            (summed / tokens * loss_scale).backward()
            losses.append(summed.detach())
    total = _sum(losses)
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if sums is not None:
        total = sums.finish(total)
    limit = clip_norm or math.inf
    if loss_scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in learned if parameter.grad is not None], 1 / loss_scale)
    norm = nn.utils.clip_grad_norm_(learned, limit)
    applied = total.isfinite().to(norm.device) & norm.isfinite() & (norm.clamp(max=limit) < MAX_NORM)
    optimizer.found_inf = (~applied).float()  # type: ignore[attr-defined]  # as `torch.amp.GradScaler` does
    optimizer.step()
    return PendingUpdate(total, norm, applied, tokens)


def _sum(losses: Sequence[Tensor]) -> Tensor:
    """The sum in double precision, on their device; MPS has no float64."""
    if not losses:
        return torch.zeros((), dtype=torch.float64)
    stacked = torch.stack(tuple(losses))
    return (stacked.cpu() if stacked.device.type == "mps" else stacked).double().sum()


BACKEND = "inductor"
ROWS, SOURCE, TARGET = 40, 27, 31
"""The sizes of the sample batch. Three different numbers: sizes that are equal would be compiled as one."""


class Compiled:
    """Replaces a model while losses are computed; weights and gradients are the model's.

    Dropout draws the same random numbers as in the model, so losses and gradients are equal but for rounding.
    Validation and the saved model are independent of it.
    """

    def __init__(self, model: Model, backend: str | Callable[..., object] = BACKEND) -> None:
        self._model = model
        # Random numbers of torch's own kernels, not of generated code, which draws others.
        options: dict[str, Any] | None = {"fallback_random": True} if backend == "inductor" else None
        self._forward = torch.compile(model, dynamic=True, fullgraph=True, backend=backend, options=options)

    def __call__(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features at every position of `batch.target_out`."""
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
        reason = shown(str(getattr(error, "inner_exception", error)).strip().partition("\n")[0])
        say(f"training.compile: the model cannot be compiled on this machine ({reason}); training continues without")
        return None
    return compiled


def sample_batch(model: Model) -> Batch:
    """A batch of made-up tokens, with padding on both sides."""
    if isinstance(model, DecoderOnly):
        return make_blocks(torch.ones(ROWS, TARGET + 1, dtype=torch.int64).numpy())
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
    if any(isinstance(module, SSRULayer) for module in model.modules()):
        raise UserError(
            "training.compile=true: model.decoder_autoreg=ssru runs a loop over the positions of the target, which is "
            "compiled for one length only; leave one of them out"
        )
