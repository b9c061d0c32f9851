"""Files that are whole or not there: written beside their place, brought to the disk, then moved."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from limelight.errors import RunError

PARTIAL = ".partial"
FORMER = ".former"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an `OSError` say which file it is about: one that comes while bytes are written or synced does not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def writing(path: Path, afterwards: str) -> Iterator[None]:
    """Tell of a write that fails as `RunError`: the path, the cause, and how things stand `afterwards`."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{error.filename or path}: cannot be written: {cause(error)}; {afterwards}") from error


def cause(error: Exception) -> str:
    """What went wrong, without the path that an `OSError` repeats."""
    return getattr(error, "strerror", None) or str(error)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file so that its name never stands for half of it. An `OSError` names it."""
    fill_file(path, lambda partial: partial.write_bytes(content.encode() if isinstance(content, str) else content))


def fill_file(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a file beside the place, bring it to the disk, then move it there. An `OSError` names it.

    It has the permissions of any new file: safetensors gives its files to their owner alone, and a model is often read
    by a service of another user.
    """
    partial = path.with_name(path.name + PARTIAL)
    with naming(path):
        try:
            partial.touch()
            mode = partial.stat().st_mode
            fill(partial)
            partial.chmod(mode)
            sync_file(partial)
            os.replace(partial, path)
        except BaseException:
            _try_to_remove(partial)  # the first error is the one to report
            raise
        sync_folder(path.parent)


def as_json(value: Any, **options: Any) -> str:
    """JSON that can be encoded in UTF-8: as it is read by people, but escaped if a text has half a surrogate pair, as
    the names of files may have."""
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


def write_all(handle: int, content: bytes) -> None:
    """Hand all of it to the system, now: a disk that is full is met here, not when a buffer is flushed later."""
    while content:
        content = content[os.write(handle, content) :]


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a folder beside the place, bring it to the disk, then move it there.

    An existing folder is moved aside and removed afterwards. A process that is killed between the two moves leaves
    both, and `clear_leftovers` restores the former one, so the folder is never lost. An `OSError` names a path.
    """
    partial, former = (folder.with_name(folder.name + ending) for ending in (PARTIAL, FORMER))
    with naming(folder):
        _try_to_remove(partial)
        partial.mkdir(parents=True)
        try:
            fill(partial)
            sync_tree(partial)
            if folder.exists():
                _try_to_remove(former)
                os.rename(folder, former)
            os.rename(partial, folder)
        except BaseException:
            _try_to_remove(partial)
            with suppress(OSError):  # `clear_leftovers` does it when the next start can
                if former.exists() and not folder.exists():
                    os.rename(former, folder)
            raise
        sync_folder(folder.parent)
    _try_to_remove(former)


def clear_leftovers(folder: Path) -> None:
    """Tidy up, anywhere under `folder`, after a process that was killed while it wrote."""
    for former in sorted(folder.rglob(f"*{FORMER}")):
        place = former.with_name(former.name.removesuffix(FORMER))
        if place.exists():
            remove(former)
        else:
            os.rename(former, place)
    for partial in sorted(folder.rglob(f"*{PARTIAL}")):
        remove(partial)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there. An `OSError` names it."""
    if path.is_dir() and not path.is_symlink():
        try:
            shutil.rmtree(path)
        except OSError as error:
            error.filename = str(path)  # it has the bare name of something within
            raise
    else:
        path.unlink(missing_ok=True)


def _try_to_remove(path: Path) -> None:
    with suppress(OSError):
        remove(path)


def sync_tree(folder: Path) -> None:
    """Bring a folder with all that is in it to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync_file(path)
        else:
            sync_folder(path)
    sync_folder(folder)


def sync_file(path: Path) -> None:
    """Bring a file that a library wrote to the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk: a rename is not safe before. Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
