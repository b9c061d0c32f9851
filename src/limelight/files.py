"""Files that are whole or not there: written beside their place, brought to the disk, then moved."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

PARTIAL = ".partial"


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file so that its name never stands for half of it."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with open(partial, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a folder beside the place, then move it there; a folder that stood there is replaced."""
    partial = folder.with_name(folder.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        fill(partial)
        sync_folder(partial)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_folder(folder.parent)


def sync_file(path: Path) -> None:
    """Bring a file that a library wrote to the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk: a rename is not safe before."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
