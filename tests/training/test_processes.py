"""Further processes that `limelight train` starts: the run of one process, and none that is left behind.

They are real processes: each start takes some seconds, so each test looks at several things.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from limelight.cli.app import run as command
from limelight.config import RunConfig, load_config
from limelight.errors import RunError, UserError
from limelight.signals import Stopped
from limelight.training import processes, update
from limelight.training.distributed import ALONE, PeerEndedError, shared
from limelight.training.processes import divided, with_batches
from limelight.training.report import Report
from limelight.training.run import train
from tests.torture.processes import PROCESSES
from tests.training.helpers import checkpoints_of, go, tiny_run, with_training
from tests.training.test_distributed import furthest, losses_of

WITHIN = 60.0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that are started in a test; none may be left at its end."""
    found: list[Any] = []
    start = processes._start

    def seen(*given: Any) -> Any:
        found.append(start(*given))
        return found[-1]

    monkeypatch.setattr(processes, "_start", seen)
    return found


def run_of(folder: Path, **training: Any) -> RunConfig:
    """Dropout, subword sampling, clipping and Muon are on; three batches are shared by two processes."""
    settings = {"max_steps": 4, "validate_every": 2, "accumulate": 3, "optimizer": "muon"}
    return tiny_run(folder / "text", **{**settings, **training})


def test_the_command_starts_a_process_and_the_run_is_that_of_one(
    tmp_path: Path, started: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """A run may go on with another number of processes, and only the first process prints."""
    config = run_of(tmp_path)
    go(config, tmp_path / "one", max_steps=6)
    capfd.readouterr()
    go(config, tmp_path / "two", processes=2)
    assert [process.poll() for process in started] == [0]
    assert capfd.readouterr() == ("", "")
    assert command(["train", "--out", str(tmp_path / "two"), "--processes", "1", "--max-steps", "6"]) == 0
    assert len(started) == 1
    found = furthest(tmp_path / "two", tmp_path / "one")
    assert 0 < found < 1e-5
    assert losses_of(tmp_path / "two") == pytest.approx(losses_of(tmp_path / "one"), rel=1e-5)


def at_update(step: int, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report.update

    def acting(self: Report, progress: Any, result: Any, rate: float) -> None:
        report(self, progress, result, rate)
        if progress.step == step:
            act()

    monkeypatch.setattr(Report, "update", acting)


def test_a_process_that_is_killed_ends_the_run_with_one_message(
    tmp_path: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    config = run_of(tmp_path, checkpoint_every=2, max_steps=1000)
    at_update(5, lambda: started[0].kill(), monkeypatch)
    began = time.monotonic()
    with pytest.raises(PeerEndedError, match="another process of this training has ended") as caught:
        go(config, tmp_path / "run", processes=2)
    assert time.monotonic() - began < WITHIN
    assert caught.value.__notes__ == [f"process {started[0].pid} ended first (SIGKILL)"]
    assert "limelight:" not in capfd.readouterr().err
    assert checkpoints_of(tmp_path / "run")[-1].name == "step-00000004"


def test_sigterm_to_the_first_process_saves_once_and_ends_all(
    tmp_path: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """At once: it need not finish the update, as the others end with it."""
    config, loss = run_of(tmp_path, checkpoint_every=1000, max_steps=1000), update.batch_loss

    def stop_in_next() -> None:
        def stopping(*given: Any, **more: Any) -> Any:
            os.kill(os.getpid(), signal.SIGTERM)
            return loss(*given, **more)

        monkeypatch.setattr(update, "batch_loss", stopping)

    at_update(3, stop_in_next, monkeypatch)
    with pytest.raises(Stopped):
        go(config, tmp_path / "run", processes=2)
    assert started[0].poll() is not None
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in checkpoints_of(tmp_path / "run")] == ["step-00000003"]


def _train(config: RunConfig, folder: Path) -> None:
    torch.set_num_threads(1)
    train(config, folder, quiet=True)


def test_a_further_process_ends_when_its_pipe_closes() -> None:
    """Also one that computes and does not look at its connections. Without the watch this one would sleep on."""
    code = "import time; from limelight.training.processes import end_with_first as f; f(); time.sleep(600)"
    path = {**os.environ, "PYTHONPATH": str(processes.PACKAGES)}
    with subprocess.Popen([sys.executable, "-c", code], env=path, stdin=subprocess.PIPE) as other:
        try:
            assert other.stdin is not None
            other.stdin.close()
            assert other.wait(WITHIN) == 1
        finally:
            other.kill()


def test_no_process_survives_the_first_one(tmp_path: Path) -> None:
    """The first one is killed before the other has joined."""
    config = with_training(run_of(tmp_path, max_steps=100_000), processes=2)
    first = PROCESSES.Process(target=_train, args=(config, tmp_path / "run"))
    first.start()
    last = time.monotonic() + WITHIN
    while not (found := children_of(first.pid or 0)):
        assert time.monotonic() < last
        time.sleep(0.01)
    first.kill()
    first.join()
    while is_running(found[0]):
        assert time.monotonic() < last
        time.sleep(0.05)


def children_of(parent: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def is_running(process: int) -> bool:
    """A zombie is not: nobody waits for it where the machine has no init."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_does_not_begin_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ENTRY", "limelight.nothing")
    with pytest.raises(RunError, match=r"did not begin \(exit code 1\); --processes 1 trains without"):
        go(run_of(tmp_path), tmp_path / "run", processes=2)


def test_a_mistake_is_found_before_a_process_is_started(
    tmp_path: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = with_training(run_of(tmp_path), processes=2)
    with pytest.raises(UserError, match="nothing to train on"):
        train(config.model_copy(update={"data": config.data.model_copy(update={"train": ()})}), tmp_path / "run")
    monkeypatch.setattr("limelight.training.preflight.choose_device", lambda _: torch.device("cuda"))
    with pytest.raises(UserError, match=r"training.processes=2 is for training on a CPU, .* with torchrun"):
        train(config, tmp_path / "run")
    assert not started


def test_updates_are_divided_for_the_processes_that_share_them(tmp_path: Path) -> None:
    """Not if the configuration divides them, or no processes are asked for."""
    config = with_batches(with_training(tiny_run(tmp_path), processes=2), accumulate=1, tokens=181)
    found = divided(config)
    assert (found.batching.tokens, found.training.accumulate) == (90, 2)
    assert with_batches(found, accumulate=1, tokens=181) == config
    for other in (
        with_batches(config, accumulate=2, tokens=181),
        with_training(config, processes=None),
        with_training(config, processes=1),
    ):
        assert divided(other) == other


def test_a_run_keeps_its_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that began it continues it, also with another number of processes."""
    config = with_training(tiny_run(tmp_path / "text", max_steps=1, accumulate=1), processes=2, threads=2)
    config = with_batches(config, accumulate=1, tokens=181)
    run = tmp_path / "run"
    monkeypatch.setattr(processes.Launcher, "start", lambda *_, **__: ALONE)
    train(config, run, quiet=True, may_divide=True)
    assert train(with_training(config, max_steps=2, processes=None), run, quiet=True, may_divide=True).step == 2
    there = load_config(run / "config.yaml")
    assert (there.batching.tokens, there.training.accumulate) == (90, 2)
    with pytest.raises(UserError, match=r"batching.tokens is 90 there, 181 here"):
        train(with_training(config, max_steps=3), run, quiet=True)
    train(with_training(config, processes=None), tmp_path / "alone", quiet=True, may_divide=True)
    assert load_config(tmp_path / "alone" / "config.yaml").batching.tokens == 181


def test_batches_are_shared_evenly_by_their_size() -> None:
    assert shared([5, 1, 2, 4], 2) == [[0, 1], [2, 3]]
    assert shared([3, 3], 3) == [[0], [1], []]
    assert shared([], 2) == [[], []]
