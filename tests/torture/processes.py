"""Functions and commands in processes of their own, which may be killed, crash or grow without harm to tests."""

import hashlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
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


class Ended(NamedTuple):
    """How a process ended."""

    code: int | None
    told: Any
    """The last thing it has told; None if it has told nothing."""
    seconds: float
    """Since its start, or since it was last sent a signal."""


class Called:
    """A function in a process of its own. Its last argument is what it tells things with."""

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self._heard, telling = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=_call, args=(function, arguments, telling))
        self._since = time.monotonic()
        self.process.start()
        telling.close()

    def reach(self) -> Any:
        """Wait for the next thing it tells, or for its end."""
        assert self._heard.poll(120), "it does not get there"
        with suppress(EOFError):
            return _unless_raised(self._heard.recv())

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._since = time.monotonic()
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self, seconds: float | None = None) -> Ended:
        """Wait for its end; it is killed after so many seconds."""
        told, last = None, None if seconds is None else time.monotonic() + seconds
        with suppress(EOFError):
            while self._heard.poll(None if last is None else max(0.0, last - time.monotonic())):
                told = self._heard.recv()
            self.process.kill()
        self.process.join()
        return Ended(self.process.exitcode, _unless_raised(told), time.monotonic() - self._since)


def _unless_raised(told: Any) -> Any:
    """What was told; an exception is raised here."""
    if isinstance(told, BaseException):
        raise told
    return told


def _call(function: Callable[..., None], arguments: tuple[Any, ...], telling: Any) -> None:
    torch.set_num_threads(1)
    try:
        function(*arguments, telling.send)
    except Exception:  # not an exit
        telling.send(AssertionError(traceback.format_exc()))


def told_by(function: Callable[..., None], *arguments: Any) -> Any:
    """The last thing that a function tells in a process of its own."""
    return Called(function, *arguments).end().told


def megabytes(name: str = "VmRSS") -> float:
    """What the kernel counts for this process: its memory, or the most it has had (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def watch_writes(root: Path, step: Callable[[str], None]) -> None:
    """Call `step` with the path before every write below a folder: a file opened for it or read back while it is not
    finished, made, renamed, removed, written to by its number, or synced. A path without a folder is empty: its folder
    is just being removed. This is for good, as a hook for audits cannot be taken back."""
    base, fsync, write = str(root), os.fsync, os.write

    def seen(event: str, arguments: tuple[Any, ...]) -> None:
        path = os.fspath(arguments[0]) if arguments and isinstance(arguments[0], str | Path) else ""
        opened = event == "open" and (arguments[2] & (os.O_WRONLY | os.O_RDWR) or PARTIAL in path)
        if opened or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
            if path.startswith(base):
                step(path)
            elif not os.path.isabs(path):
                step("")

    def by_number(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(handle: int, *content: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{handle}")
            if path.startswith(base):
                step(path)
            return function(handle, *content)

        return watched

    sys.addaudithook(seen)
    os.fsync, os.write = by_number(fsync), by_number(write)


def train_killed(config: RunConfig, folder: Path, before_write: int, tell: Callable[[Any], None]) -> None:
    """Train, and be killed (SIGKILL) just before a step of a save, counted from one; tells where in the run folder that
    was, and how many steps there were."""
    place, writes = "", 0

    def step(path: str) -> None:
        nonlocal place, writes
        place = os.path.relpath(path, folder) if path else place
        writes += place.startswith(SAVES)
        if place.startswith(SAVES) and writes == before_write:
            tell((place, writes))
            os.kill(os.getpid(), signal.SIGKILL)

    watch_writes(folder, step)
    train(config, folder, quiet=True)
    tell(("", writes))


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
