"""A check that cannot fail does not count: with anything left out of a restore, the comparison of the kills fails.

A run is broken off, taken up with one thing not restored, and held against one that was never interrupted, in the way
`test_kills.py` does it. With nothing left out they are the same: what fails is due to what was left out.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from limelight.batching.stream import Position
from limelight.config import RunConfig
from limelight.training import loop, run, shares
from limelight.training.checkpoints import checkpoint
from limelight.training.checkpoints.checkpoint import Progress, restore_newest
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import MODELS, go, tiny_run
from tests.training.interrupted import Killed, interruption, kill

Whole = tuple[RunConfig, Path]
SAVED_EVERY = 3


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    """An uninterrupted run of each model."""
    found = {}
    for name, model in MODELS.items():
        folder = tmp_path_factory.mktemp(name)
        found[name] = tiny_run(folder / "text", model, checkpoint_every=SAVED_EVERY), folder / "whole"
        go(*found[name])
    return found


def leave_out(what: str, patch: pytest.MonkeyPatch, saved: int) -> None:
    """Have one thing not restored when a run is taken up after `saved` updates."""

    def nothing(*_: object, **__: object) -> None:
        pass

    def without_position(*arguments: Any, **options: Any) -> Progress | None:
        progress = restore_newest(*arguments, **options)
        if progress is not None:
            progress.position = Position()
        return progress

    rate_of = loop.rate_of
    if what == "draws":  # their only state is the number of the update
        patch.setattr(shares, "seed_draws", nothing)
    elif what == "schedule":  # its only state is the number of the update
        patch.setattr(loop, "rate_of", lambda config, step, *rest, **more: rate_of(config, step - saved, *rest, **more))
    elif what == "data position":
        patch.setattr(run, "restore_newest", without_position)
    elif what == "Adam state":
        patch.setattr(checkpoint, "_restore_optimizer", nothing)
    elif what == "weights":
        patch.setattr(checkpoint, "put_weights", nothing)
    else:
        assert what == "nothing"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["nothing", "draws", "schedule", "data position", "Adam state", "weights"])
def test_the_comparison_fails_with_anything_left_out(
    what: str,
    wholes: dict[str, Whole],
    full: bool,
    measured: Measured,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(seed)
    models = [*MODELS] * 5 if full else [chance.choice([*MODELS])]
    tries = [(model, chance.randint(SAVED_EVERY + 1, 12)) for model in models]
    held = 0
    for number, (model, update) in enumerate(tries):
        config, whole = wholes[model]
        folder = tmp_path / f"run-{number}"
        with interruption("update", update, kill), pytest.raises(Killed):
            go(config, folder)
        with monkeypatch.context() as patch:
            leave_out(what, patch, saved=(update - 1) // SAVED_EVERY * SAVED_EVERY)
            go(config, folder)
        found = differences(folder, whole)
        print(f"{model} broken off in update {update}; different: {sorted(found)}")
        held += not found if what == "nothing" else {"trace", "weights.safetensors"} <= found
    expected = "the comparison holds" if what == "nothing" else "the comparison fails"
    measured("T2", f"{what} left out of a restore: {expected}", held=held, of=len(tries))
