"""The learning rate as a function of where training stands. No state, so resuming cannot get it wrong."""

import math

WARMUP_SHARE = 0.1
"""Of a budget that the rate is fitted to, the warm-up takes so much at most."""
DECAY_SHARE = 0.2
"""Of the way to the end `wsd` decays over so much: longer gains nothing (Haegele et al. 2024, section 4)."""
FEWEST_RISING = 16
"""Where the warm-up is fitted to minutes, it takes so many updates at least: the first ones are slow on many machines,
and Adam's estimates need some updates."""


def learning_rate(step: int, *, schedule: str, peak: float, warmup: int, d_model: int, done: float = 0.0) -> float:
    """The rate of update `step` >= 1, when a share `done` of the way to the end lies behind.

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
    """The rate of a run that fits its budget: `risen` and `done` are the shares of the rise and of the way to the end
    that lie behind, from 0 to 1. Half a cosine falls to a hundredth of the peak (Loshchilov & Hutter 2017)."""
    return peak * risen * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def peak_rate(peak: float, *, schedule: str, warmup: int, d_model: int) -> float:
    """The highest rate that a schedule reaches."""
    return peak * (d_model * max(1, warmup)) ** -0.5 if schedule == "paper" else peak


def share_risen(
    step: int, seconds: float, *, warmup: int, last_step: int | None = None, last_second: float | None = None
) -> float:
    """How much of the warm-up is done at update `step` >= 1, from 0 to 1.

    It takes `warmup` updates, or `WARMUP_SHARE` of the way to `last_step` or `last_second` if that is less.
    """
    shares = [step / max(1, warmup)]
    if last_step is not None:
        shares.append(step / (WARMUP_SHARE * last_step))
    if last_second is not None:
        shares.append(min(seconds / (WARMUP_SHARE * last_second), step / FEWEST_RISING))
    return min(1.0, max(shares))


def share_done(step: int, seconds: float, *, warmup: int, last_step: int | None, last_second: float | None) -> float:
    """How much of the way from the end of the warm-up to the nearer bound lies behind, from 0 to 1; 0 without a bound.

    The first update after the warm-up stands at the beginning, the last one at the end. By the clock, two runs are
    never quite the same; but neither do they make the same number of updates.
    """
    by_steps = max(0, step - warmup) / max(1, last_step - warmup) if last_step is not None else 0.0
    by_clock = seconds / last_second if last_second is not None else 0.0
    return min(1.0, max(by_steps, by_clock))
