"""Two trainers in one run folder: one trains, the other is told who, and one that was killed holds nobody up."""

import random
from multiprocessing.connection import wait
from pathlib import Path

from limelight.config import save_config
from limelight.training.checkpoints.lock import LOCK
from tests.torture.commands import Command, Moment
from tests.torture.conftest import Measured
from tests.training.helpers import tiny_run


def test_two_at_the_same_time(full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    """The one that is let in trains on until it is killed, when the other has ended; the next two find its lock."""
    chance, tries, alone = random.Random(seed), 20 if full else 2, 0
    save_config(tiny_run(tmp_path, max_steps=1_000_000), tmp_path / "config.yaml")
    words = ["train", "--config", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "run"), "--quiet"]
    for number in range(tries):
        assert (tmp_path / "run" / LOCK).exists() or number == 0
        moments = [Moment("limelight.training.run.only_trainer", lasts=chance.uniform(0, 0.05)) for _ in range(2)]
        both = [Command(words, tmp_path / f"errors-{each}", moments[each]) for each in range(2)]
        refused = wait([command.process.sentinel for command in both], timeout=120)
        second, first = both if both[0].process.sentinel in refused else both[::-1]
        code, trains = second.end(0).code, first.process.is_alive()
        told = f"limelight: {tmp_path / 'run'}: another process is training there"
        alone += trains and code == 2 and second.errors.startswith(told) and second.errors.count("\n") == 1
        first.end(0)
    what = "pairs of trainers started in one folder: one trains, the other is refused"
    measured("T10", what, held=alone, of=tries)
    last = Command([*words, "--max-steps", "3"], tmp_path / "errors")
    assert (last.end().code, last.errors) == (0, "")
    assert not (tmp_path / "run" / LOCK).exists()
