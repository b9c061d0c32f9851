"""Memory and open files stay as they are, however long a run gets."""

import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight.config import RunConfig
from limelight.memory import hold_memory_for_work
from limelight.training import loop
from limelight.training.run import train
from tests.forked import PROCESSES
from tests.torture.conftest import Measured
from tests.training.helpers import tiny_run

Sample = tuple[int, float, int]
"""Update, resident memory in MB, open files."""

SAMPLES = 100
LEAK = 50_000  # bytes an update, in the run that must be noticed


def train_watched(config: RunConfig, folder: Path, leak: bool, told: Connection) -> None:
    """Train as the command does, looking at this process at even distances."""
    hold_memory_for_work()
    torch.set_num_threads(1)
    samples: list[Sample] = []
    kept: list[tuple[bytes, int]] = []
    update, every = loop.update, (config.training.max_steps or 0) // SAMPLES

    def watched(*arguments: Any, **options: Any) -> Any:
        watched.calls += 1
        if watched.calls % every == 0:
            samples.append((watched.calls, resident_megabytes(), len(os.listdir("/proc/self/fd"))))
        if leak:
            kept.append((os.urandom(LEAK), os.open(os.devnull, os.O_RDONLY)))
        return update(*arguments, **options)

    watched.calls = 0
    loop.update = watched
    train(config, folder, quiet=True)
    told.send(samples)


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def watch(updates: int, folder: Path, *, leak: bool) -> list[Sample]:
    """A run in a process of its own, with validations, checkpoints, snapshots and sampled subwords all along."""
    config = tiny_run(
        folder / "text", max_steps=updates, accumulate=1, log_every=10, patience=10**6,
        validate_every=max(20, updates // 100), checkpoint_every=max(30, updates // 80),
    )  # fmt: skip
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=train_watched, args=(config, folder / "run", leak, sender))
    process.start()
    sender.close()
    samples = receiver.recv()
    process.join()
    return samples


def growth(samples: list[Sample]) -> float:
    """MB per thousand updates: the slope of the line through the memory after the first quarter."""
    settled = samples[len(samples) // 4 :]
    steps, megabytes, _ = zip(*settled, strict=True)
    return 1000 * float(np.polyfit(steps, megabytes, 1)[0])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory and open files are read from /proc")
@pytest.mark.parametrize("leak", [False, True], ids=["", "leak"])
def test_memory_and_open_files_stay_flat(leak: bool, full: bool, measured: Measured, tmp_path: Path) -> None:
    """In a few hundred updates memory has not settled yet: the bound is wider, and a leak is beyond it all the same."""
    updates, most = (100, 15.0) if leak else (20_000, 1.0) if full else (300, 15.0)
    samples = watch(updates, tmp_path, leak=leak)
    slope, files = growth(samples), {sample[2] for sample in samples}
    memory_flat, files_flat = slope < most, len(files) == 1
    note = f"{slope:+.2f} MB per 1,000 updates, {min(files)} to {max(files)} open files"
    print(note)
    if leak:
        what = f"{updates:,} updates that keep {LEAK // 1000} kB and a file each are noticed by both"
        measured("T12", what, held=(not memory_flat) + (not files_flat), of=2, note=note)
    else:
        what = f"{updates:,} updates with less than {most:g} MB per 1,000 and no file more"
        measured("T12", what, held=memory_flat + files_flat, of=2, note=note)
