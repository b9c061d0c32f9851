"""Everything needed to go on bit for bit, and nothing that could run: safetensors, JSON, and a manifest written last.

    checkpoints/step-00000500/
        weights.safetensors     the model
        optimizer.safetensors   Adam's moments and counts, by the names of the weights
        carried.safetensors     what a recurrent language model remembers of the text; empty for all others
        progress.json           format, counters, position in the data, the record of validations
        manifest.json           SHA-256 of each of these; a folder without it, or with another sum, is not a checkpoint

The learning rate has no state: it is a function of the update. Neither has anything random: what is drawn follows from
the seed, the update and the position in the data. The loss scale of fp16 is in `progress.json`.
"""

import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from limelight import __version__
from limelight.batching.stream import Position
from limelight.errors import RunError, UserError
from limelight.files import FORMER, PARTIAL, cause, remove, sha256, write_folder
from limelight.models.recurrent.cells import Carried
from limelight.storage.weights import named_weights, put_weights, read_weights
from limelight.training.loss_scale import FIRST
from limelight.untrusted import shown

CHECKPOINTS = "checkpoints"
MANIFEST = "manifest.json"
FORMAT = 3
"""Raised once for a version that draws other random numbers or stores something else. A checkpoint of another format
cannot be resumed bit for bit and is refused. One without a format has format 1."""
PARTS = ("weights.safetensors", "optimizer.safetensors", "carried.safetensors", "progress.json")


@dataclass(slots=True)
class Progress:
    """How far a run has come; all of it is in the checkpoint."""

    step: int = 0
    """Updates done."""
    seconds: float = 0.0
    """Time spent training, interruptions not counted."""
    pieces: int = 0
    """Target tokens learned from."""
    loss_sum: float = 0.0
    """Training loss since the last line of the log, summed over tokens..."""
    loss_pieces: int = 0
    """...and how many those were."""
    skipped: int = 0
    """Updates in a row whose loss or gradient was not finite; they changed nothing."""
    loss_scale: float = FIRST
    """By which the loss of the next update is multiplied, in fp16 alone..."""
    scale_updates: int = 0
    """...and how many updates in a row were applied since it changed."""
    position: Position = field(default_factory=Position)
    best_score: float | None = None
    """The best validation so far, larger is better (BLEU, or minus the loss)."""
    best_step: int = 0
    best_loss: float | None = None
    """The lowest loss in validation so far, whatever decides which model is best."""
    model_score: float | None = None
    """The score of the model in `best/`: the best validation, or that of an average or of the last update of all."""
    validated_step: int = -1
    """The last update after which was validated; a validation that was interrupted is done again."""
    validation_seconds: float = 0.0
    """How long the last validation took: a run of minutes keeps so much for its end."""
    without_gain: int = 0
    """Validations since the best one, or since the loss last fell while BLEU said nothing."""
    snapshots: dict[str, float] = field(default_factory=dict)
    """Validation score of each snapshot of the weights that is kept, by file name."""
    finished: str = ""
    """Why the run is over; empty while it is not."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `progress.json`."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """The way back from `to_json`. Raises `ValueError` or `TypeError` for what is not all of it, or more."""
        stored, values = values.get("format", 1), {key: value for key, value in values.items() if key != "format"}
        if stored != FORMAT:
            raise ValueError(f"it has format {stored}, and this version reads format {FORMAT}")
        other = sorted(values.keys() ^ {each.name for each in fields(cls)})
        if other:
            raise ValueError(f"{', '.join(other)} is known to one side alone")
        return cls(**{**values, "position": Position(**values["position"])})

    def take(self, values: dict[str, Any]) -> None:
        """Become what these values say, of `to_json`."""
        other = Progress.from_json(values)
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))


def save_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    carried: Carried = (),
    *,
    keep: int,
) -> Path:
    """Write the whole training state and remove all but the newest `keep` checkpoints.

    Raises `RunError` naming path and cause when it cannot be written, or when a number in it is not finite; the
    checkpoints that are there stay as they are.
    """
    place = _place(folder, progress)
    weights, moments = named_weights(model), _optimizer_tensors(model, optimizer)
    wrong = [name for name, tensor in [*weights.items(), *moments.items()] if not tensor.isfinite().all()]
    if wrong:
        raise RunError(
            f"{place}: not written, for {wrong[0]} has become infinite or NaN; lower training.learning_rate or "
            "training.weight_decay in a new run. The checkpoint before it is intact"
        )

    def fill(partial: Path) -> None:
        _save(partial / PARTS[0], weights)
        _save(partial / PARTS[1], moments)
        _save(partial / PARTS[2], {f"{number:02}": part for number, part in enumerate(carried)})
        (partial / PARTS[3]).write_text(json.dumps(progress.to_json(), indent=1), encoding="utf-8")
        sums = {name: sha256(partial / name) for name in PARTS}
        (partial / MANIFEST).write_text(json.dumps(sums, indent=1), encoding="utf-8")

    try:
        write_folder(place, fill)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{place}: cannot write the checkpoint: {cause(error)}; the one before it is intact") from error
    _remove_old(folder, place, keep)
    return place


def _remove_old(folder: Path, newest: Path, keep: int) -> None:
    """Keep `newest` and those just before it. Any after it are damaged: the run went back behind them.

    They lose their names first: half of one that is being removed must not be taken for one that is damaged.
    """
    numbered = _numbered(folder)
    place = numbered.index(newest)
    for old in numbered[: max(0, place + 1 - keep)] + numbered[place + 1 :]:
        nameless = old.with_name(old.name + PARTIAL)
        remove(nameless)
        os.rename(old, nameless)
        remove(nameless)


def restore_newest(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    warn: Callable[[str], None] = warnings.warn,
) -> Progress | None:
    """Put the newest whole checkpoint back; None where there is none at all.

    A damaged one is passed over with a warning. Raises `RunError` when there are only damaged ones, or when the newest
    one is whole and yet not to be understood.
    """
    places = _numbered(folder)
    for place in reversed(places):
        fault = find_damage(place)
        if fault:
            warn(f"{place}: passing over this checkpoint: {fault}")
            continue
        progress = _read_progress(place)
        put_weights(model, read_weights(place / PARTS[0])[0], where=str(place / PARTS[0]))
        _restore_optimizer(model, optimizer, read_weights(place / PARTS[1])[0], place)
        return progress
    if places:
        raise RunError(
            f"{folder}: all {len(places)} checkpoints are damaged, so the run cannot be resumed. Put a "
            "copy of one back, or remove this folder to start again with the same vocabulary"
        )
    return None


def check_format(folder: Path) -> None:
    """Raises `UserError` if a checkpoint has a format that this version cannot resume bit for bit. Reads no weights.

    A damaged checkpoint is left to `restore_newest`, which reports the damage.
    """
    for place in _numbered(folder):
        stored = _stored_format(place)
        if stored != FORMAT:
            raise UserError(
                f"{place}: this checkpoint has format {shown(repr(stored))}, from another version of Limelight. "
                f"Limelight {__version__} resumes format {FORMAT} and would not continue this run exactly. Its model "
                "can still be used. To train on, use the version that wrote it, or start a new run with "
                f"--from {folder.parent}"
            )


def _stored_format(place: Path) -> Any:
    """The format of a checkpoint; of a damaged one the current format, as nothing can be said about it."""
    try:
        text = (place / PARTS[3]).read_bytes()
        if json.loads((place / MANIFEST).read_text(encoding="utf-8"))[PARTS[3]] != sha256(place / PARTS[3]):
            return FORMAT
        return json.loads(text).get("format", 1)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return FORMAT


def restore_carried(folder: Path, progress: Progress, device: torch.device) -> Carried:
    """What was carried from batch to batch at the checkpoint that `restore_newest` has put back."""
    carried = read_weights(_place(folder, progress) / PARTS[2])[0]
    return tuple(carried[name].clone().to(device) for name in sorted(carried))


def _place(folder: Path, progress: Progress) -> Path:
    return folder / f"step-{progress.step:08d}"


def stored_progress(folder: Path) -> list[Progress]:
    """What each checkpoint says of the run when it was written, oldest first; those that cannot say are left out."""
    found = []
    for place in _numbered(folder):
        with suppress(OSError, RunError):
            found.append(_read_progress(place))
    return found


def _read_progress(place: Path) -> Progress:
    path = place / PARTS[3]
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Progress.from_json(values if isinstance(values, dict) else {})
    except (ValueError, TypeError) as error:
        raise RunError(
            f"{path}: not the progress of a run as this version of Limelight writes it ({error}); go on with the "
            f"version that wrote it, or remove {place.parent} to start again with the same vocabulary"
        ) from None


def find_damage(place: Path) -> str:
    """What is wrong with a checkpoint; an empty text if nothing is."""
    try:
        sums = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"it has no {MANIFEST}, so it was not completely written"
    except (OSError, ValueError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    if not isinstance(sums, dict) or set(sums) != set(PARTS):
        return f"{MANIFEST} does not list the parts of a checkpoint"
    for name, expected in sums.items():
        try:
            intact = sha256(place / name) == expected
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} cannot be read ({error})"
        if not intact:
            return f"{name} is damaged: its SHA-256 is not the one in {MANIFEST}"
    return ""


def newest_step(folder: Path) -> int:
    """The update after which the newest checkpoint was written, be it damaged; 0 where there is none."""
    numbers = [path.name.removeprefix("step-") for path in _numbered(folder)]
    return max(map(int, filter(str.isdigit, numbers)), default=0)


def _numbered(folder: Path) -> list[Path]:
    """Checkpoints from the oldest to the newest; their names sort by update."""
    return sorted(path for path in folder.glob("step-*") if path.is_dir() and path.suffix not in (PARTIAL, FORMER))


def _save(path: Path, tensors: dict[str, Tensor]) -> None:
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Each parameter's optimizer state under the parameter's own name: independent of groups and their order."""
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}:{key}"] = torch.as_tensor(value).detach().cpu()
    return tensors


def _restore_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], place: Path
) -> None:
    parameters = dict(model.named_parameters())
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in parameters:
            raise UserError(f"{place / PARTS[1]}: optimizer state of {name!r}, which this model does not have")
        # A copy: what was read is a window into the file, which a later checkpoint replaces.
        optimizer.state[parameters[name]][key] = tensor.clone().to(parameters[name].device)
