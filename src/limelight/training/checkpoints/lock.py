"""The lock of a run folder: one process trains there, and another one is told which.

The system releases the lock when its process ends, however it ended, so a lock file that is left blocks nobody.
"""

import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path

from limelight.errors import UserError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
ATTEMPTS = 100
"""Maximum number of attempts if the lock file disappears each time. Another process can cause a few failures; in /proc
every attempt fails."""
_CANNOT_LOCK = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def only_trainer(folder: Path) -> Iterator[bool]:
    """Hold the exclusive lock of a run folder; yields False if the file system cannot lock files.

    The folder is created if missing, and removed again if it stays empty.

    Raises `UserError` on Windows, if the folder is not writable, and if another process (named) holds the lock.
    """
    if fcntl is None:
        raise UserError("training needs Linux or macOS; on Windows, train in WSL (the Windows Subsystem for Linux)")
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        file, locked = _claim(folder)
        with file:
            try:
                yield locked
            except BaseException:
                with suppress(OSError):  # the first error is the one to report
                    (folder / LOCK).unlink(missing_ok=True)
                raise
            (folder / LOCK).unlink(missing_ok=True)  # while it is held: see `_claim`
    finally:
        with suppress(OSError):  # it is not empty
            for place in made:
                place.rmdir()


def _claim(folder: Path) -> tuple[TextIOWrapper, bool]:
    """The open lock file, and whether it is locked."""
    try:
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError), ExitStack() as opened:
                file = opened.enter_context(_open(folder))
                locked = _lock(file)
                # The previous holder may have removed the file after we opened it: then others would lock a new one.
                if os.path.samestat(os.fstat(file.fileno()), os.stat(folder / LOCK)):
                    _sign(file)
                    opened.pop_all()
                    return file, locked
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    except BlockingIOError:
        raise UserError(
            f"{folder}: {_holder(folder / LOCK)} is training there. Wait for its end or stop it, or give --out another "
            "folder"
        ) from None
    except OSError as error:
        raise UserError(f"{folder}: cannot write there: {error.strerror}; give --out another folder") from None


def _open(folder: Path) -> TextIOWrapper:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # Symbolic links are not followed: writing would overwrite their target.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    return open(folder / LOCK, "r+", encoding="utf-8", opener=lambda name, _: os.open(name, flags, mode=0o666))


def _lock(file: TextIOWrapper) -> bool:
    """Lock the file; returns False if files cannot be locked here. Raises `BlockingIOError` if it is already locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise
        return False
    return True


def _sign(file: TextIOWrapper) -> None:
    """Write this process's id and host to the lock file, for the message to other processes."""
    now = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    file.truncate()
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "started": now}, file)
    file.flush()


def _holder(path: Path) -> str:
    """A description of the process that holds the lock, if the lock file names a process that is running."""
    holder = "another process"
    for _ in range(20):
        with suppress(OSError, ValueError, LookupError, TypeError, ArithmeticError):
            signed = json.loads(path.read_text(encoding="utf-8"))
            holder = "process {pid} on {host} (since {started})".format(**signed)
            if signed["host"] != socket.gethostname() or _lives(signed["pid"]):
                break
        time.sleep(0.05)
    return holder


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 only tests whether the process exists
    except OSError as error:
        return error.errno != errno.ESRCH  # it may belong to another user
    return True
