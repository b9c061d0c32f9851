"""A disk that is full, read-only or broken from a chosen moment on, for one process alone.

The size of any file is limited, which the kernel enforces. Other errors are raised where Python hands work to the
system.
"""

import os
import resource
import sys
from pathlib import Path

from tests.torture.processes import watch_writes


class Disk:
    """The disk at `folder`, whole again after `heal`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.steps = folder, 0
        self._first, self._last, self._error = 0, 0, 0
        folder.mkdir(exist_ok=True)
        watch_writes(folder, self._step)

    def fill(self, room: int) -> None:
        """Leave room for so many bytes in any one file."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    def fail(self, step: int, error: int, *, for_good: bool) -> None:
        """Raise an error at a step of writing, counted from one, or from it on."""
        self._first, self._last, self._error = step, sys.maxsize if for_good else step, error

    def heal(self) -> None:
        """All is well again."""
        self._first = self._last = 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def _step(self, path: str) -> None:
        self.steps += 1
        if self._first <= self.steps <= self._last:
            raise OSError(self._error, os.strerror(self._error), path)
