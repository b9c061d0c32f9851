"""Killed at any instant, again and again, and taken up each time: the run is the same to the last bit."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.torture.conftest import Measured
from tests.torture.processes import Called, differences, train_killed
from tests.training.helpers import MODELS, tiny_run


@pytest.mark.parametrize("model", ["transformer", pytest.param("recurrent", marks=pytest.mark.slow)])
def test_killed_at_random_instants(model: str, full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    """Some kills come from outside after a random time, some just before a random step of a save. A run is killed until
    it gets to its end in between. Checkpoints and validations come in every order."""
    kills, inside, updates = (50, 20, 60) if full else (3, 1, 15)
    config = tiny_run(
        tmp_path / "text", MODELS[model], max_steps=updates, checkpoint_every=5, validate_every=7, average=3,
        best_by="loss",
    )  # fmt: skip
    whole = Called(train_killed, config, tmp_path / "whole", 0).end()
    writes = whole.told[1]
    chance = random.Random(seed)
    plan = [True] * inside + [False] * (kills - inside)
    chance.shuffle(plan)
    places: Counter[str] = Counter()
    held = runs = 0
    while plan:
        run, killed = tmp_path / f"run-{runs}", 0
        runs += 1
        while True:
            before = chance.randint(1, writes // 3) if plan and plan[-1] else 0
            seconds = None if not plan or before else chance.uniform(0, whole.seconds / 3)
            ended = Called(train_killed, config, run, before).end(seconds)
            assert ended.code in (0, -9), ended
            if ended.code == 0:
                break
            places[Path(ended.told[0]).parts[0] if ended.told else ""] += 1
            plan.pop()
            killed += 1
        found = differences(run, tmp_path / "whole")
        print(f"{run.name}: {killed} kills; different: {sorted(found)}")
        held += killed if not found else 0
    inside_of = ", ".join(f"{count} in {place}" for place, count in sorted(places.items()) if place)
    note = f"{runs} runs of {updates} updates; within a save: {inside_of}"
    measured(
        "T1", f"{model}: kills (SIGKILL) after which the run is the same to the last bit", held=held, of=kills,
        note=note,
    )  # fmt: skip
