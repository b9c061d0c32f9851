"""The training loop: update, validate, save, until there is nothing left to do or somebody asks to stop."""

import math
from collections.abc import Iterator
from contextlib import closing

from limelight.batching.batch import Batch
from limelight.batching.stream import Position
from limelight.config import RunConfig
from limelight.errors import RunError
from limelight.training.budget import Clock
from limelight.training.carry import FORGET, Carrying, ReadsOn
from limelight.training.checkpoint import CHECKPOINTS, Progress, save_checkpoint
from limelight.training.generators import generator_states, restore_generators
from limelight.training.keep import drop_snapshots, finish_model, keep_snapshot, offer_model, score_of_best
from limelight.training.loss import Learner
from limelight.training.optimizer import set_rate
from limelight.training.run_state import Run, look, score_of
from limelight.training.schedule import learning_rate, share_done
from limelight.training.signals import Stopped
from limelight.training.tasks.task import Validation
from limelight.training.update import UpdateResult, update

MOST_SKIPPED = 20  # updates in a row without a finite gradient, after which going on is pointless


def run_training(run: Run) -> str:
    """Train until a bound is reached or no validation gets better; returns why it ended.

    Raises `Stopped` with everything saved when a signal came, `RunError` when the numbers have gone wrong for good.
    """
    progress = run.progress
    progress.model_score = score_of_best(run.folder)
    run.clock = Clock(progress.seconds)
    run.model.train()
    try:
        with closing(run.task.batches(progress.position)) as batches:
            while not why_over(run.config, progress):
                _validate_if_due(run)
                if why_over(run.config, progress):
                    break
                _one_update(run, batches)
                if progress.step % run.config.training.checkpoint_every == 0:
                    _save(run)
                run.stop.check()
            _validate_if_due(run)
        finish_model(run)
    except Stopped:
        progress.seconds = run.clock.seconds()
        _save(run)
        raise
    progress.finished = why_over(run.config, progress)
    progress.seconds = run.clock.seconds()
    _save(run)
    return progress.finished


def why_over(config: RunConfig, progress: Progress) -> str:
    """Which bound is reached; an empty text while there is work left."""
    training = config.training
    if training.max_steps is not None and progress.step >= training.max_steps:
        return f"training.max_steps={training.max_steps} updates are done"
    if training.max_minutes is not None and progress.seconds >= 60 * training.max_minutes:
        return f"training.max_minutes={training.max_minutes:g} minutes are over"
    if progress.without_gain >= training.patience:
        return f"no gain in {training.patience} validations (training.patience)"
    return ""


def _one_update(run: Run, batches: Iterator[tuple[Batch, Position]]) -> None:
    training, progress = run.config.training, run.progress
    rate = rate_of(run.config, progress.step + 1, progress.seconds)
    set_rate(run.optimizer, rate)
    before = generator_states(run.device)
    try:
        micro, position = _next_batches(run, batches)
        computing = _computing(run)
        result = update(
            computing,
            micro,
            run.optimizer,
            label_smoothing=training.label_smoothing,
            clip_norm=training.clip_norm,
            interruptible=run.stop.interruptible(),
        )
    except Stopped:
        restore_generators(before, run.device)  # as if this update had not begun: it is done whole when the run goes on
        raise
    if isinstance(computing, Carrying):
        run.carried = computing.state
    progress.step += 1
    progress.position = position
    progress.pieces += result.pieces
    progress.seconds = run.clock.seconds()
    _count(progress, result)
    run.report.update(progress, result, rate)
    _require_numbers(progress)


def _computing(run: Run) -> Learner:
    """What makes the features of this update: the model, its bf16 copy, or either with what it remembers."""
    model = run.model if run.half is None else run.half.refreshed()
    return Carrying(model, run.carried, forget=FORGET) if isinstance(model, ReadsOn) else model


def _next_batches(run: Run, batches: Iterator[tuple[Batch, Position]]) -> tuple[list[Batch], Position]:
    """The batches of an update and the position after them. To wait for them is no reason to let a signal wait."""
    with run.stop.interruptible():
        drawn = [next(batches) for _ in range(run.config.training.accumulate)]
    return [batch.to(run.device) for batch, _ in drawn], drawn[-1][1]


def _count(progress: Progress, result: UpdateResult) -> None:
    """Numbers gone wrong never reach the weights, nor the mean that is reported."""
    if result.applied:
        progress.skipped = 0
        progress.loss_sum += result.loss_sum
        progress.loss_pieces += result.pieces
    else:
        progress.skipped += 1


def _require_numbers(progress: Progress) -> None:
    """Raises `RunError` where going on is pointless."""
    if progress.skipped >= MOST_SKIPPED:
        raise RunError(
            f"loss or gradient was not a finite number in {MOST_SKIPPED} updates in a row, the last one at update "
            f"{progress.step}; lower training.learning_rate, lengthen training.warmup, or set training.precision=fp32. "
            "The last checkpoint is intact"
        )


def rate_of(config: RunConfig, step: int, seconds: float = 0.0) -> float:
    """The learning rate of an update, counted from one, after so many seconds of training."""
    training, model = config.training, config.model
    return learning_rate(
        step,
        schedule=training.schedule,
        peak=training.learning_rate,
        warmup=training.warmup,
        d_model=model.width,
        done=share_done(
            step,
            seconds,
            warmup=training.warmup,
            last_step=training.decay_steps or training.max_steps,
            last_second=60 * training.max_minutes if training.max_minutes and not training.decay_steps else None,
        ),
    )


def _validate_if_due(run: Run) -> None:
    """Validate after every so many updates, once only after each; without validation text only snapshots are kept.

    A run that begins with another model is also validated before its first update, so that training which makes that
    model worse never replaces it. No average includes the weights at that point.
    """
    progress = run.progress
    if progress.step % run.config.training.validate_every or progress.step == progress.validated_step:
        return
    if progress.step == 0 and not (run.config.begin_with and run.task.validates):
        return
    began = run.clock.seconds()
    seen = look(run)
    score = score_of(run, seen)
    if progress.step:
        progress.snapshots = keep_snapshot(run, score)
    _count_gain(progress, seen, score, by=run.config.training.best_by)
    offer_model(
        run, seen, f"update {progress.step}" if progress.step else f"{run.config.begin_with}, before the first update"
    )
    progress.validated_step = progress.step
    progress.seconds = run.clock.seconds()
    run.report.validation(progress, seen, seconds=progress.seconds - began)


def _count_gain(progress: Progress, seen: Validation | None, score: float, *, by: str) -> None:
    """Keep the record of validations. A loss that falls while BLEU says nothing counts as a gain: translation has yet
    to begin."""
    learning = False
    if seen is not None and math.isfinite(seen.loss):
        learning = progress.best_loss is None or seen.loss < progress.best_loss
        progress.best_loss = seen.loss if learning else progress.best_loss
        learning = learning and seen.is_without_bleu(by)
    if progress.best_score is None or score > progress.best_score:
        progress.best_score, progress.best_step, progress.without_gain = score, progress.step, 0
    elif learning:
        progress.without_gain = 0
    else:
        progress.without_gain += 1


def _save(run: Run) -> None:
    keep = run.config.training.keep_checkpoints
    save_checkpoint(run.folder / CHECKPOINTS, run.model, run.optimizer, run.progress, run.carried, keep=keep)
    drop_snapshots(run)
