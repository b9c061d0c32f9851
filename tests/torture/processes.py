"""Training in processes of their own, which can be killed at any instant, and what must be the same afterwards."""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch

from limelight.config import RunConfig
from limelight.files import PARTIAL, sha256
from limelight.storage.layout import BEST, WEIGHTS
from limelight.storage.weights import read_weights
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, stored_progress
from limelight.training.checkpoints.keep import SNAPSHOTS
from limelight.training.run import train
from tests.forked import PROCESSES
from tests.training.helpers import checkpoints_of, trace_of

SAVES = (CHECKPOINTS, SNAPSHOTS, BEST)
"""Where a run keeps what it has learned: whatever is changed in these folders is part of a save."""


class Ending(NamedTuple):
    """How a process ended."""

    killed: bool
    place: str
    """Where in the run folder it was about to write when it killed itself; empty if it did not."""
    writes: int
    """Steps of saves that were seen, if it came to its end."""
    seconds: float


def train_in_process(
    config: RunConfig, folder: Path, *, before_write: int = 0, after_seconds: float | None = None
) -> Ending:
    """Train in a new process; it is killed (SIGKILL) just before a step of its saves, counted from one, or after a
    time."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_train, args=(config, folder, before_write, sender))
    began = time.monotonic()
    process.start()
    sender.close()
    process.join(after_seconds)
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"training ended by itself with exit code {process.exitcode}"
    try:
        place, writes, seconds = receiver.recv()
    except EOFError:  # killed from outside: it had nothing to tell
        place, writes, seconds = "", 0, time.monotonic() - began
    return Ending(process.exitcode != 0, place, writes, seconds)


def differences(run: Path, whole: Path) -> set[str]:
    """What is not the same to the last bit: the trace of every update, validation and end; weights, Adam's moments and
    random state in the newest checkpoint; the snapshots it averages; the best model."""
    found = set() if trace_of(run, ends=True) == trace_of(whole, ends=True) else {"trace"}
    sums, expected = _sums(run), _sums(whole)
    return found | {name for name in sums | expected if sums.get(name) != expected.get(name)}


def _sums(run: Path) -> dict[str, str]:
    parts = {path.name: path for path in checkpoints_of(run)[-1].glob("*.safetensors")}
    snapshots = {name: run / SNAPSHOTS / name for name in stored_progress(run / CHECKPOINTS)[-1].snapshots}
    sums = {name: sha256(path) for name, path in (parts | snapshots).items()}
    # The library writes the notes in the header of this file in another order in every process.
    weights, notes = read_weights(run / BEST / WEIGHTS)
    best = hashlib.sha256(repr(sorted(notes.items())).encode())
    for name in sorted(weights):
        best.update(name.encode() + weights[name].numpy().tobytes())
    return {**sums, BEST: best.hexdigest()}


def _train(config: RunConfig, folder: Path, before_write: int, told: Connection) -> None:
    torch.set_num_threads(1)
    began, writes = time.monotonic(), 0

    def write(place: str) -> None:
        nonlocal writes
        writes += 1
        if writes == before_write:
            told.send((place, writes, time.monotonic() - began))
            os.kill(os.getpid(), signal.SIGKILL)

    _watch_saves(folder, write)
    train(config, folder, quiet=True)
    told.send(("", writes, time.monotonic() - began))


def _watch_saves(folder: Path, write: Callable[[str], None]) -> None:
    """Call `write` before every step of a save: a file or folder made, renamed, removed, read back, or synced."""
    place, fsync = "", os.fsync

    def seen(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal place
        if event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
            return
        path = os.fspath(arguments[0]) if isinstance(arguments[0], str | Path) else ""
        if event == "open" and not (arguments[2] & (os.O_WRONLY | os.O_RDWR) or PARTIAL in path):
            return
        if os.path.isabs(path):  # else a name in the folder that is just being removed
            place = os.path.relpath(path, folder)
        if place.startswith(SAVES):
            write(place)

    def sync(handle: int) -> None:
        if place.startswith(SAVES):
            write(place)
        fsync(handle)

    sys.addaudithook(seen)
    os.fsync = sync
