"""Checkpoints: bit for bit there and back, every damage found, the last good one never lost."""

import json
import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from limelight.batching.stream import Position
from limelight.config import TrainingConfig
from limelight.errors import RunError, UserError
from limelight.training.checkpoints import checkpoint
from limelight.training.checkpoints.checkpoint import (
    MANIFEST,
    PARTS,
    Progress,
    find_damage,
    restore_newest,
    save_checkpoint,
    stored_progress,
)
from limelight.training.optimization.optimizer import make_optimizer, set_rate

FULL = Progress(
    step=7, seconds=0.1 + 0.2, pieces=12345, loss_sum=1 / 3, loss_pieces=17, skipped=2, position=Position(3, 1, 4),
    best_score=-2.718281828459045, model_score=1e-300, validated_step=6, without_gain=1,
    snapshots={"step-00000004.safetensors": 1 / 7, "step-00000006.safetensors": -0.0}, finished="bound",
)  # fmt: skip


class Trained:
    """A model with a shared weight and an optimizer that has taken a few steps."""

    def __init__(self, steps: int = 3) -> None:
        self.model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Linear(5, 3), nn.Linear(3, 5))
        self.model[3].weight = self.model[0].weight
        self.optimizer = make_optimizer(self.model, TrainingConfig(weight_decay=0.01))
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        set_rate(self.optimizer, 0.01)
        self.optimizer.zero_grad()
        self.model(torch.randn(7, 3)).square().sum().backward()
        self.optimizer.step()

    def tensors(self) -> dict[str, Tensor]:
        found = {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                found[f"{name}:{key}"] = value.clone()
        return found

    def save(self, folder: Path, step: int = 7, keep: int = 3) -> Path:
        return save_checkpoint(folder, self.model, self.optimizer, Progress(step=step), keep=keep)

    def restore(self, folder: Path) -> tuple[Progress | None, list[str]]:
        warnings: list[str] = []
        return restore_newest(folder, self.model, self.optimizer, warn=warnings.append), warnings


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        tensor.dtype == other[name].dtype and torch.equal(tensor, other[name]) for name, tensor in one.items()
    )


def test_everything_comes_back_bit_for_bit(seed: int, tmp_path: Path) -> None:
    saved, fresh = Trained(), Trained(steps=0)
    save_checkpoint(tmp_path, saved.model, saved.optimizer, FULL, keep=3)
    before = saved.tensors()
    assert len(before) == 4 * 7  # seven tensors, the shared one once; two moments and a count for each
    torch.manual_seed(seed)
    saved.step()  # what follows must follow again
    after = saved.tensors()
    progress, warnings = fresh.restore(tmp_path)
    assert (progress, warnings) == (FULL, [])
    assert same(fresh.tensors(), before)
    torch.manual_seed(seed)  # a run seeds every batch anew
    fresh.step()
    assert same(fresh.tensors(), after)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**62))
def test_numbers_of_progress_keep_their_last_bit(seconds: float, score: float, pieces: int) -> None:
    progress = Progress(seconds=seconds, best_score=score, pieces=pieces, snapshots={"x": score})
    again = Progress.from_json(json.loads(json.dumps(asdict(progress))))
    assert again == progress
    assert again.best_score.hex() == score.hex()


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in asdict(FULL).items() if key != name}


STRANGE = {
    "a key too many": (json.dumps({**asdict(FULL), "scaler": 1.0}), "missing or unknown: scaler"),
    "a key too few": (json.dumps(_without("position")), "missing or unknown: position"),
    "another position": (json.dumps({**asdict(FULL), "position": {"shard": 3}}), "shard"),
    "no JSON": ("{", "not the progress of a run"),
}


def rewritten(place: Path, part: str, content: str) -> None:
    """Another content, and the sum that belongs to it: no damage."""
    (place / part).write_text(content)
    sums = json.loads((place / MANIFEST).read_text()) | {part: checkpoint.sha256(place / part)}
    (place / MANIFEST).write_text(json.dumps(sums))


@pytest.mark.parametrize("strange", STRANGE)
def test_progress_of_another_version_is_told_before_anything_is_changed(
    strange: str, seed: int, tmp_path: Path
) -> None:
    content, fault = STRANGE[strange]
    trained = Trained()
    trained.save(tmp_path, 5)
    trained.step()
    place = trained.save(tmp_path, 7)
    rewritten(place, PARTS[-1], content)
    fresh = Trained(steps=0)
    before = fresh.tensors()
    with pytest.raises(RunError, match=f"{place / PARTS[-1]}: .*{fault}.* resume with the version that wrote it"):
        fresh.restore(tmp_path)
    assert same(fresh.tensors(), before)
    assert [progress.step for progress in stored_progress(tmp_path)] == [5]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)]),
    "flipped": flip,
    "missing": Path.unlink,
    "grown": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
}


@pytest.mark.parametrize(
    ("part", "damage"),
    # A line end more after JSON is no damage.
    [(part, damage) for part in (*PARTS, MANIFEST) for damage in DAMAGES if (part, damage) != (MANIFEST, "grown")],
)
def test_a_damaged_checkpoint_is_passed_over_with_one_warning(
    part: str, damage: str, seed: int, tmp_path: Path
) -> None:
    random.seed(seed)
    good = Trained()
    good.save(tmp_path, step=5)
    expected = good.tensors()
    good.step()
    newest = good.save(tmp_path, step=7)
    DAMAGES[damage](newest / part)
    fresh = Trained(steps=0)
    progress, warnings = fresh.restore(tmp_path)
    assert progress is not None
    assert progress.step == 5
    assert same(fresh.tensors(), expected)
    assert len(warnings) == 1
    assert str(newest) in warnings[0]
    assert part in warnings[0]


def test_when_all_are_damaged_the_run_does_not_silently_begin_anew(seed: int, tmp_path: Path) -> None:
    trained = Trained()
    for step in (3, 5):
        flip(trained.save(tmp_path, step) / PARTS[0])
    with pytest.raises(RunError, match=r"all 2 checkpoints are damaged, .* remove this folder to start again"):
        trained.restore(tmp_path)


def test_a_checkpoint_of_another_model_is_refused(seed: int, tmp_path: Path) -> None:
    Trained().save(tmp_path)
    other = Trained(steps=0)
    other.model = nn.Linear(3, 5)
    with pytest.raises(UserError, match="do not fit the model"):
        other.restore(tmp_path)


def test_nothing_is_pickled(seed: int, tmp_path: Path) -> None:
    place = Trained().save(tmp_path)
    assert sorted(path.name for path in place.iterdir()) == sorted([*PARTS, MANIFEST])
    for path in place.iterdir():
        content = path.read_bytes()
        header = content[8 : 8 + int.from_bytes(content[:8], "little")] if path.suffix == ".safetensors" else content
        json.loads(header)


@pytest.mark.parametrize("where", ["weight", "moment"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_written(where: str, bad: float, seed: int, tmp_path: Path) -> None:
    trained = Trained()
    trained.save(tmp_path, 5)
    last = trained.model[2].bias
    with torch.no_grad():
        (last if where == "weight" else trained.optimizer.state[last]["exp_avg_sq"])[1] = bad
    with pytest.raises(RunError, match=r"step-00000007: not written, for 2\.bias.* has become infinite or NaN"):
        trained.save(tmp_path, 7)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]
    assert find_damage(tmp_path / "step-00000005") == ""
