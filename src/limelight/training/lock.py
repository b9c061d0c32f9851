"""One trainer for each run folder. The kernel holds the lock, and lets go of it whatever becomes of the process.

The package filelock takes the same lock. But it leaves its file behind, it cannot say who holds the lock, and where a
file system has no locks it falls back to a file that has to be removed by hand after a trainer was killed.
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
"""Attempts to take a lock whose file is gone each time. Another process can cause a few of them; below /proc every
attempt fails."""
_CANNOT_LOCK = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def only_trainer(folder: Path) -> Iterator[bool]:
    """Within it nobody else trains in this folder; yields whether that is so, for some file systems cannot lock.

    The folder is made where it is missing, and goes again if nothing has come of it.

    Raises `UserError` on Windows, where nothing can be written, and one that names who is training there already.
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
    """The lock's file, which holds it while it is open, and whether it really does."""
    try:
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError), ExitStack() as opened:
                file = opened.enter_context(_open(folder))
                locked = _lock(file)
                # Whoever held it may have removed the file after we opened it: then the next one would lock another.
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
    # Not through a link: what is written here would overwrite anything that it points to.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    return open(folder / LOCK, "r+", encoding="utf-8", opener=lambda name, _: os.open(name, flags, mode=0o666))


def _lock(file: TextIOWrapper) -> bool:
    """Lock it; whether files can be locked here. Raises `BlockingIOError` if another process has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise
        return False
    return True


def _sign(file: TextIOWrapper) -> None:
    """Write down which process this is, for the message to another trainer."""
    now = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    file.truncate()
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "started": now}, file)
    file.flush()


def _holder(path: Path) -> str:
    """Who trains there. One who has only just come may not have signed yet, or under the name of one who was killed."""
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
        os.kill(pid, 0)  # nothing is sent
    except OSError as error:
        return error.errno != errno.ESRCH  # it may belong to another user
    return True
