"""Checkpoints: everything that bit-exact resuming needs, as safetensors and JSON.

    checkpoints/step-00000500/
        weights.safetensors     the model
        optimizer.safetensors   the moments and counts of the optimizer, by the names of the weights
        progress.json           format, counters, position in the data, validation scores, loss scale of fp16
        manifest.json           SHA-256 of each of these, written last; without it, or with a mismatch, it is damaged

The learning rate has no state: it is a function of the update. Random numbers have none either: they follow from the
seed, the update and the position in the data.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from limelight import __version__
from limelight.batching.stream import Position
from limelight.errors import RunError, UserError, shown
from limelight.files import FORMER, PARTIAL, cause, remove, sha256, whole_folder
from limelight.preparation.kept import Say
from limelight.storage.weights import named_weights, put_weights, read_weights, write_tensors
from limelight.training.optimization.precision import FIRST_SCALE

CHECKPOINTS = "checkpoints"
MANIFEST = "manifest.json"
FORMAT = 8
"""Incremented by a version that changes random draws or the stored state. A checkpoint of another format cannot be
resumed exactly and is refused. One without a format has format 1."""
PARTS = ("weights.safetensors", "optimizer.safetensors", "progress.json")


@dataclass(slots=True)
class Progress:
    """The progress of a run, stored in its checkpoints."""

    format: int = FORMAT
    step: int = 0
    """Updates done."""
    seconds: float = 0.0
    """Time spent training, interruptions not counted."""
    pieces: int = 0
    """Target tokens of all updates, also of skipped ones."""
    loss_sum: float = 0.0
    """Training loss since the last line of the log, summed over `loss_pieces` tokens."""
    loss_pieces: int = 0
    """Target tokens since the last line of the log."""
    skipped: int = 0
    """Consecutive updates whose loss or gradient was not finite; they were not applied."""
    loss_scale: float = FIRST_SCALE
    """Factor of the loss in the next update; only for fp16."""
    scale_updates: int = 0
    """Consecutive updates applied since the loss scale changed."""
    position: Position = field(default_factory=Position)
    best_score: float | None = None
    """The best validation so far, larger is better (BLEU, or minus the loss)."""
    best_loss: float | None = None
    """The lowest validation loss so far, whatever metric selects the best model."""
    model_score: float | None = None
    """The score of the model in `best/`, which may also be the average or the last weights."""
    validated_step: int = -1
    """The update of the last validation; an interrupted validation is repeated."""
    validation_seconds: float = 0.0
    """Duration of the last validation, which a run with `max_minutes` reserves for its end."""
    without_gain: int = 0
    """Validations since the best one, or, while BLEU is noise, since the loss last improved."""
    snapshots: dict[str, float] = field(default_factory=dict)
    """File name -> validation score of each kept snapshot of the weights."""
    finished: str = ""
    """Why the run ended; empty if it has not."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """The inverse of `asdict`. Raises `ValueError` or `TypeError` for missing, unknown or invalid values."""
        other = sorted(values.keys() ^ {field.name for field in fields(cls)})
        if other:
            raise ValueError(f"missing or unknown: {', '.join(other)}")
        return cls(**{**values, "position": Position(**values["position"])})


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    *,
    keep: int,
) -> Path:
    """Write the whole training state and remove all but the newest `keep` checkpoints.

    Raises `RunError` with path and cause if it cannot be written, or a weight is not finite; existing checkpoints are
    unchanged then.
    """
    checkpoint = folder / f"step-{progress.step:08d}"
    weights, moments = named_weights(model), _optimizer_tensors(model, optimizer)
    wrong = [name for name, tensor in [*weights.items(), *moments.items()] if not tensor.isfinite().all()]
    if wrong:
        raise RunError(
            f"{checkpoint}: not written, for {wrong[0]} has become infinite or NaN; lower training.learning_rate or "
            "training.weight_decay in a new run. The checkpoint before it is intact"
        )

    try:
        with whole_folder(checkpoint) as partial:
            write_tensors(partial / PARTS[0], weights)
            write_tensors(partial / PARTS[1], moments)
            (partial / PARTS[2]).write_text(json.dumps(asdict(progress), indent=1), encoding="utf-8")
            sums = {name: sha256(partial / name) for name in PARTS}
            (partial / MANIFEST).write_text(json.dumps(sums, indent=1), encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{checkpoint}: cannot write the checkpoint: {cause(error)}; the one before it is intact"
        ) from error
    _remove_old(folder, checkpoint, keep)
    return checkpoint


def _remove_old(folder: Path, newest: Path, keep: int) -> None:
    """Keep `newest` and the preceding checkpoints. Later ones are damaged: the run was resumed from before them.

    Checkpoints are renamed before removal, so that a partly removed one is not mistaken for a damaged one.
    """
    numbered = _numbered(folder)
    index = numbered.index(newest)
    for old in numbered[: max(0, index + 1 - keep)] + numbered[index + 1 :]:
        nameless = old.with_name(old.name + PARTIAL)
        remove(nameless)
        os.rename(old, nameless)
        remove(nameless)


def restore_newest(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    warn: Say,
) -> Progress | None:
    """Restore the newest intact checkpoint into `model` and `optimizer`; None if there is no checkpoint.

    Damaged ones are skipped with a warning. Raises `RunError` if all are damaged, or the newest one is intact but
    invalid.
    """
    checkpoints = _numbered(folder)
    for checkpoint in reversed(checkpoints):
        fault = find_damage(checkpoint)
        if fault:
            warn(f"{checkpoint}: skipping this checkpoint: {fault}")
            continue
        progress = _read_progress(checkpoint)
        put_weights(model, read_weights(checkpoint / PARTS[0])[0], where=str(checkpoint / PARTS[0]))
        _restore_optimizer(model, optimizer, read_weights(checkpoint / PARTS[1])[0], checkpoint)
        return progress
    if checkpoints:
        raise RunError(
            f"{folder}: all {len(checkpoints)} checkpoints are damaged, so the run cannot be resumed. Restore a "
            "copy of one, or remove this folder to start again with the same vocabulary"
        )
    return None


def stored_progress(folder: Path) -> list[Progress]:
    """The progress stored in each readable checkpoint, oldest first. Raises `UserError` for a format that this version
    cannot resume exactly."""
    readable = []
    for checkpoint in _numbered(folder):
        with suppress(OSError, RunError):  # `restore_newest` reports damaged ones
            readable.append(_read_progress(checkpoint))
    return readable


def _read_progress(checkpoint: Path) -> Progress:
    path = checkpoint / PARTS[2]
    try:
        values = json.loads(path.read_bytes())
        stored = values.get("format", 1)
        progress = Progress.from_json(values) if stored == FORMAT else None
    except (ValueError, TypeError, AttributeError) as error:
        raise RunError(
            f"{path}: not the progress of a run as written by this version of Limelight ({error}); resume with the "
            f"version that wrote it, or remove {checkpoint.parent} to start again with the same vocabulary"
        ) from None
    if progress is None:
        raise UserError(
            f"{checkpoint}: this checkpoint has format {shown(repr(stored))}, from another version of Limelight. "
            f"Limelight {__version__} resumes format {FORMAT} and would not continue this run exactly. Its model can "
            "still be used. To train on, use the version that wrote it, or start a new run with "
            f"--from {checkpoint.parent.parent}"
        )
    return progress


def find_damage(checkpoint: Path) -> str:
    """The damage of a checkpoint; empty if it is intact."""
    try:
        sums = json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8"))
        damaged = [name for name in PARTS if sha256(checkpoint / name) != sums[name]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{MANIFEST} or a part that it names is missing or cannot be read ({error})"
    return f"{damaged[0]} is damaged: its SHA-256 is not the one in {MANIFEST}" if damaged else ""


def has_updates(folder: Path) -> bool:
    """Whether there is a checkpoint, even a damaged one, after an update."""
    return any(path.name != f"step-{0:08d}" for path in _numbered(folder))


def _numbered(folder: Path) -> list[Path]:
    """Checkpoints from the oldest to the newest; their names sort by update."""
    return sorted(path for path in folder.glob("step-*") if path.is_dir() and path.suffix not in (PARTIAL, FORMER))


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer state of each parameter by the parameter's name, independent of groups and their order."""
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}:{key}"] = torch.as_tensor(value).detach().cpu()
    return tensors


def _restore_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], checkpoint: Path
) -> None:
    parameters = dict(model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in parameters:
            raise UserError(f"{checkpoint / PARTS[1]}: optimizer state of {name!r}, which this model does not have")
        # A copy: the loaded tensor is memory-mapped, and a later checkpoint replaces the file.
        optimizer.state[parameters[name]][key] = tensor.clone().to(parameters[name].device)
