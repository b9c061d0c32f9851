"""A run from its configuration to its folder: begin it, or take it up where it stopped."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from limelight.batching.stream import BatchStream
from limelight.config import RunConfig, dump_config, load_config
from limelight.errors import UserError
from limelight.files import write_whole
from limelight.models.build import build_model, choose_device, count_parameters
from limelight.models.stored import CONFIG
from limelight.training.checkpoint import Progress, restore_newest
from limelight.training.loop import Run, run_training, why_over
from limelight.training.precision import choose_precision
from limelight.training.prepare import Prepared, prepare
from limelight.training.report import Report
from limelight.training.signals import StopRequest
from limelight.training.update import make_optimizer
from limelight.training.validation import validation_batches

MAY_CHANGE = {
    "max_steps", "max_minutes", "patience", "validate_every", "checkpoint_every", "keep_checkpoints", "bleu_sentences",
    "log_every", "threads", "device", "average", "average_of",
}  # fmt: skip
"""Settings of `training` that a run may be taken up with another value of."""


def train(config: RunConfig, folder: str | Path, *, quiet: bool = False) -> Progress:
    """Train in a run folder, or go on with the run that is there; returns how far it has come.

    Raises `UserError` for the caller's mistakes, `RunError` when the work fails, `Stopped` when a signal ended it with
    everything saved.
    """
    folder = Path(folder)
    config = settle(config, folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(folder, config.training, quiet=quiet)
    try:
        with StopRequest() as stop:
            with stop.interruptible():
                prepared = prepare(config, folder, report.say)
                write_whole(folder / CONFIG, dump_config(config))
                run = _set_up(config, folder, prepared, report, stop)
            reason = why_over(config, run.progress)
            if reason and run.progress.finished == reason:
                report.say(f"nothing left to do: {reason}. Give a larger bound to train {folder} on.")
                return run.progress
            run.progress.finished = ""
            reason = run_training(run)
            report.say(f"done: {reason}; the model is in {folder / 'best'}")
            return run.progress
    finally:
        report.close()


def settle(config: RunConfig, folder: Path) -> RunConfig:
    """The configuration to work with: a run that exists keeps its own, but for bounds and the like.

    Raises `UserError` that lists every setting by which the run that is there differs.
    """
    if not (folder / CONFIG).exists():
        if folder.exists() and any(folder.iterdir()) and not (folder / "tokenizer").exists():
            raise UserError(f"{folder}: this folder is not empty and not a run; give --out another folder")
        return config
    there = load_config(folder / CONFIG)
    changed = _differences(there.model_dump(mode="json"), config.model_dump(mode="json"))
    refused = [(name, old, new) for name, old, new in changed if name.removeprefix("training.") not in MAY_CHANGE]
    if refused:
        faults = "; ".join(f"{name} is {old!r} there, {new!r} here" for name, old, new in refused)
        raise UserError(f"{folder}: there is a run with other settings: {faults}. Leave them out, or give another --out")
    return config


def _differences(old: Any, new: Any, name: str = "") -> list[tuple[str, Any, Any]]:
    """Every setting, by its full name, that two configurations differ in."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in {**old, **new}:
            found += _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
        return found
    return [] if old == new else [(name, old, new)]


def _set_up(config: RunConfig, folder: Path, prepared: Prepared, report: Report, stop: StopRequest) -> Run:
    training = config.training
    if training.threads:
        torch.set_num_threads(training.threads)
    torch.manual_seed(training.seed)
    device = choose_device(training.device)
    precision = choose_precision(training.precision, device)
    model = build_model(config.model, prepared.tokenizers).to(device)
    optimizer = make_optimizer(
        model,
        beta1=training.beta1,
        beta2=training.beta2,
        epsilon=training.epsilon,
        weight_decay=training.weight_decay,
    )
    progress = restore_newest(folder / "checkpoints", model, optimizer, warn=report.say)
    went_on = f"going on after update {progress.step}" if progress else "beginning"
    report.say(
        f"{went_on}: {config.recipe}, {count_parameters(model):,} parameters, "
        f"{sum(map(len, prepared.stores)):,} pairs, {precision} on {device}"
    )
    return Run(
        folder=folder,
        config=config,
        model=model,
        optimizer=optimizer,
        stream=_stream(config, prepared),
        tokenizers=prepared.tokenizers,
        valid_pairs=prepared.valid,
        valid_batches=validation_batches(prepared.valid, prepared.tokenizers, tokens=config.batching.tokens),
        device=device,
        precision=precision,
        progress=progress or Progress(),
        report=report,
        stop=stop,
    )


def _stream(config: RunConfig, prepared: Prepared) -> BatchStream:
    return BatchStream(
        prepared.stores,
        [corpus.weight for corpus in config.data.train],
        prepared.tokenizers,
        tokens=config.batching.tokens,
        seed=config.training.seed,
        chunk_pairs=config.batching.chunk_pairs,
        sampling=config.tokens.sampling,
        max_length=config.batching.max_length,
    )
