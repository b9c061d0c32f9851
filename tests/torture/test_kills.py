"""Killed at any instant, again and again, and taken up each time: the run is the same to the last bit."""

import random
from collections import Counter
from pathlib import Path

import pytest

from limelight.config import RunConfig
from tests.torture.conftest import Measured
from tests.torture.processes import differences, train_in_process
from tests.training.helpers import MODELS, tiny_run


def eventful_run(folder: Path, model: str, updates: int) -> RunConfig:
    """Everything random switched on; checkpoints and validations come in every order."""
    return tiny_run(
        folder, MODELS[model], max_steps=updates, checkpoint_every=5, validate_every=7, average=3, best_by="loss"
    )


@pytest.mark.parametrize("model", MODELS)
def test_killed_at_random_instants(model: str, full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    """Some kills come from outside after a random time, some just before a random step of a save. A run is killed until
    it gets to its end in between."""
    kills, inside, updates = (50, 20, 60) if full else (3, 1, 15)
    config = eventful_run(tmp_path / "text", model, updates)
    whole = train_in_process(config, tmp_path / "whole")
    print(f"whole run: {whole.seconds:.1f} s, {whole.writes} steps of saves")
    chance = random.Random(seed)
    plan = [True] * inside + [False] * (kills - inside)
    chance.shuffle(plan)
    places: Counter[str] = Counter()
    held = runs = 0
    while plan:
        run, killed = tmp_path / f"run-{runs}", 0
        runs += 1
        while True:
            if not plan:
                ending = train_in_process(config, run)
            elif plan[-1]:
                ending = train_in_process(config, run, before_write=chance.randint(1, whole.writes // 3))
            else:
                ending = train_in_process(config, run, after_seconds=chance.uniform(0, whole.seconds / 3))
            if not ending.killed:
                break
            places[Path(ending.place).parts[0] if ending.place else ""] += 1
            plan.pop()
            killed += 1
        found = differences(run, tmp_path / "whole")
        print(f"{run.name}: {killed} kills; different: {sorted(found)}")
        held += killed if not found else 0
    inside_of = ", ".join(f"{count} in {place}" for place, count in sorted(places.items()) if place)
    measured(
        "T1",
        f"{model}: kills (SIGKILL) after which the run is the same to the last bit",
        held=held,
        of=kills,
        note=f"{runs} runs of {updates} updates; within a save: {inside_of}; there are no loader processes: one thread "
        "makes the next chunk, and what is in it follows from seed and position",
    )
