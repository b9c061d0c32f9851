"""Translations of a file that is not finished, kept beside its place: a line for each unit, in order."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from limelight.errors import RunError
from limelight.files import cause

Kept = tuple[str, list[str], list[str], list[str]]


class Journal:
    """Opened for one file; translations kept by an earlier start are used where text and settings are the same."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.kept: list[Kept] = []
        """The translation of each unit so far, the spans that were moved, those that failed, and unused terms."""
        intact = self._read(key)
        try:
            self._file = open(path, "r+" if intact else "w", encoding="utf-8")  # noqa: SIM115
            if intact:
                self._file.seek(intact)
                self._file.truncate()
            else:
                self._write(key)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {cause(error)}") from None

    def add(self, some: list[Kept]) -> None:
        """Keep some more."""
        for each in some:
            self._write(each)
        self._file.flush()
        self.kept += some

    def done(self) -> None:
        """The file is written: nothing needs to be kept."""
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
        if not self.kept:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _write(self, value: object) -> None:
        self._file.write(json.dumps(value) + "\n")

    def _read(self, key: str) -> int:
        """Take up what is there. How many characters (all of ASCII) of the file are whole lines; 0 for another key."""
        try:
            lines = self.path.read_text(encoding="ascii").splitlines(keepends=True)
        except (OSError, ValueError):
            return 0
        whole = 0
        for number, line in enumerate(lines):
            try:
                value = json.loads(line) if line.endswith("\n") else None
            except ValueError:
                break
            if number == 0:
                if value != key:
                    return 0
            elif isinstance(value, list) and len(value) == 4:
                text, *lists = value
                moved, failed, unused = map(list, lists)
                self.kept.append((str(text), moved, failed, unused))
            else:
                break
            whole += len(line)
        return whole
