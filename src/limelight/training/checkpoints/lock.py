"""The lock of a run folder: one process trains there.

The system releases the lock when its process ends, however it ended, so a lock file that is left blocks nobody.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from limelight.errors import UserError
from limelight.files import cause

LOCK = ".lock"
_CANNOT_LOCK = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def only_trainer(folder: Path) -> Iterator[bool]:
    """Hold the exclusive lock of a run folder; yields False if the file system cannot lock files.

    The folder is created if missing, and removed again if it stays empty.

    Raises `UserError` on Windows, if the folder is not writable, and if another process holds the lock.
    """
    if sys.platform == "win32":
        raise UserError("training needs Linux or macOS; on Windows, train in WSL (the Windows Subsystem for Linux)")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = FileLock(folder / LOCK)
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            raise UserError(
                f"{folder}: another process is training there. Wait for its end or stop it, or give --out another "
                "folder"
            ) from None
        except OSError as error:
            if error.errno not in _CANNOT_LOCK:
                raise UserError(f"{folder}: cannot write there: {cause(error)}; give --out another folder") from None
        try:
            yield lock.is_locked
        finally:
            with suppress(OSError):  # an error of the training is the one to report
                (folder / LOCK).unlink(missing_ok=True)  # while it is held, so that no one locks a file without a name
            lock.release()
    finally:
        with suppress(OSError):  # it is not empty
            for path in made:
                path.rmdir()
