"""NaN and infinity, put into the loss or into a gradient: they reach no weight, no optimizer state and no file."""

import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from limelight.models.interface import Seq2Seq
from limelight.training import loop
from limelight.training.checkpoints.checkpoint import find_damage
from limelight.training.optimization import update as updating
from limelight.training.optimization.update import PendingUpdate
from tests.torture.conftest import Measured
from tests.training.helpers import MODELS, checkpoints_of, go, log_of, tiny_run

FAULTS = {"NaN in the loss": ("loss", math.nan), "infinite loss": ("loss", math.inf),
          "NaN in a gradient": ("gradient", math.nan), "infinite gradient": ("gradient", -math.inf),
          "a norm that overflows": ("gradient", 1e38)}  # fmt: skip


class Injection:
    """Puts faults into updates, and looks at every number before and after each."""

    def __init__(self, faults: Mapping[int, str]) -> None:
        self.faults, self.done, self.changed, self.not_finite = faults, 0, 0, 0
        self._update = updating.update

    def update(self, model: Seq2Seq, batches: Any, optimizer: torch.optim.Optimizer, **options: Any) -> PendingUpdate:
        self.done += 1
        where, value = FAULTS.get(self.faults.get(self.done, ""), ("", 0.0))
        loss = options["loss"]
        options["loss"] = lambda *given: loss(*given) + value if where == "loss" else loss(*given)
        before = state(model, optimizer)
        parameter = random.Random(self.done).choice(list(model.parameters()))
        hook = parameter.register_hook(lambda gradient: gradient + value) if where == "gradient" else None
        result = self._update(model, batches, optimizer, **options)
        if hook is not None:
            hook.remove()
        after = state(model, optimizer)
        self.not_finite += sum(not tensor.isfinite().all() for tensor in after.values())
        fresh = (tensor for name, tensor in after.items() if name not in before)  # moments: zeros before the first step
        if where and (result.read().applied or any(tensor.any() for tensor in fresh)
                      or any(not torch.equal(before[name], after[name]) for name in before)):  # fmt: skip
            self.changed += 1
        return result


def state(model: Seq2Seq, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Every number that an update may change."""
    found = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            found[f"{name}:{key}"] = value.clone()
    return found


def not_finite_on_disk(run: Path) -> Iterator[str]:
    """Every tensor in every file of a run that is not finite throughout."""
    for path in sorted(run.rglob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            yield from (f"{path.name}:{name}" for name in file.keys() if not file.get_tensor(name).isfinite().all())  # noqa: SIM118


def test_ten_updates_with_a_fault(
    full: bool, measured: Measured, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is left out, counted and written down; all the others are done, and every file is finite."""
    chance = random.Random(seed)
    steps, cases = 40 if full else 13, [(name, limit) for name in MODELS for limit in (1.0, 0.0)]
    for name, clip_norm in cases if full else [chance.choice(cases)]:
        run = tmp_path / f"{name}-{clip_norm}"
        config = tiny_run(tmp_path / "text", MODELS[name], max_steps=steps, clip_norm=clip_norm)
        chosen = sorted(chance.sample(range(1, steps + 1), 2 * len(FAULTS)))
        injection = Injection(dict(zip(chosen, list(FAULTS) * 2, strict=True)))
        with monkeypatch.context() as patch:
            patch.setattr(loop, "update", injection.update)
            progress = go(config, run)
        assert (injection.done, progress.step) == (steps, steps)
        assert not injection.not_finite
        assert not list(not_finite_on_disk(run))
        assert not any(map(find_damage, checkpoints_of(run)))
        skipped = [line["step"] for line in log_of(run) if line["event"] == "skipped"]
        assert set(skipped) <= set(chosen)
        limit = f"clipped to {clip_norm:g}" if clip_norm else "not clipped"
        measured("T6", f"{name}, gradient {limit}: faulty updates that changed nothing and are in the log",
                 held=len(skipped) - injection.changed, of=len(chosen), note=", ".join(FAULTS))  # fmt: skip
