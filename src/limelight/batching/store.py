"""Tokenized corpora in memory-mapped files: pairs with their word alignments, and plain text."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, TypeAdapter

from limelight.batching.ragged import Ragged, mapped
from limelight.errors import RunError
from limelight.files import PARTIAL, remove, sync_folder, sync_tree, writing
from limelight.text.marked_pairs import Alignment, Link, WordForms
from limelight.text.pair import Sides
from limelight.tokens.tokenizer import END, UNKNOWN

DESCRIPTION = "store.json"
_AFTERWARDS = "nothing is lost: when there is space, the same command creates the tokens again"


class Description(BaseModel):
    """The content of `store.json`."""

    version: Literal[1]
    dtype: Literal["<u2", "<i4"]
    fingerprint: str = ""
    """Identifies what the store was made from."""
    pieces: int = 0
    documents: int = 0
    characters: int = 0
    utf8_bytes: int = 0
    unknown: int = 0


def described(folder: Path) -> Description:
    """The description of a complete store. Raises `RunError` if it is invalid."""
    with _intact(folder):
        return Description.model_validate_json((folder / DESCRIPTION).read_bytes(), strict=True)


def store_matches(folder: Path, fingerprint: str) -> bool:
    """Whether the folder is a complete store with this fingerprint."""
    try:
        return described(folder).fingerprint == fingerprint
    except RunError:
        return False


@contextmanager
def _intact(folder: Path) -> Iterator[None]:
    """A context that converts errors of damaged files to `RunError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        fault = str(error).partition("\n")[0]
        raise RunError(
            f"{folder}: incomplete or damaged ({fault}); delete the folder; it is created again from the corpus"
        ) from None


class FolderWriter:
    """Writes a folder of flat arrays atomically: to a temporary folder that is renamed when it is complete.

    Use it in a `with` block, which removes the temporary folder if `finish` was not called. Write errors raise
    `RunError` with the folder and the cause.
    """

    def __init__(self, folder: Path, *, vocabulary_size: int = 1) -> None:
        self.folder = folder
        self.dtype: Literal["<u2", "<i4"] = "<u2" if vocabulary_size <= 65_536 else "<i4"
        self.partial = folder.with_name(folder.name + PARTIAL)
        self._ends = Counter[str]()
        self._files, self._open = dict[str, BinaryIO](), ExitStack()
        with self.writing():
            remove(self.partial)
            self.partial.mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._open.close()
        shutil.rmtree(self.partial, ignore_errors=True)

    def writing(self) -> AbstractContextManager[None]:
        """A context that converts failures to write into `RunError`."""
        return writing(self.folder, _AFTERWARDS)

    def add(self, name: str, values: Sequence[int] | np.ndarray, dtype: str = "") -> None:
        """Append numbers to a file."""
        with self.writing():
            if name not in self._files:
                self._files[name] = self._open.enter_context(open(self.partial / name, "wb"))  # noqa: SIM115
            self._files[name].write(np.asarray(values, dtype=dtype or self.dtype).tobytes())

    def add_rows(self, name: str, rows: Ragged, dtype: str = "") -> None:
        """Append rows to `name.values` and `name.offsets`."""
        if name not in self._ends:
            self.add(f"{name}.offsets", [0], "<i8")
        self.add(f"{name}.values", rows.values, dtype)
        self.add(f"{name}.offsets", self._ends[name] + rows.offsets[1:], "<i8")
        self._ends[name] += int(rows.offsets[-1])

    def finish(self, fingerprint: str, **figures: int) -> None:
        """Sync everything to disk and rename the folder. `fingerprint` identifies what it was made from."""
        description = Description(version=1, dtype=self.dtype, fingerprint=fingerprint, **figures)
        with self.writing():
            self._open.close()
            (self.partial / DESCRIPTION).write_text(description.model_dump_json(), encoding="utf-8")
            sync_tree(self.partial)
            remove(self.folder)
            os.rename(self.partial, self.folder)
            sync_folder(self.folder.parent)


@dataclass(frozen=True, slots=True)
class TokenStore:
    """One corpus: tokens and texts of both sides, row by row."""

    sources: Ragged
    targets: Ragged
    source_texts: Ragged
    target_texts: Ragged

    def __len__(self) -> int:
        return len(self.sources)

    def reversed(self) -> "TokenStore":
        """The corpus in the opposite direction."""
        return TokenStore(self.targets, self.sources, self.target_texts, self.source_texts)

    def text(self, row: int | np.integer) -> Sides:
        """The texts of a row."""
        return Sides(self.source_texts[row].tobytes().decode(), self.target_texts[row].tobytes().decode())

    def texts(self, rows: np.ndarray) -> list[Sides]:
        """The texts of these rows."""
        return [self.text(row) for row in rows]


class StoreWriter(FolderWriter):
    """Writes a `TokenStore`."""

    def __init__(self, folder: Path, *, vocabulary_size: int) -> None:
        super().__init__(folder, vocabulary_size=vocabulary_size)
        self.append([], [], [], [])

    def append(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]],
               source_texts: Sequence[str], target_texts: Sequence[str]) -> None:  # fmt: skip
        """Append pairs; all lists have the same length."""
        self.add_rows("source", Ragged.of(sources))
        self.add_rows("target", Ragged.of(targets))
        self.add_rows("source_text", Ragged.of_texts(source_texts), "u1")
        self.add_rows("target_text", Ragged.of_texts(target_texts), "u1")

    def close(self, fingerprint: str) -> TokenStore:
        """Finish and open the store. `fingerprint` identifies what it was made from, `files` its paths."""
        self.finish(fingerprint)
        return open_store(self.folder)


def open_store(folder: Path) -> TokenStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    description = described(folder)
    with _intact(folder):
        parts = [Ragged.mapped(folder / name, description.dtype) for name in ("source", "target")]
        parts += [Ragged.mapped(folder / name, "u1") for name in ("source_text", "target_text")]
        if len({len(part) for part in parts}) > 1:
            raise ValueError("files with different numbers of rows")
    return TokenStore(*parts)


_IDS = "text.ids"


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
        self.figures = Counter[str]()
        self._add([END])

    def append(self, ids: Sequence[int], *, ends: bool, characters: int, utf8_bytes: int) -> None:
        """Append tokens of a document with the size of their text; `ends` marks the end of the document."""
        self._add([*ids, END] if ends else ids, documents=ends, characters=characters, utf8_bytes=utf8_bytes)

    def _add(self, ids: Sequence[int], **figures: int) -> None:
        self.add(_IDS, ids)
        self.figures.update(pieces=len(ids), unknown=ids.count(UNKNOWN), **figures)

    def close(self, fingerprint: str) -> TextStore:
        """Finish and open the store. `fingerprint` identifies what it was made from, `files` its paths."""
        self.finish(fingerprint, **self.figures)
        return open_text_store(self.folder)


def open_text_store(folder: Path) -> TextStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    it = described(folder)
    with _intact(folder):
        ids = mapped(folder / _IDS, it.dtype)
        if len(ids) != it.pieces:
            raise ValueError(f"{_IDS} is incomplete")
    return TextStore(ids, it.documents, it.characters, it.utf8_bytes, it.unknown)


_LINKS, _FORMS = "links", "forms.json"
_SURE = 0x8000
"""Added to the target word of a link that both directions of the alignment contain."""


class SideForms(NamedTuple):
    """Statistics of the words of one side."""

    related: dict[str, list[str]]
    """Other forms of a word."""
    common: list[str]
    """The most frequent words, lowercased."""


_STORED_FORMS = TypeAdapter(tuple[SideForms, SideForms])


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
    """Writes an `AlignmentStore`. Links of words beyond the 32,768th are dropped."""

    def append(self, rows: Sequence[Sequence[Link]]) -> None:
        """Append the links of pairs."""
        kept = [[(s, t + _SURE * sure) for s, t, sure in row if max(s, t) < _SURE] for row in rows]
        self.add_rows(_LINKS, Ragged.of([[word for link in row for word in link] for row in kept]))

    def close(self, fingerprint: str, sides: tuple[SideForms, SideForms]) -> AlignmentStore:
        """Finish and open the store. `fingerprint` identifies what it was made from."""
        self.append([])
        with self.writing():
            content = json.dumps([side._asdict() for side in sides], ensure_ascii=False)
            (self.partial / _FORMS).write_text(content, encoding="utf-8")
        self.finish(fingerprint)
        return open_alignments(self.folder)


def open_alignments(folder: Path) -> AlignmentStore:
    """Map finished alignments. Raises `RunError` if they are damaged."""
    dtype = described(folder).dtype
    with _intact(folder):
        links = Ragged.mapped(folder / _LINKS, dtype)
        if (links.lengths() % 2).any():
            raise ValueError("not word alignments")
        source, target = _STORED_FORMS.validate_json((folder / _FORMS).read_bytes())
    common = frozenset(source.common), frozenset(target.common)
    return AlignmentStore(links, (WordForms(target.related, common), WordForms(source.related, common[::-1])))
