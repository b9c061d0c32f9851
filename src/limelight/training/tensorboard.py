"""TensorBoard, where it is installed (`pip install limelight[tensorboard]`)."""

import os
import platform
import time
from pathlib import Path
from typing import Any


class Scalars:
    """An event file of scalars.

    Events are written in this thread. TensorBoard's own writer uses a background thread, which dies with a traceback on
    a full disk, unnoticed by the run.
    """

    def __init__(self, folder: Path, *, after: int) -> None:
        """Begin a file. TensorBoard then hides events of other files in the folder that are `after` this update."""
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{time.time():017.6f}.{platform.node()}.{os.getpid()}"
        self._records = RecordWriter(open(folder / name, "wb"))  # noqa: SIM115 - closed by close()
        self._add(file_version="brain.Event:2")
        self._add(step=after + 1, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))

    def add_scalar(self, name: str, value: int | float, step: int) -> None:
        """Write one point of a curve."""
        self._add(step=step, summary=self._summary(value=[self._summary.Value(tag=name, simple_value=value)]))

    def close(self) -> None:
        """Close the file."""
        self._records.close()

    def _add(self, **content: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **content).SerializeToString())
        self._records.flush()


def open_tensorboard(folder: Path, *, after: int) -> Scalars | None:
    """A writer for scalars, or None if TensorBoard is not installed. `after`: see `Scalars`."""
    try:
        return Scalars(folder, after=after)
    except ImportError:
        return None
