"""T14: a corpus whose job is killed before any write, or all of whose workers are killed, loses and doubles nothing."""

import os
import random
import signal
from pathlib import Path

import pytest

from limelight.corpus.pool import Process
from tests.corpus.fakes import contents, drive, job_of, run, write_shards
from tests.torture.conftest import Measured

STEPS = 60
"""More than a job of these files makes: the last ones come to their end."""


def test_a_job_that_is_killed_before_any_write_goes_on(
    full: bool, measured: Measured, tmp_path: Path, seed: int
) -> None:
    given = write_shards(tmp_path / "in", shards=2, lines=15)
    with (given / "1" / "part-1.txt").open("ab") as file:
        file.write(b"\xff\n")
    run(job_of(given, tmp_path / "whole"))
    steps = range(1, STEPS) if full else random.Random(seed).sample(range(1, STEPS), 2)
    held = killed = 0
    for step in steps:
        output = tmp_path / str(step)
        killed += drive(given, output, step) == -signal.SIGKILL
        held += drive(given, output, 0) == 0 and contents(output) == contents(tmp_path / "whole")
    measured("T14", "jobs killed before a write, and continued", held=held, of=len(steps), note=f"{killed} were killed")


def test_workers_that_are_killed_at_any_moment(
    full: bool, measured: Measured, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write_shards(tmp_path / "in", shards=2, lines=70)
    run(job_of(given, tmp_path / "whole"))
    draw, pids = random.Random(seed), set[int]()
    ask = Process.ask

    def asked(self: Process, texts: list[str], first: int, timeout: float) -> object:
        if len(texts) > 1 and self.pid not in pids and draw.random() < 0.5:
            pids.add(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        return ask(self, texts, first, timeout)

    monkeypatch.setattr(Process, "ask", asked)
    rounds = 20 if full else 1
    held = 0
    for number in range(rounds):
        run(job_of(given, tmp_path / str(number)))
        held += contents(tmp_path / str(number)) == contents(tmp_path / "whole")
    measured("T14", "corpora whose workers were killed", held=held, of=rounds, note=f"{len(pids)} were killed")
