"""Plain text, tokenized once: one flat memory-mapped file of ids, however long.

It begins with an end id, and each document ends with one: so every token of the text has something before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from limelight.batching.store import WAY_OUT, FolderWriter, abandon, close_whole, described, map_file
from limelight.errors import RunError
from limelight.tokens.tokenizer import END, UNKNOWN

_IDS = "text.ids"
_FIGURES = ("pieces", "documents", "characters", "utf8_bytes", "unknown")


@dataclass(frozen=True, slots=True)
class TextStore:
    """Some text as tokens, and what is known of it."""

    ids: np.ndarray
    """(tokens,): an end id, then the documents, an end id after each."""
    documents: int
    characters: int
    """Of the text as it was read, line ends included."""
    utf8_bytes: int
    """Of the same."""
    unknown: int
    """Characters or tokens that the vocabulary does not know."""


NO_TEXT = TextStore(np.array([END], dtype="<u2"), 0, 0, 0, 0)


class TextWriter(FolderWriter):
    """Writes a `TextStore`; see `FolderWriter`."""

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        self._figures = dict.fromkeys(_FIGURES, 0)
        super().__init__(folder, vocabulary_size=vocabulary_size)

    def _open(self, partial: Path) -> None:
        self._file: BinaryIO = open(partial / _IDS, "wb")  # noqa: SIM115 - closed by _close()
        self._write([END])

    def _close(self) -> None:
        close_whole(self._file)

    def _abandon(self) -> None:
        abandon(self._file)

    def append(self, ids: Sequence[int], *, ends: bool, characters: int, utf8_bytes: int) -> None:
        """Add some tokens of a document, and what they were as text; `ends` when it is the end of the document."""
        with self.writing():
            unknown = self._write([*ids, END] if ends else ids)
        for name, more in zip(_FIGURES[1:], (ends, characters, utf8_bytes, unknown), strict=True):
            self._figures[name] += more

    def _write(self, ids: Sequence[int]) -> int:
        row = np.asarray(ids, dtype=self.dtype)
        self._file.write(row.tobytes())
        self._figures["pieces"] += len(row)
        return int((row == UNKNOWN).sum())

    @property
    def documents(self) -> int:
        """Those that have ended so far."""
        return self._figures["documents"]

    def close(self, fingerprint: str, files: Sequence[str] = ()) -> TextStore:
        """Finish, move into place, open. `fingerprint` names what the store was made of, `files` where that lies."""
        self.finish(fingerprint, files, **self._figures)
        return open_text_store(self.folder)


def open_text_store(folder: Path) -> TextStore:
    """Map a finished store. Raises `RunError` when it is damaged."""
    description = described(folder, *_FIGURES)
    pieces, *figures = (description[name] for name in _FIGURES)
    try:
        ids = map_file(folder / _IDS, description["dtype"])
    except (OSError, ValueError) as error:  # missing, or half a number at the end
        raise RunError(f"{folder}: {_IDS} cannot be read ({error}); {WAY_OUT}") from None
    if len(ids) != pieces:
        raise RunError(f"{folder}: {_IDS} is incomplete; {WAY_OUT}")
    return TextStore(ids, *figures)
