"""Memory and open files stay as they are, however long a run gets."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.config import RunConfig
from limelight.memory import hold_memory_for_work
from limelight.training import loop
from limelight.training.run import train
from tests.torture.conftest import Measured
from tests.torture.processes import megabytes, told_by
from tests.training.helpers import tiny_run

SAMPLES = 100


def train_watched(config: RunConfig, folder: Path, tell: Callable[[Any], None]) -> None:
    """Train as the command does, looking at this process at even distances; tells update, MB and open files."""
    hold_memory_for_work()
    samples, calls, update = [], 0, loop.update

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % ((config.training.max_steps or 0) // SAMPLES) == 0:
            samples.append((calls, megabytes(), len(os.listdir("/proc/self/fd"))))
        return update(*arguments, **options)

    loop.update = watched
    train(config, folder, quiet=True)
    tell(samples)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory and open files are read from /proc")
def test_memory_and_open_files_stay_flat(full: bool, measured: Measured, tmp_path: Path) -> None:
    """With validations, checkpoints, snapshots and sampled subwords all along. In a few hundred updates memory has not
    settled yet: the bound is wider. Its slope is that of the line through the memory after the first quarter."""
    updates, most = (20_000, 1.0) if full else (300, 15.0)
    config = tiny_run(
        tmp_path / "text", max_steps=updates, accumulate=1, log_every=10, patience=10**6,
        validate_every=max(20, updates // 100), checkpoint_every=max(30, updates // 80),
    )  # fmt: skip
    samples = told_by(train_watched, config, tmp_path / "run")
    steps, memory, files = zip(*samples[SAMPLES // 4 :], strict=True)
    slope = 1000 * float(np.polyfit(steps, memory, 1)[0])
    note = f"{slope:+.2f} MB per 1,000 updates, {min(files)} to {max(files)} open files"
    what = f"{updates:,} updates with less than {most:g} MB per 1,000 and no file more"
    measured("T12", what, held=(slope < most) + (len(set(files)) == 1), of=2, note=note)
