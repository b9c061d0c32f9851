"""How a run fits its budget of updates or minutes: its rate, how often it validates, when it ends, what to expect."""

import math
import statistics
import time
from collections import deque

from limelight.config import RunConfig, TrainingConfig
from limelight.training.schedule import (
    WARMUP_SHARE,
    fitted_rate,
    learning_rate,
    peak_rate,
    share_done,
    share_risen,
)

FEWEST_UPDATES, FEWEST_VALIDATIONS = 100, 5
"""Between validations that are counted in epochs, and before a patience that is counted in epochs ends."""
PACE_OF = 50
"""So many updates say how long the next one will take."""
_PLACES, _EPOCHS, _EXPONENT = 700_000, 8.0, -0.4
"""Text of so many places in batches wants so many epochs, other text by this power of its amount. Measured on Multi30k
alone; the exponent is that of the vocabulary's size."""


class Clock:
    """Training time in seconds: what was spent before this process, and what passes in it."""

    def __init__(self, before: float) -> None:
        self._began = time.monotonic() - before

    def seconds(self) -> float:
        """Training time so far, interruptions not counted."""
        return time.monotonic() - self._began


class Pace:
    """How long updates take: the median of the last ones, which an update that was held up does not move. The first two
    of a process, which allocate memory and may compile, are left out."""

    def __init__(self) -> None:
        self._durations: deque[float] = deque(maxlen=PACE_OF)
        self._first: list[float] = []
        self.total = 0.0
        """Seconds of all updates that were counted."""
        self.told = False
        """Whether it was said what to expect."""

    def add(self, seconds: float) -> None:
        """Count an update that took so long."""
        (self._first if len(self._first) < 2 else self._durations).append(seconds)
        self.total += seconds

    def seconds(self) -> float:
        """Of an update; 0 before one was counted."""
        return statistics.median(self._durations or self._first or [0.0])


def rate_of(config: RunConfig, step: int, seconds: float = 0.0, *, reserve: float = 0.0) -> float:
    """The learning rate of an update, counted from one, after so many seconds of training. One that fits the minutes
    of a run falls until the `reserve` of seconds for the last validation begins."""
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
    """Whether there is a budget, and the rate fits it."""
    return training.fit_to_budget and (training.max_steps is not None or training.max_minutes is not None)


def last_second(training: TrainingConfig) -> float | None:
    """When a run ends by the clock; None where it does not."""
    return None if training.max_minutes is None else 60 * training.max_minutes


def is_warming_up(training: TrainingConfig, step: int, seconds: float) -> bool:
    """Whether the rate still rises after `step` updates."""
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
    """Validations without a gain that end a run."""
    interval = validation_interval(training, epoch)
    return training.patience or max(FEWEST_VALIDATIONS, math.ceil(training.patience_epochs * epoch / interval))


def reasonable_epochs(places: float) -> float:
    """How often text that takes so many places in the batches of an epoch wants to be seen before a model is useful."""
    return min(100.0, _EPOCHS * (max(1.0, places) / _PLACES) ** _EXPONENT)


def expectation(
    config: RunConfig, *, step: int, seconds: float, pace: float, epoch: float, reserve: float, amount: str
) -> str:
    """What is to be expected of a run, in words.

    Args:
        step: updates done, after so many `seconds` of training.
        pace: seconds an update takes.
        epoch: updates of an epoch.
        reserve: seconds that are kept for the last validation.
        amount: of what an epoch is.
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
    if updates < 0.8 * wanted * epoch:
        text += f"; for so much text {_minutes(wanted * epoch * pace)} ({wanted:.2g} epochs) are reasonable"
    if not is_fitted(training) and training.warmup > 0.5 * updates:
        text += (
            f". The warm-up of {training.warmup:,} updates takes most of that or all: lower training.warmup, or set "
            "training.fit_to_budget=true"
        )
    return text


def _minutes(seconds: float) -> str:
    """A time as a person says it."""
    minutes = max(1, round(seconds / 60))
    if minutes >= 100:
        return f"{seconds / 3600:.2g} hours"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
