"""Everything needed to go on bit for bit, and nothing that could run: safetensors, JSON, and a manifest written last.

    checkpoints/step-00000500/
        weights.safetensors     the model
        optimizer.safetensors   Adam's moments and counts, by the names of the weights
        random.safetensors      the states of torch's generators
        progress.json           counters, position in the data, the record of validations
        manifest.json           SHA-256 of each of these; a folder without it, or with another sum, is not a checkpoint

The learning rate and the scaler have no state: the rate is a function of the update, and bf16 needs no scaler.
"""

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from limelight.batching.stream import Position
from limelight.errors import UserError
from limelight.files import PARTIAL, sha256, sync_file, write_folder
from limelight.models.weights import named_weights, put_weights, read_weights

MANIFEST = "manifest.json"
PARTS = ("weights.safetensors", "optimizer.safetensors", "random.safetensors", "progress.json")


@dataclass(slots=True)
class Progress:
    """How far a run has come; all of it is in the checkpoint."""

    step: int = 0
    """Updates done."""
    seconds: float = 0.0
    """Time spent training, interruptions not counted."""
    pieces: int = 0
    """Target pieces learned from."""
    skipped: int = 0
    """Updates in a row whose loss or gradient was not finite; they changed nothing."""
    position: Position = field(default_factory=Position)
    best_score: float | None = None
    """The best validation so far, larger is better (BLEU, or minus the loss)."""
    best_step: int = 0
    validated_step: int = -1
    """The last update after which was validated; a validation that was interrupted is done again."""
    without_gain: int = 0
    """Validations since the best one."""
    snapshots: dict[str, float] = field(default_factory=dict)
    """Validation score of each snapshot of the weights that is kept, by file name."""
    finished: str = ""
    """Why the run is over; empty while it is not."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `progress.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """The way back from `to_json`."""
        return cls(**{**values, "position": Position(**values["position"])})


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, *, keep: int
) -> Path:
    """Write the whole training state and remove all but the newest `keep` checkpoints."""
    place = folder / f"step-{progress.step:08d}"

    def fill(partial: Path) -> None:
        _save(partial / PARTS[0], named_weights(model))
        _save(partial / PARTS[1], _optimizer_tensors(model, optimizer))
        _save(partial / PARTS[2], _random_states())
        (partial / PARTS[3]).write_text(json.dumps(progress.to_json(), indent=1), encoding="utf-8")
        sync_file(partial / PARTS[3])
        sums = {name: sha256(partial / name) for name in PARTS}
        (partial / MANIFEST).write_text(json.dumps(sums, indent=1), encoding="utf-8")
        sync_file(partial / MANIFEST)

    write_folder(place, fill)
    for old in _numbered(folder)[:-keep]:
        shutil.rmtree(old)
    return place


def restore_newest(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    warn: Callable[[str], None] = warnings.warn,
) -> Progress | None:
    """Put the newest whole checkpoint back; None where there is none. A damaged one is passed over with a warning."""
    for leftover in folder.glob(f"*{PARTIAL}"):
        shutil.rmtree(leftover)
    for place in reversed(_numbered(folder)):
        fault = find_damage(place)
        if fault:
            warn(f"{place}: passing over this checkpoint: {fault}")
            continue
        weights, _ = read_weights(place / PARTS[0])
        put_weights(model, weights, where=str(place / PARTS[0]))
        _restore_optimizer(model, optimizer, read_weights(place / PARTS[1])[0], place)
        progress = Progress.from_json(json.loads((place / PARTS[3]).read_text(encoding="utf-8")))
        _restore_random_states(read_weights(place / PARTS[2])[0])
        return progress
    return None


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
        if not (place / name).is_file():
            return f"{name} is missing"
        if sha256(place / name) != expected:
            return f"{name} is damaged: its SHA-256 is not the one in {MANIFEST}"
    return ""


def _numbered(folder: Path) -> list[Path]:
    """Checkpoints from the oldest to the newest; their names sort by update."""
    return sorted(path for path in folder.glob("step-*") if path.is_dir() and not path.name.endswith(PARTIAL))


def _save(path: Path, tensors: dict[str, Tensor]) -> None:
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    sync_file(path)


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
        optimizer.state[parameters[name]][key] = tensor.to(parameters[name].device)


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda:{index}": state for index, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def _restore_random_states(states: dict[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            if f"cuda:{index}" in states:
                torch.cuda.set_rng_state(states[f"cuda:{index}"], index)
