"""Learning rates, and when a run validates and ends: stateless functions of the progress of training, some of which fit
a budget of updates or minutes.
"""

import math

from limelight.config import RunConfig, TrainingConfig

WARMUP_SHARE = 0.1
"""Maximum share of the budget for the warm-up, if the rate is fitted to the budget."""
DECAY_SHARE = 0.2
"""Share of the training in which `wsd` decays: longer gains nothing (Haegele et al. 2024, section 4)."""
MIN_WARMUP = 16
"""Minimum number of warm-up updates, if the warm-up is fitted to minutes: the first updates are slow on many machines,
and Adam's estimates need some updates."""
MIN_INTERVAL, MIN_PATIENCE = 100, 5
"""Minimum updates between validations, and minimum validations of the patience, if these are given in epochs."""


def rate_of(config: RunConfig, step: int, seconds: float = 0.0, *, reserve: float = 0.0) -> float:
    """The learning rate of update `step` >= 1 after `seconds` of training. A rate fitted to minutes decays until
    the `reserve` of seconds for the last validation begins.

    | schedule       | after a linear rise over `warmup` updates                                                    |
    |----------------|----------------------------------------------------------------------------------------------|
    | `paper`        | peak * width^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, equation 3,      |
    |                | where the factor is 1)                                                                       |
    | `inverse_sqrt` | peak * sqrt(warmup / step): the same curve, named by the rate it reaches at its top          |
    | `cosine`       | half a cosine from peak down to a hundredth of it at the end (Loshchilov & Hutter 2017)       |
    | `constant`     | peak                                                                                         |
    | `wsd`          | peak, and over the last fifth peak * (1 - sqrt(share of it)) down to a hundredth             |
    |                | (warm-up, stable, decay: Hu et al. 2024; the form of the decay: Haegele et al. 2024)         |

    A rate fitted to the budget is the cosine to the peak of the schedule, whatever the schedule.
    """
    training, width = config.training, config.model.width
    peak, warmup, schedule = training.learning_rate, max(1, training.warmup), training.schedule
    risen, done = share_risen(training, step, seconds), share_done(training, step, seconds, reserve)
    if is_fitted(training):
        peak *= (width * warmup) ** -0.5 if schedule == "paper" else 1
        schedule = "cosine"
    if schedule == "paper":
        return peak * width**-0.5 * min(step**-0.5, step * warmup**-1.5)
    if schedule == "inverse_sqrt":
        return peak * risen * math.sqrt(warmup / max(step, warmup))
    if schedule == "cosine":
        return peak * risen * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))
    if schedule == "wsd":
        decayed = max(0.0, done - (1 - DECAY_SHARE)) / DECAY_SHARE
        return peak * risen * (0.01 + 0.99 * (1 - math.sqrt(decayed)))
    return peak * risen


def share_risen(training: TrainingConfig, step: int, seconds: float) -> float:
    """The completed share of the warm-up at update `step` >= 1, from 0 to 1.

    It takes `warmup` updates, or if fitted `WARMUP_SHARE` of the way to the nearer bound if that is less.
    """
    shares = [step / max(1, training.warmup)]
    if is_fitted(training):
        shares.append(step / (WARMUP_SHARE * (training.max_steps or math.inf)))
        shares.append(min(seconds / (WARMUP_SHARE * last_second(training)), step / MIN_WARMUP))
    return min(1.0, max(shares))


def share_done(training: TrainingConfig, step: int, seconds: float, reserve: float) -> float:
    """The completed share of the training from the end of the warm-up to the nearer bound, 0 to 1; 0 without a bound.

    By updates it is 0 at the last one of the warm-up and 1 at the last of all; by the clock it counts from the
    beginning. With a bound in time, runs are not exactly reproducible; they do not make the same number of updates
    either.
    """
    warmup, last, end = training.warmup, training.max_steps or math.inf, last_second(training)
    if is_fitted(training):
        warmup = math.ceil(min(warmup, WARMUP_SHARE * last))
        end = max(0.5 * end, end - reserve)
    elif training.decay_steps:
        last, end = training.decay_steps, math.inf
    by_steps = max(0, step - warmup) / max(1, last - warmup)
    return min(1.0, max(by_steps, seconds / end))


def is_fitted(training: TrainingConfig) -> bool:
    """Whether there is a budget and the rate is fitted to it."""
    return training.fit_to_budget and training.is_bounded


def last_second(training: TrainingConfig) -> float:
    """The time limit of a run in seconds; infinite without one."""
    return 60 * (training.max_minutes or math.inf)


def validation_interval(training: TrainingConfig, epoch: float) -> int:
    """Updates between validations; an epoch has about `epoch` updates."""
    return training.validate_every or max(MIN_INTERVAL, round(training.validate_epochs * epoch))


def patience_of(training: TrainingConfig, epoch: float) -> int:
    """Number of validations without a gain after which a run ends."""
    interval = validation_interval(training, epoch)
    return training.patience or max(MIN_PATIENCE, math.ceil(training.patience_epochs * epoch / interval))
