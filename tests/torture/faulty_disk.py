"""A disk that is full, read-only or broken from a chosen moment on, for one process alone.

Where the machine lets a process have mounts of its own (as root, or in a user namespace), the disk is a tmpfs of a few
megabytes: a page more than fits is refused by the kernel. Elsewhere the size of any file is limited, which the kernel
enforces just the same. Errors of the device are raised where Python hands work to the system.
"""

import ctypes
import errno
import os
import resource
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.torture.processes import watch_writes

PAGE = 4096
_SIZE = 4 << 20
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 0x1, 0x20, 0x4000, 0x40000


class Disk:
    """A small disk at `folder`, whole again after `heal`. The process must have no thread but its first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.steps = folder, 0
        self._first, self._last, self._error = 0, 0, 0
        self._filler = folder / "filler"
        folder.mkdir(exist_ok=True)
        self.small = _own_mounts() and _mount(folder)
        self.how = "tmpfs" if self.small else "limited file size (no mounts of one's own here)"
        watch_writes(folder, self._step)

    def fill(self, room: int) -> None:
        """Leave room for so many bytes more (rounded down to pages), or for so many in any one file."""
        if not self.small:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
            return
        with open(self._filler, "wb", buffering=0) as file:
            free = os.statvfs(self.folder).f_bavail * PAGE
            file.write(bytes(free - room // PAGE * PAGE))

    def fill_but(self, path: Path, room: int) -> None:
        """Leave no room but for so many bytes at the end of a file, whose last page is not full."""
        self.fill(path.stat().st_size + room if not self.small else 0)
        if self.small:
            with open(path, "ab", buffering=0) as file:
                file.write(b"\n" * (-path.stat().st_size % PAGE - room))

    def room_for(self, files: Iterable[Path]) -> int:
        """How much room these files need, of the kind that `fill` leaves."""
        sizes = [path.stat().st_size for path in files]
        return sum(-(-size // PAGE) * PAGE for size in sizes) if self.small else max(sizes)

    def protect(self) -> None:
        """Let nothing be written any more, as a file system does that has found an error."""
        if not (self.small and _mount(self.folder, _READ_ONLY | _REMOUNT)):
            self.fail(self.steps + 1, errno.EROFS, for_good=True)

    def fail(self, step: int, error: int, *, for_good: bool) -> None:
        """Raise an error at a step of writing, counted from one, or from it on."""
        self._first, self._last, self._error = step, sys.maxsize if for_good else step, error

    def heal(self) -> None:
        """All is well again."""
        self._first = self._last = 0
        if self.small:
            _mount(self.folder, _REMOUNT)
            self._filler.unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def _step(self, path: str) -> None:
        self.steps += 1
        if self._first <= self.steps <= self._last:
            raise OSError(self._error, os.strerror(self._error), path)


def _own_mounts() -> bool:
    """Whether this process now has mounts that no other sees. A child tries first: there is no way back."""
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            os._exit(0 if _take_own_mounts() else 1)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0 and _take_own_mounts()


def _take_own_mounts() -> bool:
    libc = ctypes.CDLL(None)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_MOUNTS) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    elif libc.unshare(_NEW_MOUNTS) != 0:
        return False
    return bool(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None) == 0)


def _mount(folder: Path, flags: int = 0) -> bool:
    place = os.fsencode(folder)
    return bool(ctypes.CDLL(None).mount(b"tmpfs", place, b"tmpfs", flags, f"size={_SIZE}".encode()) == 0)
