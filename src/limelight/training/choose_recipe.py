"""Choose between two configurations by the training budget: one for many epochs, one for few."""

import time
from contextlib import closing, nullcontext

from limelight.batching.stream import Position
from limelight.config import RunConfig
from limelight.models.build import choose_device
from limelight.preparation.pairs import Say
from limelight.training.budget import Pace, last_second, reasonable_epochs
from limelight.training.half import HalfCopy
from limelight.training.optimizer import make_optimizer, set_rate
from limelight.training.precision import HALVES, choose_precision
from limelight.training.tasks import Tokenized, build_task, fresh_model
from limelight.training.update import update

PROBED = 5
"""Updates of a temporary model whose duration is measured."""


def choose_by_budget(config: RunConfig, short: RunConfig, prepared: Tokenized, say: Say) -> RunConfig:
    """`short` if the budget is less than twice the reasonable number of epochs for this text, else `config`.

    Minutes are converted to updates by measuring the duration of some, which takes a few seconds.
    """
    training = short.training
    task = build_task(short, prepared, fresh_model(short, prepared))
    epoch = max(1.0, task.batches_per_epoch() / training.accumulate)
    updates = [float(training.max_steps)] if training.max_steps is not None else []
    end = last_second(training)
    if end is not None:
        updates.append(end / measured_pace(short, prepared))
    epochs = min(updates) / epoch
    chosen = short if epochs < 2 * reasonable_epochs(epoch * training.accumulate * short.batching.tokens) else config
    say(f"the budget is about {epochs:.2g} epochs of {task.amount}: recipe {chosen.recipe} (--recipe chooses another)")
    return chosen


def measured_pace(config: RunConfig, prepared: Tokenized) -> float:
    """Seconds per update on this machine: the median of several updates, without the first ones."""
    training, pace = config.training, Pace()
    device = choose_device(training.device)
    model = fresh_model(config, prepared).to(device)
    half_type = HALVES.get(choose_precision(training.precision, device))
    half = None if half_type is None else HalfCopy(model, half_type)
    optimizer = make_optimizer(
        model,
        kind=training.optimizer,
        beta1=training.beta1,
        beta2=training.beta2,
        epsilon=training.epsilon,
        weight_decay=training.weight_decay,
    )
    set_rate(optimizer, 1e-5)
    with closing(build_task(config, prepared, model).batches(Position())) as batches:
        for _ in range(PROBED):
            drawn = [next(batches)[0].to(device) for _ in range(training.accumulate)]
            began = time.monotonic()
            update(
                model if half is None else half.refreshed(),
                drawn,
                optimizer,
                label_smoothing=training.label_smoothing,
                clip_norm=training.clip_norm,
                interruptible=nullcontext(),
            )
            pace.add(time.monotonic() - began)
    return pace.seconds()
