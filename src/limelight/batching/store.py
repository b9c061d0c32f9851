"""The corpus, tokenized once, in memory-mapped files: larger than memory is fine, and a start takes no time.

A store is a folder of flat files. Rows of different lengths lie end to end in one file of values, beside a file of
offsets. The texts are kept too, for subword sampling segments them anew in every epoch.
"""

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from limelight.errors import RunError
from limelight.files import PARTIAL, remove, sync_folder, write_whole, writing

VERSION = 1
DESCRIPTION = "store.json"
MARKED = "marked.rows"
WAY_OUT = "delete the folder, it is made anew from the corpus"
_AFTERWARDS = "nothing is lost: when there is space, the same command creates the tokens again"


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in two memory-mapped files."""

    values: np.ndarray
    offsets: np.ndarray
    place: Path | None = None
    """The two files without their endings, by which another process opens them."""

    @classmethod
    def open(cls, folder: Path, name: str, dtype: str) -> "Ragged":
        """Map `name.values` and `name.offsets`. Raises `RunError` when they do not belong together."""
        try:
            offsets = map_file(folder / f"{name}.offsets", "<i8")
            values = map_file(folder / f"{name}.values", dtype)
        except (OSError, ValueError) as error:  # missing, or half a number at the end
            raise RunError(f"{folder}: {name} cannot be read ({error}); {WAY_OUT}") from None
        if not len(offsets) or offsets[-1] != len(values):
            raise RunError(f"{folder}: {name} is incomplete; {WAY_OUT}")
        return cls(values, offsets, folder / name)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int | np.integer) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self) -> np.ndarray:
        """(rows,) values in each row."""
        return np.diff(self.offsets)


class RaggedWriter:
    """Appends rows; what is not closed is not valid."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self.dtype = dtype
        self._values: BinaryIO = open(folder / f"{name}.values", "wb")  # noqa: SIM115 - closed by close()
        self._offsets: BinaryIO = open(folder / f"{name}.offsets", "wb")  # noqa: SIM115
        self._end = 0
        self._offsets.write(np.int64(0).tobytes())

    def append(self, rows: Sequence[Sequence[int] | bytes]) -> None:
        """Add rows of numbers, or of bytes."""
        parts = [
            np.frombuffer(row, dtype=self.dtype) if isinstance(row, bytes) else np.asarray(row, dtype=self.dtype)
            for row in rows
        ]
        ends = self._end + np.cumsum([len(part) for part in parts], dtype=np.int64)
        if len(parts):
            self._values.write(np.concatenate(parts).tobytes())
            self._offsets.write(ends.astype("<i8").tobytes())
            self._end = int(ends[-1])

    def close(self) -> None:
        """Bring everything to the disk."""
        close_whole(self._values)
        close_whole(self._offsets)

    def abandon(self) -> None:
        """Let go of the files as they are."""
        abandon(self._values)
        abandon(self._offsets)


def close_whole(file: BinaryIO) -> None:
    """Bring a file to the disk and close it."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def abandon(file: BinaryIO) -> None:
    """Let go of a file as it is, be it that not even what is buffered finds room."""
    with suppress(OSError):
        file.close()


@dataclass(frozen=True, slots=True)
class TokenStore:
    """One corpus: tokens and text of both sides, row by row."""

    sources: Ragged
    targets: Ragged
    source_texts: Ragged
    target_texts: Ragged
    marked: np.ndarray = field(kw_only=True, default_factory=lambda: np.empty(0, dtype="<i8"))
    """Numbers of the rows, in their order, whose texts are marked (see `text/marks.py`)."""

    def __len__(self) -> int:
        return len(self.sources)

    def reversed(self) -> "TokenStore":
        """The same corpus in the other direction."""
        return TokenStore(self.targets, self.sources, self.target_texts, self.source_texts, marked=self.marked)

    def are_marked(self, rows: np.ndarray) -> np.ndarray:
        """For each of these rows whether its texts are marked."""
        if not len(self.marked):
            return np.zeros(len(rows), dtype=bool)
        places = np.searchsorted(self.marked, rows)
        return self.marked[np.minimum(places, len(self.marked) - 1)] == rows

    def texts(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Source and target text of these rows."""
        return (
            [self.source_texts[row].tobytes().decode() for row in rows],
            [self.target_texts[row].tobytes().decode() for row in rows],
        )


Writer = TypeVar("Writer", bound="FolderWriter")


class FolderWriter(ABC):
    """A folder of flat files of ids, written beside its place and moved there when it is complete: never half of one.

    Use it in a `with` block: what was not finished when the block is left is removed. What cannot be written raises
    `RunError` naming the folder and the cause.
    """

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        self.folder = folder
        self.dtype = "<u2" if vocabulary_size <= 65_536 else "<i4"
        self._partial = folder.with_name(folder.name + PARTIAL)
        with self.writing():
            remove(self._partial)
            self._partial.mkdir(parents=True)
            self._open(self._partial)

    @abstractmethod
    def _open(self, partial: Path) -> None:
        """Open the files for writing."""

    @abstractmethod
    def _close(self) -> None:
        """Bring them to the disk."""

    @abstractmethod
    def _abandon(self) -> None:
        """Let go of them."""

    def __enter__(self: Writer) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._abandon()
        shutil.rmtree(self._partial, ignore_errors=True)

    def writing(self) -> AbstractContextManager[None]:
        """A context that converts failures to write into `RunError`."""
        return writing(self.folder, _AFTERWARDS)

    def finish(self, fingerprint: str, files: Sequence[str], **figures: int) -> None:
        """Bring everything to the disk and move it into place; `fingerprint` names what it was made of, `files` where
        that lies."""
        description = {
            "version": VERSION, "dtype": self.dtype, "fingerprint": fingerprint, "files": list(files), **figures
        }  # fmt: skip
        with self.writing():
            self._close()
            write_whole(self._partial / DESCRIPTION, json.dumps(description))
            remove(self.folder)
            os.rename(self._partial, self.folder)
            sync_folder(self.folder.parent)


class StoreWriter(FolderWriter):
    """Writes a `TokenStore`."""

    def _open(self, partial: Path) -> None:
        kinds = {"source": self.dtype, "target": self.dtype, "source_text": "u1", "target_text": "u1"}
        self._writers = {name: RaggedWriter(partial, name, dtype) for name, dtype in kinds.items()}
        self._rows, self._marked = 0, list[int]()

    def _close(self) -> None:
        if self._marked:
            write_whole(self._partial / MARKED, np.array(self._marked, dtype="<i8").tobytes())
        for writer in self._writers.values():
            writer.close()

    def _abandon(self) -> None:
        for writer in self._writers.values():
            writer.abandon()

    def append(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]],
               source_texts: Sequence[str], target_texts: Sequence[str],
               marked: Sequence[bool] = ()) -> None:  # fmt: skip
        """Add pairs; the lists run in step. `marked` says whose texts have marks; none have where it is not given."""
        self._marked += [self._rows + place for place, is_marked in enumerate(marked) if is_marked]
        self._rows += len(sources)
        with self.writing():
            self._writers["source"].append(sources)
            self._writers["target"].append(targets)
            self._writers["source_text"].append([text.encode() for text in source_texts])
            self._writers["target_text"].append([text.encode() for text in target_texts])

    def close(self, fingerprint: str, files: Sequence[str] = ()) -> TokenStore:
        """Finish, move into place, open. `fingerprint` names what the store was made of, `files` where that lies."""
        self.finish(fingerprint, files, marked=len(self._marked))
        return open_store(self.folder)


def open_store(folder: Path) -> TokenStore:
    """Map a finished store. Raises `RunError` when it is damaged."""
    description = described(folder)
    dtype = description["dtype"]
    parts = [Ragged.open(folder, name, dtype) for name in ("source", "target")]
    parts += [Ragged.open(folder, name, "u1") for name in ("source_text", "target_text")]
    if len({len(part) for part in parts}) > 1:
        raise RunError(f"{folder}: its files have different numbers of rows; {WAY_OUT}")
    marked = open_marked(folder)
    if len(marked) != description.get("marked", 0):  # versions before marks wrote no number
        raise RunError(f"{folder}: {MARKED} is incomplete; {WAY_OUT}")
    return TokenStore(*parts, marked=marked)


def open_marked(folder: Path) -> np.ndarray:
    """The numbers of the rows of a store whose texts are marked. Raises `RunError` where they cannot be read."""
    path = folder / MARKED
    try:
        return map_file(path, "<i8") if path.exists() else np.empty(0, dtype="<i8")
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read ({error}); {WAY_OUT}") from None


def described(folder: Path, *figures: str) -> dict[str, Any]:
    """What `FolderWriter.finish` wrote. Raises `RunError` where it is something else, or lacks one of the `figures`."""
    description = _describe(folder)
    known = description.get("version") == VERSION and description.get("dtype") in ("<u2", "<i4")
    if not known or not all(isinstance(description.get(name), int) for name in figures):
        raise RunError(f"{folder / DESCRIPTION}: not a description of a store; {WAY_OUT}")
    return description


def store_matches(folder: Path, fingerprint: str) -> bool:
    """Whether a complete store of exactly this corpus, cleaning and tokenizer stands there."""
    description = _describe(folder)
    return (description.get("version"), description.get("fingerprint")) == (VERSION, fingerprint)


def _describe(folder: Path) -> dict[str, Any]:
    """What stands in the description; nothing where there is none, or no JSON in it."""
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return description if isinstance(description, dict) else {}


def map_file(path: Path, dtype: str) -> np.ndarray:
    """A file as a read-only array; an empty file cannot be mapped and is an empty array."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r")
