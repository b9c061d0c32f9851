"""Optimizers: Adam for all parameters, or Muon for the inner matrices and Adam for the rest.

Learning rate schedules are stateless functions of the progress of training; some fit a budget of updates or minutes.
"""

import math
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from limelight.capabilities import multiplies_bf16
from limelight.config import RunConfig, TrainingConfig
from limelight.layers.embedding import LearnedPositions, TokenEmbedding
from limelight.shapes import Float

MOMENTUM = 0.95
LENGTH = 0.4
"""Root mean square of the elements of an orthogonal step at rate 1; Adam's is between 0.2 and 0.4 (Liu et al. 2025,
section 2.2), so that one learning rate suits both."""
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
"""Newton-Schulz iterations: after 5 all singular values are between 0.7 and 1.2 (Jordan et al. 2024)."""


def make_optimizer(
    model: nn.Module, *, kind: str = "adam", beta1: float, beta2: float, epsilon: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015) in its fused form, decay decoupled from the gradient (Loshchilov & Hutter 2019), or Muon.

    Vectors (biases, norms) are not decayed. The caller sets the learning rate before each step.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [parameter for parameter in parameters if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in parameters if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    settings: dict[str, Any] = {"lr": 0.0, "betas": (beta1, beta2), "eps": epsilon, "fused": True}
    if kind == "adam":
        return torch.optim.AdamW(groups, **settings)
    outer = {id(weight) for weight in _outer_weights(model)}
    inner = [parameter for parameter in groups[0]["params"] if parameter.ndim == 2 and id(parameter) not in outer]
    return Muon(inner, groups, **settings)


def optimizer_of(model: nn.Module, training: TrainingConfig) -> torch.optim.Optimizer:
    """The optimizer of a run."""
    return make_optimizer(
        model,
        kind=training.optimizer,
        beta1=training.beta1,
        beta2=training.beta2,
        epsilon=training.epsilon,
        weight_decay=training.weight_decay,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class Muon(torch.optim.AdamW):
    """Muon for matrices, Adam for all other parameters. Steps of a matrix are orthogonalized, so that all directions
    have a similar size (Jordan et al. 2024; Bernstein & Newhouse 2024).

    A step of a matrix is `LENGTH sqrt(max(rows, columns))` times the nearest orthogonal matrix to Nesterov's momentum.
    On a CPU it takes about a seventh of an update of `small`; docs/performance.md has the gains.
    """

    def __init__(self, inner: list[nn.Parameter], groups: list[dict[str, Any]], **settings: Any) -> None:
        """`inner` are the parameters in `groups` that get orthogonal steps."""
        super().__init__(groups, **settings)
        self._inner = {id(parameter) for parameter in inner}

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One optimizer step. The gradients of the matrices are removed. As in fused AdamW, nothing changes if
        `found_inf` is set and not zero; no one waits for its value."""
        found_inf = getattr(self, "found_inf", None)
        with torch.no_grad():
            for group in self.param_groups:
                inner = [each for each in group["params"] if id(each) in self._inner and each.grad is not None]
                self._step_orthogonally(inner, found_inf, rate=group["lr"], decay=group["weight_decay"])
        super().step()  # Adam skips parameters without a gradient

    def _step_orthogonally(
        self, parameters: list[nn.Parameter], found_inf: Tensor | None, *, rate: float, decay: float
    ) -> None:
        of_a_shape: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
        for parameter in parameters:
            of_a_shape[tuple(parameter.shape)].append(parameter)
        for alike in of_a_shape.values():
            steps = orthogonal(torch.stack([self._direction(parameter, found_inf) for parameter in alike]))
            kept: Tensor | float = 1 - rate * decay
            if found_inf is not None:
                steps, kept = steps.where(found_inf == 0, 0.0), torch.where(found_inf == 0, kept, 1.0)
            for parameter, step in zip(alike, steps.unbind(), strict=True):
                parameter.mul_(kept).add_(step, alpha=-rate * LENGTH * math.sqrt(max(parameter.shape)))
                parameter.grad = None

    def _direction(self, parameter: nn.Parameter, found_inf: Tensor | None) -> Tensor:
        """Add the gradient to the momentum, and return Nesterov's momentum: the gradient plus that of all gradients."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum, gradient = state["momentum"], parameter.grad
        # A gradient equal to the momentum leaves it as it is.
        gradient = gradient if found_inf is None else gradient.where(found_inf == 0, momentum)
        momentum.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def orthogonal(matrices: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "batch rows columns"]:
    """Approximately U V' for each matrix U S V', by five iterations of X <- a X + b (X X') X + c (X X')^2 X.

    In bf16 if the hardware supports it: the rounding error is smaller than the error of the iterations.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    found = matrices.mT if tall else matrices
    found = found / found.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    if multiplies_bf16(matrices.device):
        found = found.bfloat16()
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        square = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(square, square, square, beta=b, alpha=c), found, beta=a)
    return (found.mT if tall else found).to(matrices.dtype)


def _outer_weights(model: nn.Module) -> Iterable[Tensor]:
    """The embeddings and output matrices, whose rows are tokens or positions: most rows have no gradient in a step."""
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            yield module.weight
        elif isinstance(module, LearnedPositions):
            yield module.table
    output = getattr(model, "output", None)
    if isinstance(output, nn.Linear):
        yield output.weight


WARMUP_SHARE = 0.1
"""Maximum share of the budget for the warm-up, if the rate is fitted to the budget."""
DECAY_SHARE = 0.2
"""Share of the training in which `wsd` decays: longer gains nothing (Haegele et al. 2024, section 4)."""
FEWEST_RISING = 16
"""Minimum number of warm-up updates, if the warm-up is fitted to minutes: the first updates are slow on many machines,
and Adam's estimates need some updates."""


def learning_rate(step: int, *, schedule: str, peak: float, warmup: int, d_model: int, done: float = 0.0) -> float:
    """The learning rate of update `step` >= 1, when a share `done` of the training after the warm-up is completed.

    | schedule       | after a linear rise over `warmup` updates                                                    |
    |----------------|----------------------------------------------------------------------------------------------|
    | `paper`        | peak * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3,    |
    |                | where the factor is 1)                                                                       |
    | `inverse_sqrt` | peak * sqrt(warmup / step): the same curve, named by the rate it reaches at its top          |
    | `cosine`       | half a cosine from peak down to a hundredth of it at the end (Loshchilov & Hutter 2017)       |
    | `constant`     | peak                                                                                         |
    | `wsd`          | peak, and over the last fifth peak * (1 - sqrt(share of it)) down to a hundredth             |
    |                | (warm-up, stable, decay: Hu et al. 2024; the form of the decay: Haegele et al. 2024)         |
    """
    rise = min(1.0, step / max(1, warmup))
    if schedule == "paper":
        return peak * d_model**-0.5 * min(step**-0.5, step * max(1, warmup) ** -1.5)
    if schedule == "inverse_sqrt":
        return peak * rise * math.sqrt(max(1, warmup) / max(step, warmup, 1))
    if schedule == "cosine":
        return fitted_rate(peak, risen=rise, done=done)
    if schedule == "constant":
        return peak * rise
    if schedule == "wsd":
        decayed = max(0.0, min(1.0, done) - (1 - DECAY_SHARE)) / DECAY_SHARE
        return peak * rise * (0.01 + 0.99 * (1 - math.sqrt(decayed)))
    raise ValueError(f"unknown schedule {schedule!r}")


def fitted_rate(peak: float, *, risen: float, done: float) -> float:
    """The learning rate of a run fitted to its budget: `risen` and `done`, from 0 to 1, are the completed shares
    of the warm-up and of the rest. Half a cosine falls to a hundredth of the peak (Loshchilov & Hutter 2017)."""
    return peak * risen * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def peak_rate(peak: float, *, schedule: str, warmup: int, d_model: int) -> float:
    """The maximum rate of a schedule."""
    return peak * (d_model * max(1, warmup)) ** -0.5 if schedule == "paper" else peak


def share_risen(
    step: int, seconds: float, *, warmup: int, last_step: int | None = None, last_second: float | None = None
) -> float:
    """The completed share of the warm-up at update `step` >= 1, from 0 to 1.

    It takes `warmup` updates, or `WARMUP_SHARE` of the way to `last_step` or `last_second` if that is less.
    """
    shares = [step / max(1, warmup)]
    if last_step is not None:
        shares.append(step / (WARMUP_SHARE * last_step))
    if last_second is not None:
        shares.append(min(seconds / (WARMUP_SHARE * last_second), step / FEWEST_RISING))
    return min(1.0, max(shares))


def share_done(step: int, seconds: float, *, warmup: int, last_step: int | None, last_second: float | None) -> float:
    """The completed share of the training from the end of the warm-up to the nearer bound, 0 to 1; 0 without a bound.

    It is 0 at the first update after the warm-up and 1 at the last one. With a bound in time, runs are not exactly
    reproducible; they do not make the same number of updates either.
    """
    by_steps = max(0, step - warmup) / max(1, last_step - warmup) if last_step is not None else 0.0
    by_clock = seconds / last_second if last_second is not None else 0.0
    return min(1.0, max(by_steps, by_clock))


FEWEST_UPDATES, FEWEST_VALIDATIONS = 100, 5
"""Minimum updates between validations, and minimum validations of the patience, if these are given in epochs."""
PACE_OF = 50
"""Number of updates from which the duration of the next one is estimated."""
_PLACES, _EPOCHS, _EXPONENT = 700_000, 8.0, -0.4
"""Text of `_PLACES` positions in batches needs `_EPOCHS` epochs; other amounts scale by this exponent. Measured only on
Multi30k; the exponent is that of the vocabulary's size."""


class Clock:
    """Training time in seconds, including the time before this process."""

    def __init__(self, before: float) -> None:
        self._began = time.monotonic() - before

    def seconds(self) -> float:
        """Training time so far, interruptions not counted."""
        return time.monotonic() - self._began


class UpdateTimer:
    """The duration of updates: the median of the last ones, which is robust against single slow ones. The first two of
    a process, which allocate memory and may compile, are not counted."""

    def __init__(self) -> None:
        self._durations: deque[float] = deque(maxlen=PACE_OF)
        self._first: list[float] = []
        self.total = 0.0
        """Seconds of all counted updates."""
        self.told = False
        """Whether the expected duration was reported."""

    def add(self, seconds: float) -> None:
        """Count an update that took `seconds`."""
        (self._first if len(self._first) < 2 else self._durations).append(seconds)
        self.total += seconds

    def seconds(self) -> float:
        """Median seconds per update; 0 before the first counted one."""
        return statistics.median(self._durations or self._first or [0.0])


def rate_of(config: RunConfig, step: int, seconds: float = 0.0, *, reserve: float = 0.0) -> float:
    """The learning rate of update `step` >= 1 after `seconds` of training. A rate fitted to minutes decays until
    the `reserve` of seconds for the last validation begins."""
    training, width = config.training, config.model.width
    if is_fitted(training):
        peak = peak_rate(training.learning_rate, schedule=training.schedule, warmup=training.warmup, d_model=width)
        warmup = training.warmup
        if training.max_steps is not None:
            warmup = min(warmup, math.ceil(WARMUP_SHARE * training.max_steps))
        end = last_second(training)
        end = None if end is None else max(0.5 * end, end - reserve)
        done = share_done(step, seconds, warmup=warmup, last_step=training.max_steps, last_second=end)
        return fitted_rate(peak, risen=_risen(training, step, seconds), done=done)
    return learning_rate(
        step,
        schedule=training.schedule,
        peak=training.learning_rate,
        warmup=training.warmup,
        d_model=width,
        done=share_done(
            step,
            seconds,
            warmup=training.warmup,
            last_step=training.decay_steps or training.max_steps,
            last_second=None if training.decay_steps else last_second(training),
        ),
    )


def is_fitted(training: TrainingConfig) -> bool:
    """Whether there is a budget and the rate is fitted to it."""
    return training.fit_to_budget and (training.max_steps is not None or training.max_minutes is not None)


def last_second(training: TrainingConfig) -> float | None:
    """The time limit of a run in seconds; None without one."""
    return None if training.max_minutes is None else 60 * training.max_minutes


def is_warming_up(training: TrainingConfig, step: int, seconds: float) -> bool:
    """Whether the warm-up is not finished after `step` updates."""
    return _risen(training, max(1, step), seconds) < 1


def _risen(training: TrainingConfig, step: int, seconds: float) -> float:
    if not is_fitted(training):
        return share_risen(step, seconds, warmup=training.warmup)
    return share_risen(
        step, seconds, warmup=training.warmup, last_step=training.max_steps, last_second=last_second(training)
    )


def validation_interval(training: TrainingConfig, epoch: float) -> int:
    """Updates between validations; an epoch has about `epoch` updates."""
    return training.validate_every or max(FEWEST_UPDATES, round(training.validate_epochs * epoch))


def patience_of(training: TrainingConfig, epoch: float) -> int:
    """Number of validations without a gain after which a run ends."""
    interval = validation_interval(training, epoch)
    return training.patience or max(FEWEST_VALIDATIONS, math.ceil(training.patience_epochs * epoch / interval))


def reasonable_epochs(places: float) -> float:
    """The number of epochs until a model is useful, for text with `places` positions in the batches of an epoch."""
    return min(100.0, _EPOCHS * (max(1.0, places) / _PLACES) ** _EXPONENT)


def expectation(
    config: RunConfig, *, step: int, seconds: float, pace: float, epoch: float, reserve: float, amount: str
) -> str:
    """A description of the expected duration of a run.

    Args:
        step: updates done so far, in `seconds` of training.
        pace: seconds per update.
        epoch: updates per epoch.
        reserve: seconds reserved for the last validation.
        amount: the amount of text of an epoch, in words.
    """
    training = config.training
    by_clock = last_second(training)
    if by_clock is None and training.max_steps is None:
        return f"an epoch of {amount} is about {epoch:,.0f} updates and takes {_minutes(epoch * pace)}"
    ends = [training.max_steps] if training.max_steps is not None else []
    if by_clock is not None:
        ends.append(step + max(0, int((by_clock - seconds - reserve) / pace)))
    updates = min(ends)
    whole = seconds + (updates - step) * pace + reserve
    text = f"about {updates:,} updates in {_minutes(whole)}: {updates / epoch:.2g} epochs of {amount}"
    wanted = reasonable_epochs(epoch * training.accumulate * config.batching.tokens)
    if updates < 0.8 * wanted * epoch and not config.begin_with:  # a model that has learned needs few
        text += f"; for so much text {_minutes(wanted * epoch * pace)} ({wanted:.2g} epochs) are reasonable"
    if not is_fitted(training) and training.warmup > 0.5 * updates:
        text += (
            f". The warm-up of {training.warmup:,} updates takes most or all of that: lower training.warmup, or set "
            "training.fit_to_budget=true"
        )
    return text


def _minutes(seconds: float) -> str:
    """A time in words."""
    minutes = max(1, round(seconds / 60))
    if minutes >= 100:
        return f"{seconds / 3600:.2g} hours"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
