"""The training loop: update, validate, save, until there is nothing left to do or somebody asks to stop."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from limelight.batching.batch import Batch
from limelight.batching.stream import BatchStream, Position
from limelight.config import RunConfig, TransformerConfig
from limelight.decoding.translate import Translator
from limelight.errors import RunError
from limelight.models.interface import Seq2Seq
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from limelight.training.checkpoint import Progress, save_checkpoint
from limelight.training.keep import finish_model, keep_snapshot, store_best
from limelight.training.precision import autocast
from limelight.training.report import Report
from limelight.training.schedule import learning_rate
from limelight.training.signals import Stopped, StopRequest
from limelight.training.update import UpdateResult, set_rate, update
from limelight.training.validation import Validation, validate

MOST_SKIPPED = 20  # updates in a row without a finite gradient, after which going on is pointless


@dataclass(slots=True)
class Run:
    """All that a run in motion consists of."""

    folder: Path
    config: RunConfig
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    stream: BatchStream
    tokenizers: Tokenizers
    valid_pairs: list[Pair]
    valid_batches: list[Batch]
    device: torch.device
    precision: str
    progress: Progress
    report: Report
    stop: StopRequest


def run_training(run: Run) -> str:
    """Train until a bound is reached or no validation gets better; returns why it ended.

    Raises `Stopped` with everything saved when a signal came, `RunError` when the numbers have gone wrong for good.
    """
    progress = run.progress
    clock, before = time.monotonic(), progress.seconds
    batches = run.stream.batches(progress.position)
    run.model.train()
    try:
        while not (reason := why_over(run.config, progress)):
            _validate_if_due(run)
            if why_over(run.config, progress):
                continue
            _one_update(run, batches)
            progress.seconds = before + time.monotonic() - clock
            if progress.step % run.config.training.checkpoint_every == 0:
                _save(run)
            run.stop.check()
        _validate_if_due(run, at_the_end=True)
        finish_model(run.folder, run.config, run.model, run.tokenizers, progress, look=partial(_look, run), say=run.report.say)
    except Stopped:
        progress.seconds = before + time.monotonic() - clock
        _save(run)
        raise
    progress.finished = reason
    progress.seconds = before + time.monotonic() - clock
    _save(run)
    return reason


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
    micro = []
    for _ in range(training.accumulate):
        batch, position = next(batches)
        micro.append(batch.to(run.device))
    rate = rate_of(run.config, progress.step + 1)
    set_rate(run.optimizer, rate)
    result = update(
        run.model,
        micro,
        run.optimizer,
        label_smoothing=training.label_smoothing,
        clip_norm=training.clip_norm,
        autocast=autocast(run.precision, run.device),
    )
    progress.step += 1
    progress.position = position
    progress.pieces += result.pieces
    _count_skipped(progress, result)
    run.report.update(progress, result, rate)


def _count_skipped(progress: Progress, result: UpdateResult) -> None:
    """Numbers gone wrong never reach the weights; many in a row end the run."""
    progress.skipped = 0 if result.applied else progress.skipped + 1
    if progress.skipped >= MOST_SKIPPED:
        raise RunError(
            f"loss or gradient was not a finite number in {MOST_SKIPPED} updates in a row, the last one at update "
            f"{progress.step}; lower training.learning_rate, lengthen training.warmup, or set training.precision=fp32. "
            "The last checkpoint is intact"
        )


def rate_of(config: RunConfig, step: int) -> float:
    """The learning rate of an update, counted from one."""
    training, model = config.training, config.model
    return learning_rate(
        step,
        schedule=training.schedule,
        peak=training.learning_rate,
        warmup=training.warmup,
        d_model=model.d_model if isinstance(model, TransformerConfig) else model.hidden,
        decay_steps=training.decay_steps,
    )


def _validate_if_due(run: Run, *, at_the_end: bool = False) -> None:
    """Validate after every so many updates, and once at the end; without validation text only snapshots are kept."""
    training, progress = run.config.training, run.progress
    due = progress.step % training.validate_every == 0 or at_the_end
    if not due or progress.step in (0, progress.validated_step):
        return
    seen = _look(run) if run.valid_pairs else None
    score = seen.score(training.best_by) if seen else float(progress.step)
    run.report.validation(progress, seen)
    keep_snapshot(run.folder, run.config, run.model, progress, score)
    if progress.best_score is None or score > progress.best_score:
        progress.best_score, progress.best_step, progress.without_gain = score, progress.step, 0
        store_best(run.folder, run.config, run.model, run.tokenizers, progress, seen)
    else:
        progress.without_gain += 1
    progress.validated_step = progress.step


def _look(run: Run) -> Validation:
    """How good the model is as it stands; a signal ends this on the spot, as it changes nothing."""
    with run.stop.interruptible():
        return validate(
            run.model,
            run.valid_batches,
            Translator(run.model, run.tokenizers, run.config.decoding),
            run.valid_pairs,
            bleu_sentences=run.config.training.bleu_sentences,
            autocast=autocast(run.precision, run.device),
            device=run.device,
        )


def _save(run: Run) -> None:
    keep = run.config.training.keep_checkpoints
    save_checkpoint(run.folder / "checkpoints", run.model, run.optimizer, run.progress, keep=keep)
