"""Rows of different length as one flat array: a batch is gathered from it without a loop over its rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

Rows = Sequence[Sequence[int | np.integer] | np.ndarray]
"""Token ids of each row."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row `i` is `values[offsets[i] : offsets[i + 1]]`; the arrays may be memory-mapped."""

    values: np.ndarray
    offsets: np.ndarray
    path: Path | None = None
    """Path of the two files without their suffixes, for mapping them in another process."""

    @classmethod
    def of(cls, rows: "Rows | Ragged") -> "Ragged":
        """Rows in memory, as int32."""
        if isinstance(rows, Ragged):
            return rows
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return cls.of_lengths(np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=lengths.sum()), lengths)

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "Ragged":
        """The bytes of texts in UTF-8."""
        rows = [text.encode() for text in texts]
        return cls.of_lengths(np.frombuffer(b"".join(rows), dtype=np.uint8), np.array([len(row) for row in rows]))

    @classmethod
    def of_lengths(cls, values: np.ndarray, lengths: np.ndarray) -> "Ragged":
        """Consecutive rows with these `lengths`."""
        return cls(values, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    @classmethod
    def joined(cls, parts: Iterable["Ragged"]) -> "Ragged":
        """The rows of several parts, one part after the other."""
        ragged = list(parts)
        values = np.concatenate([part.values for part in ragged])
        return cls.of_lengths(values, np.concatenate([part.lengths() for part in ragged]))

    @classmethod
    def mapped(cls, path: Path, dtype: str) -> "Ragged":
        """Rows in the files `path.values` and `path.offsets`. Raises `OSError` or `ValueError` for damaged ones."""
        offsets = mapped(path.with_name(f"{path.name}.offsets"), "<i8")
        values = mapped(path.with_name(f"{path.name}.values"), dtype)
        if not len(offsets) or offsets[-1] != len(values):
            raise ValueError(f"{path.name} is incomplete")
        return cls(values, offsets, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rows of a file are mapped again in another process."""
        if self.path is None:
            return Ragged, (self.values, self.offsets)
        return Ragged.mapped, (self.path, self.values.dtype.str)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int | np.integer) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self) -> np.ndarray:
        """(rows,) number of values in each row."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> "Ragged":
        """Some rows, in this order, in memory."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        taken = Ragged.of_lengths(self.values, lengths)
        index = np.arange(taken.offsets[-1]) + np.repeat(starts - taken.offsets[:-1], lengths)
        return Ragged(self.values[index], taken.offsets)

    def texts(self) -> list[str]:
        """The texts of rows that `of_texts` made, in memory."""
        content, ends = self.values.tobytes(), self.offsets.tolist()
        return [content[begin:end].decode() for begin, end in pairwise(ends)]

    def prefixed(self, prefix: Sequence[int]) -> "Ragged":
        """The rows, each after the same ids."""
        if not prefix:
            return self
        values = np.insert(self.values, np.repeat(self.offsets[:-1], len(prefix)), np.tile(prefix, len(self)))
        return Ragged(values, self.offsets + len(prefix) * np.arange(len(self.offsets)))


def mapped(path: Path, dtype: str) -> np.ndarray:
    """Map an array of a file. Raises `OSError`, or `ValueError` for a file that ends in the middle of a number."""
    # an empty file cannot be mapped
    return np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.empty(0, dtype=dtype)
