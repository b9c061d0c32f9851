"""The training loop: update, validate and save, until a bound is reached or a stop is requested."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from limelight.errors import RunError
from limelight.preparation.extend import has_new_tags
from limelight.signals import Stopped
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, Progress, save_checkpoint
from limelight.training.checkpoints.keep import (
    drop_snapshots,
    finish_model,
    keep_model_snapshot,
    keep_snapshot,
    save_if_best,
    score_of_best,
)
from limelight.training.optimization.optimizer import set_rate
from limelight.training.optimization.precision import next_scale
from limelight.training.optimization.schedule import (
    last_second,
    patience_of,
    rate_of,
    share_risen,
    validation_interval,
)
from limelight.training.optimization.update import compiled_or_none, update
from limelight.training.run_state import Run, score_of, validate
from limelight.training.shares import Share, shares
from limelight.training.tasks.task import Validation

MAX_SKIPPED = 20
"""Maximum number of consecutive updates without a finite gradient."""
PACE = 0.1
"""Weight of the last update in the moving average of durations."""


def run_training(run: Run) -> str:
    """Train until a bound is reached or validation stops improving; returns the reason.

    Raises `Stopped` with everything saved after a signal, `RunError` after `MAX_SKIPPED` updates without finite values.
    """
    training, first = run.config.training, run.progress.step
    run.progress.model_score = score_of_best(run.folder)
    run.model.train()
    if training.compile:  # the passes of the model that computes: the half-precision copy, if there is one
        computing = run.model if run.half is None else run.half.refreshed()
        with run.interruptible():
            run.compiled = compiled_or_none(computing, run.device, run.report.say)
    run.began = time.monotonic() - run.progress.seconds
    try:
        with (
            closing(run.task.stream.plans(run.progress.position, run.group)) as plans,
            closing(shares(plans, training.accumulate, run.group, run.device)) as batches,
        ):
            _validate_if_due(run)
            while not _is_over(run, first):
                signal = _one_update(run, batches)
                if run.progress.step % training.checkpoint_every == 0:
                    _save(run)
                if signal:
                    raise Stopped(signal)
                _validate_if_due(run)
        _first_does(run, finish_model)
    except Stopped:
        run.progress.seconds = run.seconds()
        _save(run)
        run.group.wait()  # until the first process has saved: launchers terminate all processes when one exits
        raise
    run.progress.seconds = run.seconds()
    if not why_over(run):  # the remaining time was too short for another update
        run.progress.seconds = last_second(training)
    run.progress.finished = why_over(run)
    _save(run)
    return run.progress.finished


def why_over(run: Run) -> str:
    """The bound that is reached; empty while there is work left."""
    training, progress = run.config.training, run.progress
    if training.max_steps is not None and progress.step >= training.max_steps:
        return f"training.max_steps={training.max_steps} updates are done"
    if progress.seconds >= last_second(training):
        return f"training.max_minutes={training.max_minutes:g} minutes are over"
    patience = patience_of(training, run.epoch)
    if progress.without_gain >= patience:
        return f"no gain in {patience} validations (training.patience={patience})"
    return ""


def _is_over(run: Run, first: int) -> bool:
    """Whether a bound is reached, or another update and the last validation would exceed the minutes. At least one
    update is done since `first`."""
    if run.progress.step > first:
        needed = run.pace + _closing_seconds(run)
        if run.progress.seconds + needed > last_second(run.config.training):
            return True
    return bool(why_over(run))


def _closing_seconds(run: Run) -> float:
    """Duration of the end of a run: a validation of the last weights, and one of the average."""
    averages = run.config.training.average > 1 and len(run.progress.snapshots) > 0
    return run.progress.validation_seconds * (2 if averages else 1)


def _one_update(run: Run, batches: Iterator[Share]) -> int:
    """Do one update. Returns the number of a signal that one of the processes received, or 0. With a single process a
    signal during computation raises `Stopped`, and the whole update is done again when the run is resumed."""
    training, progress, began = run.config.training, run.progress, run.seconds()
    rate = rate_of(run.config, progress.step + 1, progress.seconds, reserve=_closing_seconds(run))
    set_rate(run.optimizer, rate)
    with run.interruptible():  # a signal may interrupt waiting for the text
        share = next(batches)
    if run.sums is not None:
        run.sums.begin(len(share.making))
    model = run.model if run.half is None else run.half.refreshed()
    pending = update(
        run.compiled or model,
        share.batches(run.device, seed=training.seed, step=progress.step),
        run.optimizer,
        tokens=share.tokens,
        loss=run.task.loss,
        clip_norm=training.clip_norm,
        interruptible=run.interruptible(),
        loss_scale=progress.loss_scale if run.precision == "fp16" else 1.0,
        sums=run.sums,
    )
    _read_last_update(run)  # the update before, while the device computes this one
    run.pending = pending, rate
    progress.step += 1
    progress.position = share.after
    progress.pieces += share.tokens
    now = run.seconds()
    signal = 0
    if agreed := run.group.agree(now, now - began, run.stop.number):
        progress.seconds, spent, signal = agreed
        run.pace += (spent - run.pace) * (PACE if run.pace else 1)
    if _reads_at_once(run):
        _read_last_update(run)
    return signal


def _reads_at_once(run: Run) -> bool:
    """Whether results are read before the next update begins: in fp16 its loss scale depends on them."""
    return run.device.type == "cpu" or run.precision == "fp16"


def _read_last_update(run: Run) -> None:
    """Read, count and report the result of the last update; `progress` is still the one after it.

    Values that are not finite affect neither the weights nor the reported mean. Raises `RunError` after too many.
    """
    if run.pending is None:
        return
    pending, rate = run.pending
    result, progress, run.pending = pending.read(), run.progress, None
    if result.applied:
        progress.skipped = 0
        progress.loss_sum += result.loss_sum
        progress.loss_pieces += result.tokens
    else:
        progress.skipped += 1
    if run.precision == "fp16":
        progress.loss_scale, progress.scale_updates = next_scale(
            progress.loss_scale, progress.scale_updates, applied=result.applied
        )
    run.report.update(progress, result, rate)
    if progress.skipped >= MAX_SKIPPED:
        raise RunError(
            f"loss or gradient was not finite in {MAX_SKIPPED} consecutive updates, the last one at update "
            f"{progress.step}; lower training.learning_rate, lengthen training.warmup, or set training.precision=fp32. "
            "The last checkpoint is intact"
        )


def _validate_if_due(run: Run) -> None:
    """Validate if it is due, at most once per update; without validation text only snapshots are kept.

    A run that begins with another model is also validated before its first update, so that a worse model never replaces
    it. Averages do not include the weights at that point.
    """
    if _is_due(run):
        _first_does(run, _validate)


def _first_does(run: Run, work: Callable[[Run], None]) -> None:
    """Run `work` in the first process, which validates and writes models; then synchronize the weights and the
    progress."""

    def lead() -> Progress:
        work(run)
        return run.progress

    _read_last_update(run)
    run.progress = run.group.from_first(lead)
    run.group.equalize(run.model)  # the average may have replaced them


def _validate(run: Run) -> None:
    """Validate, keep the weights for averaging and as a model, and save the model if it is the best so far."""
    progress, began = run.progress, run.seconds()
    seen = validate(run)
    score = score_of(run, seen)
    if progress.step:
        progress.snapshots = keep_snapshot(run, score)
        keep_model_snapshot(run)
    _count_gain(run, seen, score)
    save_if_best(
        run, seen, f"update {progress.step}" if progress.step else f"{run.config.begin_with}, before the first update"
    )
    progress.validated_step = progress.step
    progress.seconds = run.seconds()
    progress.validation_seconds = progress.seconds - began
    run.report.validation(progress, seen)


def _is_due(run: Run) -> bool:
    """Whether to validate now. With a bound in minutes the first validation is after at most half of them, so that its
    duration is known, and none is just before the last one."""
    training, progress = run.config.training, run.progress
    if progress.step == progress.validated_step:
        return False
    if progress.step == 0:  # update 0 of a run with new tags is not a candidate, however good it is
        return bool(run.config.begin_with) and run.task.validates and not has_new_tags(run.folder)
    end = last_second(training)
    if training.validate_every is None and run.task.validates:
        if progress.validation_seconds == 0.0 and progress.seconds >= 0.5 * end:
            return True
        if progress.seconds + 2 * _closing_seconds(run) >= end:
            return False
    return progress.step % validation_interval(training, run.epoch) == 0


def _count_gain(run: Run, seen: Validation | None, score: float) -> None:
    """Update the best scores and the patience. While BLEU is noise, a lower loss counts as a gain. A validation without
    a gain counts only after the warm-up."""
    progress, training, learning = run.progress, run.config.training, False
    if seen is not None and math.isfinite(seen.loss) and (progress.best_loss is None or seen.loss < progress.best_loss):
        progress.best_loss, learning = seen.loss, seen.is_without_bleu(training.best_by)
    if progress.best_score is None or score > progress.best_score:
        progress.best_score, progress.without_gain = score, 0
    elif learning:
        progress.without_gain = 0
    elif share_risen(training, max(1, progress.step), progress.seconds) == 1:
        progress.without_gain += 1


def _save(run: Run) -> None:
    """Write a checkpoint, and delete snapshots that none refers to; the other processes write nothing."""
    _read_last_update(run)
    if not run.group.is_first:
        return
    keep = run.config.training.keep_checkpoints
    save_checkpoint(run.folder / CHECKPOINTS, run.model, run.optimizer, run.progress, keep=keep)
    drop_snapshots(run)
