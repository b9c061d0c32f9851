"""Where the curves of a run are kept beside `log.jsonl`: TensorBoard, Weights & Biases, trackio, or a plugin's logger.

A logger is a class made from (run folder, updates done) with `log` and `close`; `register_logger` adds one by name.
"""

import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
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
    """An event file in `RUN/tensorboard`; later events of earlier files are hidden.

    Records are written in this thread: torch's `SummaryWriter` has a thread of its own, which ends with a traceback on
    a full disk.
    """

    def __init__(self, folder: Path, step: int) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        (folder / "tensorboard").mkdir(exist_ok=True)
        name = f"events.out.tfevents.{time.time():017.6f}.{os.getpid()}"
        self._records = RecordWriter(open(folder / "tensorboard" / name, "wb"))  # noqa: SIM115 - closed by close()
        self._write(file_version="brain.Event:2")
        self._write(step=step + 1, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in figures.items()]
        self._write(step=step, summary=self._summary(value=values))

    def close(self) -> None:
        self._records.close()

    def _write(self, **content: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **content).SerializeToString())
        self._records.flush()


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
        "wandb": lambda folder, step: Tracker("wandb", folder, step),
        "trackio": lambda folder, step: Tracker("trackio", folder, step),
    },
)
register_logger = LOGGERS.register


def open_loggers(names: Sequence[str] | None, folder: Path, step: int) -> list[Logger]:
    """Loggers by name; by default TensorBoard if it is installed. Raises `UserError` for one that is not available."""
    found = []
    for name in ("tensorboard",) if names is None else names:
        make = LOGGERS.find(name)
        try:
            found.append(make(folder, step))
        except ImportError as error:
            if names is not None:
                raise UserError(f"training.loggers={name}: {error}; pip install 'limelight[track]'") from None
    return found
