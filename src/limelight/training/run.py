"""Begin or resume a run: from a configuration to a run folder."""

from pathlib import Path

import torch

from limelight.config import RunConfig, dump_config, load_config
from limelight.config.files import describe_differences, differences
from limelight.errors import RunError, UserError
from limelight.files import cause, clear_leftovers, remove, write_whole
from limelight.inference.prepare import slow_precision
from limelight.models.families import build_model, choose_device, count_parameters
from limelight.pipelines.scheduler import settings_put_back
from limelight.preparation.hold_out import HELD_OUT, plan_hold_out
from limelight.preparation.pairs import Prepared
from limelight.preparation.replay import GENERAL, plan_replay
from limelight.preparation.shortlist import keep_detector
from limelight.signals import StopRequest
from limelight.storage.layout import BEST, CONFIG, SNAPSHOTS, START, WEIGHTS
from limelight.training.checkpoints.checkpoint import (
    CHECKPOINTS,
    Progress,
    has_updates,
    restore_newest,
    stored_progress,
)
from limelight.training.checkpoints.lock import only_trainer
from limelight.training.complete import complete_model
from limelight.training.distributed import Group, joined_group
from limelight.training.gradient_sum import GradientSum
from limelight.training.loop import run_training, why_over
from limelight.training.mix import mix_with_parent
from limelight.training.optimization.optimizer import freeze, make_optimizer
from limelight.training.optimization.precision import HALVES, HalfCopy, choose_precision, deterministic_kernels
from limelight.training.parent import (
    PARENT,
    borrow_weights,
    keep_parent_card,
    parent_warnings,
    require_same_function,
    resolve_directions,
)
from limelight.training.preflight import check_run
from limelight.training.report import Report
from limelight.training.run_state import Run
from limelight.training.tasks.task import Tokenized, build_task, prepare_data
from limelight.training.tasks.translation import Translation

MAY_CHANGE = {
    "max_steps", "max_minutes", "fit_to_budget", "schedule", "learning_rate", "warmup", "decay_steps", "patience",
    "patience_epochs", "validate_every", "validate_epochs", "checkpoint_every", "keep_checkpoints", "log_every",
    "threads", "device", "data_workers", "average", "keep_snapshots",
    "compile", "deterministic", "loggers",
}  # fmt: skip
"""Settings of `training` that may change when a run is resumed; all of `decoding` and `data.on_doubt` may, too."""

MADE_BEFORE = {"config", "data", "tokenizer", HELD_OUT, GENERAL, START, Path(PARENT).stem}
"""Names of files and folders that an interrupted start may leave in a folder before it is a run, without suffixes."""


def train(config: RunConfig, folder: str | Path, *, quiet: bool = False) -> Progress:
    """Train in a run folder, or resume the run in it; returns its progress.

    A run owns its process while it lasts: it seeds torch's generator, changes torch's number of threads (restored at
    the end) and handles signals. Raises `UserError` for invalid settings or input, `RunError` if the work fails,
    `Stopped` after a signal, with everything saved.

    Processes started by torchrun train one model together (`training/distributed.py`): the first one prepares the run,
    writes and decides; the others join the prepared run.
    """
    with joined_group() as group:
        if not group.is_first:
            return _follow(Path(folder), group)
        return _lead(config, Path(folder), group, quiet=quiet)


def _lead(config: RunConfig, folder: Path, group: Group, *, quiet: bool) -> Progress:
    """Prepare the run and train it: the only process, or the first."""
    config = config.model_copy(update={"weights": "fp32"})  # also where it came from the folder of a smaller form
    _require_run_or_nothing(folder)
    config = plan_hold_out(plan_replay(resolve_directions(config, folder), folder), folder)
    data, training = config.data, config.training
    unseen = data.valid or data.valid_text or (data.text and data.held_out)
    with only_trainer(folder) as locked, settings_put_back():
        stored_progress(folder / CHECKPOINTS)  # another format is refused before any work
        check_resumable(config, folder)
        if config.begin_with and not (folder / CONFIG).exists():
            require_same_function(config)
        check_run(config, folder)
        if not (unseen or training.is_bounded):
            raise UserError(
                "this run would never end: without validation text there is no early stopping, so give --max-minutes "
                "or --max-steps, or text for validation"
            )
        report = Report(folder, config.training, quiet=quiet)
        try:
            if not locked:
                report.say(
                    f"{folder}: this file system cannot lock files; make sure that no other process trains there"
                )
            with StopRequest() as stop:
                return _trained(_prepared(config, folder, report, stop, group))
        except OSError as error:
            raise RunError(
                f"{error.filename or folder}: {cause(error)}; everything saved is intact; after fixing the cause, the "
                "same command resumes the run"
            ) from error
        finally:
            report.close()


def _follow(folder: Path, group: Group) -> Progress:
    """Train together with the first process, which writes the configuration before its first `wait`. Writes nothing."""
    with settings_put_back(), StopRequest() as stop:
        with stop.interruptible():
            group.wait()
            config = load_config(folder / CONFIG)
            report = Report(folder, config.training, quiet=True)
            run = _set_up(config, folder, prepare_data(config, folder, report.say), report, stop, group)
        return _trained(run)


def _prepared(config: RunConfig, folder: Path, report: Report, stop: StopRequest, group: Group) -> Run:
    """The run, with all its files in its folder; from then on the other processes may join."""
    with stop.interruptible():
        clear_leftovers(folder)
        if config.begin_with and not (folder / CONFIG).exists():
            for line in parent_warnings(config):
                report.say(line)
        prepared = prepare_data(config, folder, report.say)
        if isinstance(prepared, Prepared) and not prepared.labels:
            keep_detector(config, prepared.stores, folder, report.say)
        run = _set_up(config, folder, prepared, report, stop, group)
        # Written last: until it exists, other settings may be tried.
        write_whole(folder / CONFIG, dump_config(config))
        group.wait()
        return run


def _trained(run: Run) -> Progress:
    """Train to the end of the run, and complete its model."""
    config, folder, report = run.config, run.folder, run.report
    run.group.equalize(run.model)
    reason = why_over(run)
    if reason and run.progress.finished:
        _complete(run)  # it may have been interrupted
        report.say(f"nothing left to do: {reason}. Give a larger bound to continue {folder}.")
        return run.progress
    if run.group.is_first:
        report.begin(run.progress)
    run.progress.finished = ""
    with deterministic_kernels(config.training.deterministic):
        reason = run_training(run)
        _complete(run)
    run.group.wait()
    report.say(f"done: {reason}; the model is in {folder / 'best'}")
    if not run.task.validates:
        report.say(
            "nothing was measured: there was no text for validation (--valid); `limelight evaluate` measures the model"
        )
    return run.progress


def _complete(run: Run) -> None:
    """What a translation model gets after the last update, except what it has already."""
    if not run.group.is_first or not isinstance(run.task, Translation):
        return
    mix_with_parent(run, run.task)
    with run.interruptible():
        complete_model(run.folder, run.task.valid_pairs, run.report.say, device=run.device)


def _require_run_or_nothing(folder: Path) -> None:
    """Raise `UserError` for a file, and for a folder with anything other than a run or an interrupted start."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: this is a file, and a run is a folder; give --out another name")
    if (folder / CONFIG).exists():
        return
    strange = sorted(path.name for path in folder.glob("[!.]*") if path.name.partition(".")[0] not in MADE_BEFORE)
    if strange:
        raise UserError(
            f"{folder}: this folder is not empty and not a run (it holds {strange[0]}); give --out another folder"
        )


def check_resumable(config: RunConfig, folder: Path) -> None:
    """Check that a run can be resumed with a configuration: only bounds and similar settings may differ. A run without
    any update and without a model is replaced.

    Raises `UserError` that lists every setting that differs from the existing run.
    """
    if not (folder / CONFIG).exists():
        return
    stored = load_config(folder / CONFIG)
    changed = differences(stored.model_dump(mode="json"), config.model_dump(mode="json"))
    may_change = {"data.on_doubt", *(f"training.{name}" for name in MAY_CHANGE)}
    refused = [change for change in changed if change[0] not in may_change and not change[0].startswith("decoding.")]
    is_model = (folder / BEST).exists() or (folder / WEIGHTS).exists()  # maybe an imported one
    if refused and not is_model and not has_updates(folder / CHECKPOINTS):
        # A checkpoint is of update 0, and its weights may have other shapes. The configuration goes last.
        for name in (CHECKPOINTS, SNAPSHOTS, "log.jsonl", "tensorboard", CONFIG):
            remove(folder / name)
    elif refused:
        faults = describe_differences(refused)
        raise UserError(
            f"{folder}: there is a run with other settings: {faults}. Leave them out, or give another --out"
        )


def _set_up(
    config: RunConfig, folder: Path, prepared: Tokenized, report: Report, stop: StopRequest, group: Group
) -> Run:
    """The model on its device with optimizer and task, as the newest checkpoint left them."""
    training = config.training
    if training.threads:
        torch.set_num_threads(training.threads)
    torch.manual_seed(training.seed)
    device = group.device(choose_device(training.device))
    precision = choose_precision(training.precision, device)
    if slow := slow_precision(training.precision, device):
        report.say(f"training.{slow}")
    model = build_model(config.model, prepared.tokenizers, getattr(prepared, "labels", ())).to(device)
    freeze(model, training.freeze)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    sums = GradientSum(trained) if group.size > 1 else None
    arrived = _allow_signals if sums is None else sums.arrived
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(arrived)
    optimizer = make_optimizer(model, training)
    task = build_task(config, prepared, model)
    progress = restore_newest(folder / CHECKPOINTS, model, optimizer, warn=report.say)
    if progress is None and config.begin_with:
        if group.is_first:
            keep_parent_card(config.begin_with, folder)
        borrow_weights(model, config.begin_with, report.say, folder)
    frozen = f" ({', '.join(training.freeze)} frozen)" if training.freeze else ""
    went_on = f"going on after update {progress.step}" if progress else "beginning"
    report.say(
        f"{went_on}: {config.recipe}, {count_parameters(model):,} parameters{frozen}, {task.amount}, "
        f"{precision} on {device}" + (f", {group.size} processes" if group.size > 1 else "")
    )
    if task.measured_by:
        report.say(f"BLEU and chrF in validation: {task.measured_by}")
    return Run(
        folder=folder,
        config=config,
        model=model,
        optimizer=optimizer,
        task=task,
        tokenizers=prepared.tokenizers,
        device=device,
        precision=precision,
        progress=progress or Progress(),
        report=report,
        stop=stop,
        half=HalfCopy(model, HALVES[precision], arrived=arrived) if precision in HALVES else None,
        epoch=max(1.0, task.stream.batches_per_epoch() / training.accumulate),
        group=group,
        sums=sums,
    )


def _allow_signals(_parameter: torch.Tensor) -> None:
    """Run Python code after each gradient, so that signals are handled during a long backward pass on a CPU. It takes
    half a microsecond."""
