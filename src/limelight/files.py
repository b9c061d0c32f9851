"""Files that are whole or not there: written beside their place, brought to the disk, then moved."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

PARTIAL = ".partial"
FORMER = ".former"


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
    """Let `fill` write into a folder beside the place, bring it to the disk, then move it there.

    A folder that stood there is moved aside and removed afterwards. Whoever is killed between the two moves leaves
    both, and `clear_leftovers` puts the former one back: at no moment is there none.
    """
    partial, former = (folder.with_name(folder.name + ending) for ending in (PARTIAL, FORMER))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        fill(partial)
        sync_tree(partial)
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)
            os.rename(folder, former)
        os.rename(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        if former.exists() and not folder.exists():
            os.rename(former, folder)
        raise
    sync_folder(folder.parent)
    shutil.rmtree(former, ignore_errors=True)


def clear_leftovers(folder: Path) -> None:
    """Tidy up, anywhere under `folder`, after a process that was killed while it wrote."""
    for former in sorted(folder.rglob(f"*{FORMER}")):
        place = former.with_name(former.name.removesuffix(FORMER))
        if place.exists():
            shutil.rmtree(former)
        else:
            os.rename(former, place)
    for partial in sorted(folder.rglob(f"*{PARTIAL}")):
        if partial.is_dir():
            shutil.rmtree(partial)
        else:
            partial.unlink(missing_ok=True)  # its folder may have gone just before


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
