"""Where the curves of a run are kept beside `log.jsonl`: TensorBoard, Weights & Biases, trackio, or a plugin's logger.

A logger is a class made from (run folder, updates done) with `log` and `close`; `register_logger` adds one by name.
"""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from limelight.errors import UserError
from limelight.registry import Registry


class Logger(Protocol):
    """Receives the figures of updates and validations."""

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Record the figures of update `step`, named as in `training/loss`."""

    def close(self) -> None:
        """Finish writing."""


class TensorBoard:
    """Event files in `RUN/tensorboard`; events of updates that will be repeated are hidden.

    Events are written at once: torch's SummaryWriter has a thread, which prints a traceback when the disk is full.
    """

    def __init__(self, folder: Path, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        (folder / "tensorboard").mkdir(exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}"  # read in the order of the names
        self._writer = RecordWriter(open(folder / "tensorboard" / name, "wb"))  # noqa: SIM115  # closed by `close`
        self._event, self._summary = Event, Summary
        self._write(file_version="brain.Event:2")
        self._write(step=step + 1, session_log=SessionLog(status=SessionLog.START))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in figures.items()]
        self._write(step=step, summary=self._summary(value=values))

    def close(self) -> None:
        self._writer.close()

    def _write(self, **content: Any) -> None:
        self._writer.write(self._event(wall_time=time.time(), **content).SerializeToString())
        self._writer.flush()


class Tracker:
    """A service with the interface of Weights & Biases; the run has the name of its folder."""

    def __init__(self, module: str, folder: Path, step: int) -> None:
        self._run = importlib.import_module(module).init(project="limelight", name=folder.resolve().name)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


LOGGERS: Registry[Callable[[Path, int], Logger]] = Registry(
    "logger",
    {
        "tensorboard": TensorBoard,
        "wandb": partial(Tracker, "wandb"),
        "trackio": partial(Tracker, "trackio"),
    },
)
PACKAGES = tuple(LOGGERS.parts)
"""Loggers that need the package of their name."""
register_logger = LOGGERS.register


def require_loggers(names: Sequence[str]) -> None:
    """Raise `UserError` for a logger that is unknown, or whose package is missing."""
    for name in names:
        LOGGERS.find(name)
        try:
            if name in PACKAGES:
                importlib.import_module(name)
        except ImportError as error:
            raise UserError(f"training.loggers={name}: {error}; pip install {name}") from None


def open_loggers(names: Sequence[str] | None, folder: Path, step: int) -> list[Logger]:
    """Loggers by name; by default TensorBoard if it is installed."""
    if names is not None:
        return [LOGGERS.find(name)(folder, step) for name in names]
    with suppress(ImportError):
        return [TensorBoard(folder, step)]
    return []
