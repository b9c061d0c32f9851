"""Snapshots for averaging and their mean (Vaswani et al. 2017, section 6.1), the best model so far, and the final
model.

Nothing here changes the training state: a run that is extended after its end continues exactly.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from limelight.errors import UserError
from limelight.files import remove, whole_folder, write_whole
from limelight.models.interface import Model
from limelight.preparation.shortlist import share_detector
from limelight.storage.layout import BEST, CARD, OF_WEIGHTS, SNAPSHOTS, WEIGHTS, find_snapshots
from limelight.storage.model import read_card, save_model
from limelight.storage.weights import named_weights, put_weights, read_weights, save_weights
from limelight.training.card import model_card
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, stored_progress
from limelight.training.parent import PARENT
from limelight.training.run_state import Run, score_of, validate
from limelight.training.tasks.task import Validation


def average_weights(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Each tensor's mean over the files, summed in float64; one file at a time is in memory."""
    total: dict[str, Tensor] = {}
    for path in paths:
        weights, _ = read_weights(path)
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(paths)).to(torch.float32) for name, tensor in total.items()}


SCORE = "score"


def keep_snapshot(run: Run, score: float) -> dict[str, float]:
    """Store the weights; returns the names and scores of the snapshots that are averaged from now on.

    Other snapshots stay on disk until no checkpoint refers to them: see `drop_snapshots`.
    """
    folder = run.folder / SNAPSHOTS
    folder.mkdir(exist_ok=True)
    name = f"step-{run.progress.step:08d}.safetensors"
    save_weights(folder / name, named_weights(run.model))
    scores = {**run.progress.snapshots, name: score}
    return {step: scores[step] for step in sorted(scores)[-run.config.training.average :]}


def drop_snapshots(run: Run) -> None:
    """Remove the snapshots that neither the run nor any checkpoint would average."""
    wanted = {name for stored in stored_progress(run.folder / CHECKPOINTS) for name in stored.snapshots}
    for path in (run.folder / SNAPSHOTS).glob("*.safetensors"):
        if path.name not in wanted and path.name not in run.progress.snapshots:
            path.unlink()


def score_of_best(folder: Path) -> float | None:
    """The score stored with the model in `best/`; None if no model can be read.

    It may be better than the best score of the checkpoint, if a run was killed after a good validation. Resuming must
    not replace it with a worse one.
    """
    try:
        return float(read_weights(folder / BEST / WEIGHTS)[1][SCORE])
    except (UserError, ValueError, KeyError):
        return None


def save_if_best(run: Run, seen: Validation | None, made_from: str) -> bool:
    """Save the current weights as the model that `--model RUN` loads, if they are the best so far; returns whether."""
    progress, score = run.progress, score_of(run, seen)
    if progress.model_score is not None and score < progress.model_score:
        return False
    write_best(run, {"step": str(progress.step), "made_from": made_from, SCORE: repr(score), **notes_of(run, seen)})
    progress.model_score = score
    return True


def notes_of(run: Run, seen: Validation | None) -> dict[str, str]:
    """A validation as notes of a model."""
    if seen is None:
        return {}
    figures = {f"valid_{name}": f"{value:.2f}" for name, value in seen.figures.items()}
    return {"valid_loss": f"{seen.loss:.4f}", **figures, "measured_by": run.task.measured_by}


def write_best(run: Run, notes: dict[str, str]) -> None:
    """Write the current weights as the model of the run, with its card, without what was measured of former weights."""
    for name in OF_WEIGHTS:
        (run.folder / BEST / name).unlink(missing_ok=True)
    write_whole(run.folder / CARD, _write_model(run, run.folder / BEST, notes))


def _write_model(run: Run, folder: Path, notes: dict[str, str]) -> str:
    """Write the current weights as a model; returns its card."""
    parent = read_card(run.folder, PARENT) if run.config.begin_with else ""  # not that of a former start
    card = model_card(run.config, run.model, run.tokenizers, run.progress, notes, parent=parent)
    share_detector(run.folder, folder)  # before the weights: a model must not be there without it
    save_model(folder, run.model, run.tokenizers, run.config, notes=notes, card=card)
    return card


def finish_model(run: Run) -> None:
    """At the end of a run, validate its last weights and the average of its snapshots, and save each that is at least
    as good as the best so far. The weights being trained are always restored."""
    keep_model_snapshot(run)
    snapshots = run.progress.snapshots
    if run.progress.step != run.progress.validated_step:
        seen = _validate_last(run, f"update {run.progress.step}")
        snapshots = keep_snapshot(run, score_of(run, seen))
    if run.config.training.average < 2 or len(snapshots) < 2:
        return
    folder = run.folder / SNAPSHOTS
    with weights_put_back(run.model):
        put_weights(run.model, average_weights([folder / name for name in snapshots]), where=str(folder))
        _validate_last(run, f"the average of updates {', '.join(str(int(name[5:13])) for name in snapshots)}")


@contextmanager
def weights_put_back(model: Model) -> Iterator[None]:
    """A context that may change the weights being trained."""
    own = {name: tensor.clone() for name, tensor in named_weights(model).items()}
    try:
        yield
    finally:
        put_weights(model, own, where="the weights being trained")


def _validate_last(run: Run, made_from: str) -> Validation | None:
    """Validate weights at the end of a run, save them if they are the best, and report both."""
    seen = validate(run)
    run.progress.seconds = run.seconds()
    run.report.final(run.progress, seen, made_from, chosen=save_if_best(run, seen, made_from))
    return seen


# --- model folders of a run at several updates: `RUN/snapshots/update-00000100/` (`training.keep_snapshots`) ---
def thinned(steps: Iterable[int], count: int) -> list[int]:
    """At most `count` of these updates, in ascending order: as evenly spaced as possible, always including the last.

    Repeatedly removes the update whose neighbors are closest to each other; the beginning of the run is a neighbor.
    """
    kept = sorted(steps)
    while len(kept) > max(count, 1):
        bounds = [0, *kept]
        gaps = [bounds[index + 2] - bounds[index] for index in range(len(kept) - 1)]
        del kept[gaps.index(min(gaps))]
    return kept


def keep_model_snapshot(run: Run) -> None:
    """Write a snapshot of the model, and remove those that `thinned` drops.

    Folders are written atomically. Raises `OSError` or `RunError` with the path if one cannot be written.
    """
    step, count = run.progress.step, run.config.training.keep_snapshots
    stored = find_snapshots(run.folder)
    if not count or not step or step in stored:  # the last update may have been validated before
        return
    notes = {"step": str(step), "made_from": f"update {step}"}
    with whole_folder(run.folder / SNAPSHOTS / f"update-{step:08d}") as partial:
        _write_model(run, partial, notes)
    for update in set(stored) - set(thinned({*stored, step}, count)):
        remove(stored[update])
