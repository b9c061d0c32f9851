"""The learning rate as a function of the update, counted from one. No state, so resuming cannot get it wrong."""

import math


def learning_rate(step: int, *, schedule: str, peak: float, warmup: int, d_model: int, decay_steps: int) -> float:
    """The rate of update `step` >= 1.

    | schedule       | after a linear rise over `warmup` updates                                                    |
    |----------------|----------------------------------------------------------------------------------------------|
    | `paper`        | peak * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3,    |
    |                | where the factor is 1)                                                                       |
    | `inverse_sqrt` | peak * sqrt(warmup / step): the same curve, named by the rate it reaches at its top          |
    | `cosine`       | half a cosine from peak down to a hundredth of it at `decay_steps` (Loshchilov & Hutter 2017)|
    | `constant`     | peak                                                                                         |
    """
    rise = min(1.0, step / max(1, warmup))
    if schedule == "paper":
        return peak * d_model**-0.5 * min(step**-0.5, step * max(1, warmup) ** -1.5)
    if schedule == "inverse_sqrt":
        return peak * rise * math.sqrt(max(1, warmup) / max(step, warmup, 1))
    if schedule == "cosine":
        done = min(1.0, max(0, step - warmup) / max(1, decay_steps - warmup))
        return peak * rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))
    if schedule == "constant":
        return peak * rise
    raise ValueError(f"unknown schedule {schedule!r}")
