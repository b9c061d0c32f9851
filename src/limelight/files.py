"""Atomic file writes: content is written to a temporary file, synced to disk, then renamed."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from limelight.errors import RunError, UserError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"
FORMER = ".former"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A context that adds `path` to an `OSError` of the system without a file name, as while bytes are written."""
    try:
        yield
    except OSError as error:
        if error.strerror:  # without it, a file name would replace the reason
            error.filename = error.filename or str(path)
        raise


@contextmanager
def writing(path: Path, afterwards: str) -> Iterator[None]:
    """A context that converts `OSError` to `RunError` with the path, the cause, and the state `afterwards`."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{error.filename or path}: cannot be written: {cause(error)}; {afterwards}") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """A context that holds the lock of a file or folder, where these can be locked; other processes wait for it. It is
    released when the process ends."""
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that cannot lock
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def cause(error: Exception) -> str:
    """The reason of an error, without the path that an `OSError` repeats."""
    return getattr(error, "strerror", None) or str(error)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file atomically. An `OSError` names it."""
    fill_file(path, lambda part: part.write_bytes(content.encode() if isinstance(content, str) else content))


def write_output(path: str | Path, content: bytes) -> None:
    """Write a file that the user has named. Raises `UserError` if that is not possible."""
    try:
        write_whole(Path(path), content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {cause(error).lower()}") from None


def require_new(path: Path) -> None:
    """Raise `UserError` if an output exists."""
    if os.path.lexists(path):
        raise UserError(f"{path}: exists already; give -o another name, or remove it first")


def fill_file(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a temporary file, sync it to disk, and rename it to `path`. An `OSError` names it.

    The file gets the default permissions of new files: safetensors restricts its files to their owner, but a model is
    often read by a service that runs as another user.
    """
    unfinished = path.with_name(path.name + PARTIAL)
    with naming(path):
        try:
            unfinished.touch()
            mode = unfinished.stat().st_mode
            fill(unfinished)
            unfinished.chmod(mode)
            sync(unfinished)
            os.replace(unfinished, path)
        except BaseException:
            _try_to_remove(unfinished)  # the first error is the one to report
            raise
        sync(path.parent)


def as_json(value: Any, **options: Any) -> str:
    """JSON that can be encoded in UTF-8: with non-ASCII characters as they are, or escaped if the text contains lone
    surrogates, as file names may."""
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A context with a temporary folder, which is synced to disk and renamed to `folder` at the end, or removed after
    an error.

    An existing folder is moved aside first and removed afterwards. A process that is killed between the two renames
    leaves both, and `clear_leftovers` restores the former one, so the folder is never lost. An `OSError` names a path.
    """
    unfinished, former = (folder.with_name(folder.name + ending) for ending in (PARTIAL, FORMER))
    with naming(folder):
        _try_to_remove(unfinished)
        unfinished.mkdir(parents=True)
        try:
            yield unfinished
            for path in (*unfinished.rglob("*"), unfinished):
                sync(path)
            if folder.exists():
                _try_to_remove(former)
                os.rename(folder, former)
            os.rename(unfinished, folder)
        except BaseException:
            _try_to_remove(unfinished)
            with suppress(OSError):  # otherwise `clear_leftovers` does it at the next start
                if former.exists() and not folder.exists():
                    os.rename(former, folder)
            raise
        sync(folder.parent)
    _try_to_remove(former)


def clear_leftovers(folder: Path) -> None:
    """Restore or remove what a killed process left anywhere under `folder`."""
    for former in sorted(folder.rglob(f"*{FORMER}")):
        original = former.with_name(former.name.removesuffix(FORMER))
        if original.exists():
            remove(former)
        else:
            os.rename(former, original)
    for unfinished in sorted(folder.rglob(f"*{PARTIAL}")):
        remove(unfinished)


def visible(folder: Path) -> list[Path]:
    """All files and folders in a folder and its subfolders, in order, but for hidden ones and what is in these."""
    paths = sorted(folder.rglob("*"))
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, if it exists. An `OSError` names it."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except FileNotFoundError:  # another process removes it, too
        shutil.rmtree(path, ignore_errors=True)
    except OSError as error:
        error.filename = str(path)  # `rmtree` gives only the name of an entry
        raise


def _try_to_remove(path: Path) -> None:
    with suppress(OSError):
        remove(path)


def sync(path: Path) -> None:
    """Sync a file to disk, or the entries of a folder, which makes a rename durable; on Windows only files."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows refuses a read-only one
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def json_hash(value: Any) -> str:
    """The SHA-256 of a value as JSON, in hexadecimal."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
