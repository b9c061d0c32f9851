"""Learning rate schedules: stateless functions of the progress of training."""

import math

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
        return peak * rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
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
