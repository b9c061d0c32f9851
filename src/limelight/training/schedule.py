"""The learning rate as a function of where training stands. No state, so resuming cannot get it wrong."""

import math


def learning_rate(step: int, *, schedule: str, peak: float, warmup: int, d_model: int, done: float = 0.0) -> float:
    """The rate of update `step` >= 1, when a share `done` of the way to the end lies behind.

    | schedule       | after a linear rise over `warmup` updates                                                    |
    |----------------|----------------------------------------------------------------------------------------------|
    | `paper`        | peak * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3,    |
    |                | where the factor is 1)                                                                       |
    | `inverse_sqrt` | peak * sqrt(warmup / step): the same curve, named by the rate it reaches at its top          |
    | `cosine`       | half a cosine from peak down to a hundredth of it at the end (Loshchilov & Hutter 2017)       |
    | `constant`     | peak                                                                                         |
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
    raise ValueError(f"unknown schedule {schedule!r}")


def share_done(step: int, seconds: float, *, warmup: int, last_step: int | None, last_second: float | None) -> float:
    """How much of the way from the end of the warm-up to the nearer bound lies behind, from 0 to 1; 0 without a bound.

    The first update after the warm-up stands at the beginning, the last one at the end. By the clock, two runs are
    never quite the same; but neither do they make the same number of updates.
    """
    by_steps = max(0, step - warmup) / max(1, last_step - warmup) if last_step is not None else 0.0
    by_clock = seconds / last_second if last_second is not None else 0.0
    return min(1.0, max(by_steps, by_clock))
