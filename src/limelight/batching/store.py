"""The corpus, tokenised once, in memory-mapped files: larger than memory is fine, and a start takes no time.

A store is a folder of flat files. Rows of different lengths lie end to end in one file of values, beside a file of
offsets. The texts are kept too, for sub-word sampling segments them anew in every epoch.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from limelight.errors import RunError

VERSION = 1


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in two memory-mapped files."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def open(cls, folder: Path, name: str, dtype: str) -> Self:
        """Map `name.values` and `name.offsets`. Raises `RunError` when they do not belong together."""
        offsets = _map(folder / f"{name}.offsets", "<i8")
        values = _map(folder / f"{name}.values", dtype)
        if not len(offsets) or offsets[-1] != len(values):
            raise RunError(f"{folder}: {name} is incomplete; delete the folder, it is made anew from the corpus")
        return cls(values, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
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
        for file in (self._values, self._offsets):
            file.flush()
            os.fsync(file.fileno())
            file.close()


@dataclass(frozen=True, slots=True)
class TokenStore:
    """One corpus: pieces and text of both sides, row by row."""

    sources: Ragged
    targets: Ragged
    source_texts: Ragged
    target_texts: Ragged

    def __len__(self) -> int:
        return len(self.sources)

    def texts(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Source and target text of these rows."""
        return (
            [self.source_texts[row].tobytes().decode() for row in rows],
            [self.target_texts[row].tobytes().decode() for row in rows],
        )


class StoreWriter:
    """Writes a store beside its place and moves it there when it is complete: half a store never exists."""

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        self.folder = folder
        self.dtype = "<u2" if vocabulary_size <= 65_536 else "<i4"
        self._partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir(parents=True)
        kinds = {"source": self.dtype, "target": self.dtype, "source_text": "u1", "target_text": "u1"}
        self._writers = {name: RaggedWriter(self._partial, name, dtype) for name, dtype in kinds.items()}

    def append(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]],
               source_texts: Sequence[str], target_texts: Sequence[str]) -> None:  # fmt: skip
        """Add pairs; the four lists run in step."""
        self._writers["source"].append(sources)
        self._writers["target"].append(targets)
        self._writers["source_text"].append([text.encode() for text in source_texts])
        self._writers["target_text"].append([text.encode() for text in target_texts])

    def close(self, fingerprint: str) -> TokenStore:
        """Finish, move into place, open. `fingerprint` names what the store was made of."""
        for writer in self._writers.values():
            writer.close()
        description = {"version": VERSION, "dtype": self.dtype, "fingerprint": fingerprint}
        (self._partial / "store.json").write_text(json.dumps(description), encoding="utf-8")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.rename(self._partial, self.folder)
        return open_store(self.folder)


def open_store(folder: Path) -> TokenStore:
    """Map a finished store."""
    dtype = json.loads((folder / "store.json").read_text(encoding="utf-8"))["dtype"]
    if dtype not in ("<u2", "<i4"):
        raise RunError(f"{folder}/store.json: unknown number format {dtype!r}; delete the folder, it is made anew")
    return TokenStore(
        Ragged.open(folder, "source", dtype),
        Ragged.open(folder, "target", dtype),
        Ragged.open(folder, "source_text", "u1"),
        Ragged.open(folder, "target_text", "u1"),
    )


def store_matches(folder: Path, fingerprint: str) -> bool:
    """Whether a complete store of exactly this corpus, cleaning and tokenizer stands there."""
    try:
        description = json.loads((folder / "store.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (description.get("version"), description.get("fingerprint")) == (VERSION, fingerprint)


def in_groups(count: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that cover `count`."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def _map(path: Path, dtype: str) -> np.ndarray:
    """A file as a read-only array; an empty file cannot be mapped and is an empty array."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r")
