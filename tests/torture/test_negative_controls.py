"""A check that cannot fail does not count: with anything left out of a restore, the comparison of the kills fails.

A run is broken off, taken up with one thing not restored, and held against one that was never interrupted. With nothing
left out they are the same: what fails is due to what was left out.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limelight.batching.stream import Position
from limelight.training import loop, run, shares
from limelight.training.checkpoints import checkpoint
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import MODELS, go, tiny_run
from tests.training.interrupted import Killed, interruption, kill

SAVED_EVERY = 3


def without_position(*arguments: Any, **options: Any) -> Any:
    progress = checkpoint.restore_newest(*arguments, **options)
    if progress is not None:
        progress.position = Position()
    return progress


def left_out(saved: int) -> dict[str, tuple[Any, str, Callable[..., Any]]]:
    """What is done instead of restoring each thing after `saved` updates. The only state of draws and of the schedule
    is the number of the update."""
    rate_of = loop.rate_of
    return {
        "draws": (shares, "seed_draws", lambda *_, **__: None),
        "schedule": (loop, "rate_of", lambda config, step, *rest, **more: rate_of(config, step - saved, *rest, **more)),
        "data position": (run, "restore_newest", without_position),
        "Adam state": (checkpoint, "_restore_optimizer", lambda *_, **__: None),
        "weights": (checkpoint, "put_weights", lambda *_, **__: None),
    }


@pytest.mark.parametrize("model", MODELS)
def test_the_comparison_fails_with_anything_left_out(
    model: str, full: bool, measured: Measured, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, whole = random.Random(seed), tmp_path / "whole"
    config = tiny_run(tmp_path / "text", MODELS[model], checkpoint_every=SAVED_EVERY)
    go(config, whole)
    for what in ("nothing", *left_out(0)):
        tries = 5 if full else 1
        held = 0
        for number in range(tries):
            folder, update = tmp_path / f"{what}-{number}", chance.randint(SAVED_EVERY + 1, 12)
            with interruption("update", update, kill), pytest.raises(Killed):
                go(config, folder)
            with monkeypatch.context() as patch:
                if what != "nothing":
                    patch.setattr(*left_out((update - 1) // SAVED_EVERY * SAVED_EVERY)[what])
                go(config, folder)
            found = differences(folder, whole)
            held += {"trace", "weights.safetensors"} <= found if what != "nothing" else not found
        expected = "the comparison holds" if what == "nothing" else "the comparison fails"
        measured("T2", f"{model}: {what} left out of a restore: {expected}", held=held, of=tries)
