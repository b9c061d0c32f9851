"""Tokenized corpora in memory-mapped files: pairs with their word alignments, and plain text."""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, TypeAdapter

from limelight.batching.ragged import REMEDY, Ragged, open_column, open_ragged
from limelight.errors import RunError
from limelight.files import PARTIAL, remove, sync_folder, write_whole, writing
from limelight.text.marked_pairs import Alignment, Link, WordForms
from limelight.tokens.tokenizer import END, UNKNOWN

_LINKS, _FORMS = "links", "forms.json"
VERSION: Literal[1] = 1
DESCRIPTION = "store.json"
MARKED = "marked.rows"
_AFTERWARDS = "nothing is lost: when there is space, the same command creates the tokens again"


@dataclass(frozen=True, slots=True)
class TokenStore:
    """One corpus: tokens and texts of both sides, row by row."""

    sources: Ragged
    targets: Ragged
    source_texts: Ragged
    target_texts: Ragged
    marked: np.ndarray = field(kw_only=True, default_factory=lambda: np.empty(0, dtype="<i8"))
    """Row numbers, ascending, whose texts contain marks (see `text/marking.py`)."""

    def __len__(self) -> int:
        return len(self.sources)

    def reversed(self) -> "TokenStore":
        """The corpus in the opposite direction."""
        return TokenStore(self.targets, self.sources, self.target_texts, self.source_texts, marked=self.marked)

    def are_marked(self, rows: np.ndarray) -> np.ndarray:
        """Whether the texts of each of these rows contain marks."""
        if not len(self.marked):
            return np.zeros(len(rows), dtype=bool)
        places = np.searchsorted(self.marked, rows)
        return self.marked[np.minimum(places, len(self.marked) - 1)] == rows

    def texts(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Source and target texts of these rows."""
        return (
            [self.source_texts[row].tobytes().decode() for row in rows],
            [self.target_texts[row].tobytes().decode() for row in rows],
        )


class FolderWriter:
    """Writes a folder of flat arrays atomically: to a temporary folder that is renamed when it is complete.

    Use it in a `with` block, which removes the temporary folder if `finish` was not called. Write errors raise
    `RunError` with the folder and the cause.
    """

    def __init__(self, folder: Path, *, vocabulary_size: int = 1) -> None:
        self.folder = folder
        self.dtype: Literal["<u2", "<i4"] = "<u2" if vocabulary_size <= 65_536 else "<i4"
        self._partial = folder.with_name(folder.name + PARTIAL)
        self._files: dict[str, BinaryIO] = {}
        self._ends: dict[str, int] = {}
        with self.writing():
            remove(self._partial)
            self._partial.mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):
                file.close()
        shutil.rmtree(self._partial, ignore_errors=True)

    def writing(self) -> AbstractContextManager[None]:
        """A context that converts failures to write into `RunError`."""
        return writing(self.folder, _AFTERWARDS)

    def add(self, name: str, values: Sequence[int] | np.ndarray, dtype: str = "") -> np.ndarray:
        """Append numbers to a file, which is created; returns them as they are stored."""
        stored = np.asarray(values, dtype=dtype or self.dtype)
        with self.writing():
            if name not in self._files:
                self._files[name] = open(self._partial / name, "wb")  # noqa: SIM115 - closed at the end
            self._files[name].write(stored.tobytes())
        return stored

    def add_rows(self, name: str, rows: Sequence[Sequence[int] | bytes], dtype: str = "") -> None:
        """Append rows of numbers, or of bytes, to `name.values` and `name.offsets`."""
        dtype = dtype or self.dtype
        if name not in self._ends:
            self._ends[name] = 0
            self.add(f"{name}.offsets", [0], "<i8")
        parts = [
            np.frombuffer(row, dtype=dtype) if isinstance(row, bytes) else np.asarray(row, dtype=dtype) for row in rows
        ]
        ends = self._ends[name] + np.cumsum([len(part) for part in parts], dtype=np.int64)
        self.add(f"{name}.values", np.concatenate([np.empty(0, dtype=dtype), *parts]), dtype)
        self.add(f"{name}.offsets", ends, "<i8")
        self._ends[name] = int(ends[-1]) if len(ends) else self._ends[name]

    def finish(self, fingerprint: str, files: Sequence[str], **figures: int) -> None:
        """Sync everything to disk and rename the folder. `fingerprint` identifies what it was made from, `files` its
        paths."""
        description = Description(
            version=VERSION, dtype=self.dtype, fingerprint=fingerprint, files=list(files), **figures
        )
        with self.writing():
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
                file.close()
            write_whole(self._partial / DESCRIPTION, description.model_dump_json())
            remove(self.folder)
            os.rename(self._partial, self.folder)
            sync_folder(self.folder.parent)


class StoreWriter(FolderWriter):
    """Writes a `TokenStore`."""

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        super().__init__(folder, vocabulary_size=vocabulary_size)
        self._rows, self._marked = 0, list[int]()
        self.append([], [], [], [])

    def append(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]],
               source_texts: Sequence[str], target_texts: Sequence[str],
               marked: Sequence[bool] = ()) -> None:  # fmt: skip
        """Append pairs; all lists have the same length. `marked` tells whose texts contain marks; none by default."""
        self._marked += [self._rows + place for place, is_marked in enumerate(marked) if is_marked]
        self._rows += len(sources)
        self.add_rows("source", sources)
        self.add_rows("target", targets)
        self.add_rows("source_text", [text.encode() for text in source_texts], "u1")
        self.add_rows("target_text", [text.encode() for text in target_texts], "u1")

    def close(self, fingerprint: str, files: Sequence[str] = ()) -> TokenStore:
        """Finish and open the store. `fingerprint` identifies what it was made from, `files` its paths."""
        if self._marked:
            self.add(MARKED, self._marked, "<i8")
        self.finish(fingerprint, files, marked=len(self._marked))
        return open_store(self.folder)


class Description(BaseModel):
    """The content of `store.json`."""

    version: Literal[1]
    dtype: Literal["<u2", "<i4"]
    fingerprint: str = ""
    """Identifies what the store was made from."""
    files: list[str] = []
    """The paths of the text."""
    marked: int = 0
    pieces: int = 0
    documents: int = 0
    characters: int = 0
    utf8_bytes: int = 0
    unknown: int = 0


def described(folder: Path) -> Description:
    """The description written by `FolderWriter.finish`. Raises `RunError` if it is invalid."""
    try:
        return Description.model_validate_json((folder / DESCRIPTION).read_bytes(), strict=True)
    except (OSError, ValueError):
        raise RunError(f"{folder / DESCRIPTION}: not a description of a store; {REMEDY}") from None


def store_matches(folder: Path, fingerprint: str) -> bool:
    """Whether the folder is a complete store with this fingerprint."""
    try:
        return described(folder).fingerprint == fingerprint
    except RunError:
        return False


def open_store(folder: Path) -> TokenStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    description = described(folder)
    parts = [open_ragged(folder, name, description.dtype) for name in ("source", "target")]
    parts += [open_ragged(folder, name, "u1") for name in ("source_text", "target_text")]
    if len({len(part) for part in parts}) > 1:
        raise RunError(f"{folder}: its files have different numbers of rows; {REMEDY}")
    marked = np.empty(0, dtype="<i8")
    if (folder / MARKED).exists():
        marked = open_column(folder, MARKED, "<i8")
    if len(marked) != description.marked:
        raise RunError(f"{folder}: {MARKED} is incomplete; {REMEDY}")
    return TokenStore(*parts, marked=marked)


_IDS = "text.ids"
_FIGURES = ("pieces", "documents", "characters", "utf8_bytes", "unknown")


@dataclass(frozen=True, slots=True)
class TextStore:
    """A tokenized text and its statistics."""

    ids: np.ndarray
    """(tokens,): an end token, then the documents, each followed by an end token."""
    documents: int
    characters: int
    """Characters of the original text, line ends included."""
    utf8_bytes: int
    """Bytes of the original text in UTF-8."""
    unknown: int
    """Characters or tokens that are not in the vocabulary."""


NO_TEXT = TextStore(np.array([END], dtype="<u2"), 0, 0, 0, 0)


class TextWriter(FolderWriter):
    """Writes a `TextStore`."""

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        super().__init__(folder, vocabulary_size=vocabulary_size)
        self._figures = dict.fromkeys(_FIGURES, 0) | {"pieces": len(self.add(_IDS, [END]))}

    def append(self, ids: Sequence[int], *, ends: bool, characters: int, utf8_bytes: int) -> None:
        """Append tokens of a document with the size of their text; `ends` marks the end of the document."""
        row = self.add(_IDS, [*ids, END] if ends else ids)
        unknown = int((row == UNKNOWN).sum())
        for name, more in zip(_FIGURES, (len(row), ends, characters, utf8_bytes, unknown), strict=True):
            self._figures[name] += more

    @property
    def documents(self) -> int:
        """Number of documents that have ended so far."""
        return self._figures["documents"]

    def close(self, fingerprint: str, files: Sequence[str] = ()) -> TextStore:
        """Finish and open the store. `fingerprint` identifies what it was made from, `files` its paths."""
        self.finish(fingerprint, files, **self._figures)
        return open_text_store(self.folder)


def open_text_store(folder: Path) -> TextStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    description = described(folder)
    ids = open_column(folder, _IDS, description.dtype)
    if len(ids) != description.pieces:
        raise RunError(f"{folder}: {_IDS} is incomplete; {REMEDY}")
    return TextStore(ids, *(getattr(description, name) for name in _FIGURES[1:]))


_DTYPE = "<u2"
_SURE = 0x8000
"""Added to the target word of a link that both directions of the alignment contain."""
MAX_WORDS = _SURE
"""Links of words with this index or a larger one are dropped."""


class SideForms(NamedTuple):
    """Statistics of the words of one side."""

    related: dict[str, list[str]]
    """Other forms of a word."""
    common: list[str]
    """The most frequent words, lowercased."""


@dataclass(frozen=True, slots=True)
class AlignmentStore:
    """Word alignments of each pair of a store."""

    links: Ragged
    """Per row: source word, target word (with `_SURE`), source word, ..."""
    forms: tuple[WordForms, WordForms]
    """Word forms for the direction from source to target, and for the opposite direction."""
    turned: bool = False
    """Whether the alignments are used in the opposite direction."""

    def __len__(self) -> int:
        return len(self.links)

    def reversed(self) -> "AlignmentStore":
        """The alignments in the opposite direction."""
        return AlignmentStore(self.links, self.forms, not self.turned)

    def of(self, row: int | np.integer) -> Alignment:
        """The alignment of a pair."""
        values = self.links[row].tolist()
        stored = [(s, t & ~_SURE, t >= _SURE) for s, t in zip(values[::2], values[1::2], strict=True)]
        links = [Link(t, s, sure) if self.turned else Link(s, t, sure) for s, t, sure in stored]
        return Alignment(links, self.forms[self.turned])


class AlignmentWriter(FolderWriter):
    """Writes an `AlignmentStore`."""

    def append(self, rows: Sequence[Sequence[Link]]) -> None:
        """Append the links of pairs."""
        self.add_rows(_LINKS, [_numbers(row) for row in rows], _DTYPE)

    def close(self, fingerprint: str, sides: tuple[SideForms, SideForms]) -> AlignmentStore:
        """Finish and open the store. `fingerprint` identifies what it was made from."""
        self.append([])
        with self.writing():
            content = json.dumps([each._asdict() for each in sides], ensure_ascii=False)
            write_whole(self._partial / _FORMS, content)
        self.finish(fingerprint, ())
        return open_alignments(self.folder)


def _numbers(links: Sequence[Link]) -> list[int]:
    return [
        number
        for source, target, sure in links
        if source < MAX_WORDS and target < MAX_WORDS
        for number in (source, target + _SURE * sure)
    ]


def open_alignments(folder: Path) -> AlignmentStore:
    """Map finished alignments. Raises `RunError` if they are damaged."""
    described(folder)
    links = open_ragged(folder, _LINKS, _DTYPE)
    try:
        source, target = TypeAdapter(tuple[SideForms, SideForms]).validate_json((folder / _FORMS).read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{folder / _FORMS}: cannot be read ({error}); {REMEDY}") from None
    if (links.lengths() % 2).any():
        raise RunError(f"{folder}: not word alignments; {REMEDY}")
    common = frozenset(source.common), frozenset(target.common)
    return AlignmentStore(links, (WordForms(target.related, common), WordForms(source.related, common[::-1])))
