"""The benchmark of processes and threads, in small: both ways to train, and the figures of the log.

The launcher of torch takes three processes that import torch: `make torture` runs it, elsewhere it is played.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import scaling
from limelight.cli import app
from limelight.config import BatchingConfig, RunConfig
from tests.forked import Forked
from tests.training.helpers import write_pairs
from tests.training.test_distributed import free_port


def run_here(command: list[str], **options: Any) -> None:
    """`limelight` in this process, which does not have to be started; what torch's launcher starts is forked."""
    if command[1:3] == ["-m", "limelight"]:
        assert app.run(command[3:]) == 0
        return
    assert command[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        Forked([sys.executable, *command[6:]], env={**options["env"], **shared, "RANK": rank, "LOCAL_RANK": rank})
        for rank in "01"
    ]
    assert [process.wait() for process in processes] == [0, 0]


@pytest.mark.slow
def test_processes_and_threads_are_measured_on_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_figures(run_here, tmp_path, monkeypatch, capsys)


def require_figures(
    run: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark, whose commands `run` runs."""
    monkeypatch.setattr(scaling, "ROWS", ((1, 1), (2, 1)))
    monkeypatch.setattr(scaling, "find_recipe", lambda _: RunConfig(batching=BatchingConfig(tokens=120)))
    monkeypatch.setattr(scaling, "EVERY", 1)
    monkeypatch.setattr(scaling, "subprocess", SimpleNamespace(run=run))
    results: dict[str, dict] = {}
    monkeypatch.setattr(scaling, "write_result", lambda name, found: results.update({name: found}))
    text = write_pairs(tmp_path / "train.tsv", 61)
    scaling.main([text], tmp_path / "runs", recipe="tiny", updates=6, rounds=1)
    assert "against as many threads" in capsys.readouterr().out
    speeds = results["scaling"]["target_tokens_per_second"]
    assert set(speeds) == {"1x1x1", "1x1x2", "2x1x2"}
    assert min(speeds.values()) > 0
    lines = {
        name: [json.loads(line) for line in (tmp_path / "runs" / f"{name}-0" / "log.jsonl").read_text().splitlines()]
        for name in speeds
    }
    _, first, other = ([line["loss"] for line in each if line["event"] == "training"] for each in lines.values())
    assert len(first) == 6
    assert other == pytest.approx(first, rel=1e-2)
