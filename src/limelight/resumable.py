"""A file that is written over several runs of a process: committed content survives any interruption.

Bytes are appended to FILE.partial. FILE.partial.json (the journal) records how many of them are committed, what they
depend on, and the state of the writer. On start, everything after the last commit is cut off. FILE itself appears at
the end, when it is complete.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from limelight.errors import RunError, UserError
from limelight.files import PARTIAL, as_json, cause, sync_folder, write_all, write_whole, writing

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Difference = tuple[str, Any, Any]
"""Full name of a value (`section.key`), its old value and its new value."""


def differences(old: Any, new: Any, name: str = "") -> list[Difference]:
    """All values in which two nested mappings differ; None stands for a missing value."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = {**old, **new}
        nested = (differences(old.get(key), new.get(key), f"{name}.{key}" if name else key) for key in keys)
        return [difference for each in nested for difference in each]
    return [] if old == new else [(name, old, new)]


def describe_differences(changes: Sequence[Difference]) -> str:
    """Differences between stored and requested values, for a message."""
    return "; ".join(f"{name} is {old!r} there, {new!r} here" for name, old, new in changes)


JOURNAL = ".json"
FORMAT = 1
ATTEMPTS = 20
"""Attempts to open a file that another process keeps renaming."""
_AFTERWARDS = "what was committed is intact: after this is fixed, the same command continues"


class ResumableFile:
    """A file that grows by commits; `resumable` opens it."""

    def __init__(self, path: Path, handle: int, made_of: Mapping[str, Any]) -> None:
        self.path = path
        self.partial, self.journal = places_of(path)
        self.state: dict[str, Any] = {}
        """The state of the last commit; empty if there is none."""
        self._handle, self._made_of, self._bytes = handle, made_of, 0

    def begin(self) -> None:
        """Resume from the journal, or begin. Raises `UserError` if the content depends on other values, and `RunError`
        if it is damaged."""
        size = os.fstat(self._handle).st_size
        if not self.journal.exists():
            if size:
                raise UserError(
                    f"{self.partial}: {self.journal.name} is missing, so its content is not known; remove "
                    "it or give another name"
                )
            self._record()
            return
        self._read()
        if size < self._bytes:
            raise RunError(
                f"{self.partial}: it has {size:,} bytes, and {self.journal.name} says {self._bytes:,}; {self._remedy}"
            )
        with writing(self.partial, _AFTERWARDS):
            os.truncate(self._handle, self._bytes)
            os.lseek(self._handle, 0, os.SEEK_END)

    def commit(self, content: bytes, state: Mapping[str, Any]) -> None:
        """Append bytes durably, with the state that the writer needs to continue: plain values for JSON."""
        with writing(self.path, _AFTERWARDS):
            write_all(self._handle, content)
            os.fsync(self._handle)
        self._bytes += len(content)
        self.state = dict(state)
        self._record()

    def finish(self) -> None:
        """Rename the file to its final path, then remove the journal."""
        with writing(self.path, _AFTERWARDS):
            if fcntl is None:  # Windows cannot rename an open file. Elsewhere the lock is held until after the rename.
                self.close()
            os.replace(self.partial, self.path)
            sync_folder(self.path.parent)
            self.journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def discard(self) -> None:
        """Remove the partial file and the journal."""
        for place in (self.partial, self.journal):
            with suppress(OSError):
                place.unlink()

    @property
    def size(self) -> int:
        """Number of committed bytes."""
        return self._bytes

    @property
    def _remedy(self) -> str:
        return f"remove {self.partial} and {self.journal.name} to start again"

    def _record(self) -> None:
        content = {"format": FORMAT, "made_of": self._made_of, "bytes": self._bytes, "state": self.state}
        with writing(self.path, _AFTERWARDS):
            write_whole(self.journal, as_json(content, indent=1))

    def _read(self) -> None:
        try:
            content = json.loads(self.journal.read_text(encoding="utf-8"))
            known, made_of = content["format"] == FORMAT, content["made_of"]
            self._bytes, self.state = int(content["bytes"]), dict(content["state"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self.journal}: damaged ({error}); {self._remedy}") from None
        if not known:
            raise UserError(f"{self.journal}: written by another version of Limelight; {self._remedy}")
        changed = describe_differences(differences(made_of, self._made_of))
        if changed:
            raise UserError(
                f"{self.partial}: it was started with other settings: {changed}. Repeat the command that started it, "
                f"or {self._remedy}"
            )


@contextmanager
def resumable(path: Path, made_of: Mapping[str, Any]) -> Iterator[ResumableFile]:
    """A context that yields the file, resumed if it exists; call `finish` before leaving it.

    Args:
        path: must not be a link, as a temporary file beside it is renamed to it.
        made_of: what the content depends on, as plain values for JSON. A partial file with other values is refused.

    If the block raises, the exception gets a note that says where the work is kept; a file without commits is removed.
    Raises `UserError` if the path cannot be written or exists, and if another process writes it; see
    `ResumableFile.begin`.
    """
    _require_new(path)
    file = ResumableFile(path, _locked(path), json.loads(json.dumps(made_of)))
    try:
        file.begin()
        try:
            yield file
        except BaseException as error:
            if file.state:
                error.add_note(f"the work so far is in {file.partial}; the same command continues it")
            else:
                file.discard()
            raise
    finally:
        file.close()


def places_of(path: Path) -> tuple[Path, Path]:
    """The paths of a partial file and of its journal."""
    partial = path.with_name(path.name + PARTIAL)
    return partial, partial.with_name(partial.name + JOURNAL)


def _require_new(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give -o the name of a file")
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: is a pipe or a device, and a resumable output needs a file")
    if path.exists():
        raise UserError(f"{path}: already exists; give -o another name, or remove it")


def _locked(path: Path) -> int:
    """Open the partial file and lock it where files can be locked; the system releases the lock when the process
    ends."""
    partial, _ = places_of(path)
    try:
        for _ in range(ATTEMPTS):
            handle = os.open(partial, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                _lock(handle, path)
                # The previous holder of the lock may have moved the file after we opened it.
                if stat.S_ISREG(os.fstat(handle).st_mode) and os.path.samestat(os.fstat(handle), os.stat(partial)):
                    return handle
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {cause(error).lower()}") from None
    raise UserError(f"{path}: cannot be written: other processes keep replacing {partial}")


def _lock(handle: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"{path}: another process is writing it; wait for its end, or give -o another name") from None
    except OSError:
        return  # this file system cannot lock
