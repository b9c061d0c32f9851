"""Several processes make the run of one: the same losses and weights, whichever computes which batch.

The processes are real ones that talk over gloo on this machine.
"""

import os
import shutil
import signal
import socket
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from limelight.config import RunConfig
from limelight.errors import RunError, UserError
from limelight.signals import Stopped
from limelight.storage.weights import read_weights
from limelight.training.distributed import Group, joined_group
from limelight.training.run import train
from tests.forked import PROCESSES
from tests.training.helpers import checkpoints_of, go, log_of, tiny_run, with_training

ENDED, STOPPED, FAILED, MISTAKEN = 0, 143, 1, 2
WITHIN = 120.0
"""Seconds after which a process that hangs fails its test."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _train(config: RunConfig, folder: Path, variables: dict[str, str]) -> None:
    """In a process of its own; exits as the command does."""
    os.environ.update(variables)
    torch.set_num_threads(1)
    code = ENDED
    try:
        train(config, folder, quiet=True)
    except Stopped as stopped:
        code = stopped.exit_code
    except UserError:
        code = MISTAKEN
    except RunError:
        code = FAILED
    os._exit(code)


def start(config: RunConfig, folder: Path, size: int) -> list[BaseProcess]:
    """As torchrun does on one machine."""
    shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    found = []
    for rank in range(size):
        variables = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        found.append(PROCESSES.Process(target=_train, args=(config, folder, variables)))
        found[-1].start()
    return found


def ends(processes: list[BaseProcess]) -> list[int | None]:
    """Their exit codes. One that hangs is killed and has another code than any that is expected."""
    last = time.monotonic() + WITHIN
    for process in processes:
        process.join(max(0.0, last - time.monotonic()))
    for process in processes:
        if process.exitcode is None:
            process.kill()
            process.join()
    return [process.exitcode for process in processes]


def weights_of(run: Path) -> dict[str, torch.Tensor]:
    return read_weights(checkpoints_of(run)[-1] / "weights.safetensors")[0]


def furthest(run: Path, other: Path) -> float:
    """The largest difference of a weight after the last update.

    Without the biases of keys: a softmax does not see what is added to all its scores, so their gradient is zero but
    for rounding, and Adam makes steps of any gradient.
    """
    mine, theirs = weights_of(run), weights_of(other)
    assert mine.keys() == theirs.keys()
    seen = [name for name in mine if not name.endswith("key_proj.bias")]
    assert len(seen) < len(mine)
    return max(float((mine[name] - theirs[name]).abs().max()) for name in seen)


def losses_of(run: Path) -> list[float]:
    return [line["loss"] for line in log_of(run) if line["event"] in ("training", "validation")]


def run_of(folder: Path, accumulate: int, **training: Any) -> RunConfig:
    """Dropout, subword sampling and clipping are on. Five batches are shared unevenly."""
    return tiny_run(folder / "text", max_steps=6, validate_every=3, accumulate=accumulate, **training)


@pytest.mark.parametrize(("size", "accumulate"), [(2, 5), (3, 2)])
def test_several_processes_make_the_run_of_one(size: int, accumulate: int, tmp_path: Path) -> None:
    """With three processes and two batches one has nothing to compute, and takes part all the same."""
    config = run_of(tmp_path, accumulate)
    go(config, tmp_path / "one")
    assert ends(start(config, tmp_path / "several", size)) == [ENDED] * size
    found = furthest(tmp_path / "several", tmp_path / "one")
    print(f"{size} processes, {accumulate} batches: weights differ by {found:.1e} at most")
    assert found < 1e-5
    assert losses_of(tmp_path / "several") == pytest.approx(losses_of(tmp_path / "one"), rel=1e-5)
    assert len(losses_of(tmp_path / "several")) == 6 + 2


def test_a_run_goes_on_exactly_with_as_many_processes_and_equally_with_another_number(tmp_path: Path) -> None:
    config = run_of(tmp_path, 5)
    whole, again = tmp_path / "whole", tmp_path / "again"
    ends(start(config, whole, 2))
    assert ends(start(with_training(config, max_steps=3), again, 2)) == [ENDED, ENDED]
    other = Path(shutil.copytree(again, tmp_path / "other"))
    assert ends(start(config, again, 2)) == [ENDED, ENDED]
    assert furthest(again, whole) == 0
    assert ends(start(config, other, 3)) == [ENDED, ENDED, ENDED]
    go(config, other, max_steps=8)
    go(config, whole, max_steps=8)
    assert furthest(other, whole) < 1e-5


@pytest.mark.parametrize("heard_by", [0, 1])
def test_a_signal_to_any_process_saves_once_and_all_leave(heard_by: int, tmp_path: Path) -> None:
    config = run_of(tmp_path, 3, checkpoint_every=100_000)
    processes = start(with_training(config, max_steps=100_000), tmp_path / "run", 2)
    wait_for_updates(tmp_path / "run", 3, processes)
    os.kill(processes[heard_by].pid or 0, signal.SIGTERM)
    assert ends(processes) == [STOPPED, STOPPED]
    (saved,) = checkpoints_of(tmp_path / "run")
    done = int(saved.name.removeprefix("step-"))
    assert done >= 3
    go(config, tmp_path / "one", max_steps=done)
    assert furthest(tmp_path / "run", tmp_path / "one") < 1e-4


@pytest.mark.parametrize("killed", [0, 1])
def test_a_process_that_is_killed_ends_the_others_and_the_run_goes_on(killed: int, tmp_path: Path) -> None:
    config = run_of(tmp_path, 3, checkpoint_every=2)
    processes = start(with_training(config, max_steps=100_000), tmp_path / "run", 2)
    wait_for_updates(tmp_path / "run", 3, processes)
    began = time.monotonic()
    processes[killed].kill()
    codes = ends(processes)
    print(f"the other one left after {time.monotonic() - began:.1f} s")
    assert codes[killed] == -signal.SIGKILL
    assert codes[1 - killed] == FAILED
    done = int(checkpoints_of(tmp_path / "run")[-1].name.removeprefix("step-"))
    assert ends(start(with_training(config, max_steps=done + 1), tmp_path / "run", 2)) == [ENDED, ENDED]
    go(config, tmp_path / "one", max_steps=done + 1)
    assert furthest(tmp_path / "run", tmp_path / "one") < 1e-4


def wait_for_updates(run: Path, count: int, processes: list[BaseProcess]) -> None:
    """Until the log has lines of so many updates. A run that ends before has failed."""
    last = time.monotonic() + WITHIN
    while time.monotonic() < last:
        lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines() if (run / "log.jsonl").exists() else []
        if sum('"training"' in line for line in lines) >= count:
            return
        assert all(process.exitcode is None for process in processes)
        time.sleep(0.05)
    raise AssertionError(f"{count} updates took more than {WITHIN:g} s")


def test_a_mistake_is_the_first_process_s_to_tell(tmp_path: Path) -> None:
    config = run_of(tmp_path, 2)
    missing = config.data.train[0].model_copy(update={"files": (str(tmp_path / "missing.tsv"),)})
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (missing,)})})
    assert ends(start(config, tmp_path / "run", 2)) == [MISTAKEN, FAILED]


def test_each_process_of_a_machine_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    for name, value in {"WORLD_SIZE": "8", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr("torch.distributed.init_process_group", lambda *_, **__: 1 / 0)
    for count in (1, 4):  # one is what Slurm's --gpus-per-task=1 shows
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        with pytest.raises(ZeroDivisionError), joined_group():
            pass
    assert chosen == [0, 1]
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert Group(5, 8).device(torch.device("cuda")) == torch.device("cuda", 1)
    assert Group(5, 8).device(torch.device("cuda", 3)) == torch.device("cuda", 3)
    assert Group(5, 8).device(torch.device("cpu")) == torch.device("cpu")


def test_short_updates_exchange_time_and_signals_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.distributed.all_reduce", lambda numbers: None)
    short, long = Group(0, 2), Group(0, 2)
    assert [short.agree(1.0, 0.05, 0) is None for _ in range(6)] == [False, True, True, True, True, False]
    assert [long.agree(1.0, 0.3, 15) for _ in range(3)] == [(1.0, 0.3, 15)] * 3
