"""Rows of work that is not finished, kept beside its place: a line of JSON for each, after one that says what they are
of."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from limelight.errors import RunError
from limelight.files import cause


class Former(NamedTuple):
    """What an earlier start has left."""

    key: Any = None
    rows: tuple[Any, ...] = ()
    intact: int = 0
    """Characters (all of ASCII) of the file that are whole lines."""


def read_former(path: Path) -> Former:
    """What is kept in a file; nothing if it is not there or damaged. A line that is cut off is left out, with all after
    it."""
    try:
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    except (OSError, ValueError):
        return Former()
    values, intact = list[Any](), 0
    for line in lines:
        try:
            values.append(json.loads(line) if line.endswith("\n") else json.loads(""))
        except ValueError:
            break
        intact += len(line)
    return Former(values[0], tuple(values[1:]), intact) if values else Former()


class Journal:
    """Opened for one work; the rows of an earlier start are used where the key is the same."""

    def __init__(self, path: Path, key: Any) -> None:
        """`key` and rows are plain values for JSON. Raises `RunError` where the file cannot be written."""
        self.path = path
        former = read_former(path)
        same = former.key == json.loads(json.dumps(key))
        self.rows: list[Any] = list(former.rows) if same else []
        """What is kept so far."""
        try:
            self._file = open(path, "r+" if same else "w", encoding="ascii")  # noqa: SIM115
            if same:
                self._file.seek(former.intact)
                self._file.truncate()
            else:
                self._write(key)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {cause(error)}") from None

    def add(self, some: list[Any]) -> None:
        """Keep some more."""
        for each in some:
            self._write(each)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += some

    def done(self) -> None:
        """The work is finished: nothing needs to be kept."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file.closed:
            return
        self._file.close()
        if not self.rows:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _write(self, value: object) -> None:
        self._file.write(json.dumps(value) + "\n")
