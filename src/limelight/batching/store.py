"""Tokenized corpora in memory-mapped files: pairs with their word alignments, and plain text."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, TypeAdapter

from limelight.batching.ragged import Ragged, mapped
from limelight.errors import RunError
from limelight.files import whole_folder
from limelight.formats.running_text import Part
from limelight.text.marked_pairs import Alignment, Link, WordForms
from limelight.text.pair import Sides
from limelight.tokens.tokenizer import END, UNKNOWN

DESCRIPTION = "store.json"
_BYTES = "u1"
GROUP = 10_000
"""Pairs that are processed together: a balance of speed and memory."""


class Description(BaseModel):
    """The content of `store.json`."""

    version: Literal[1] = 1
    dtype: Literal["<u2", "<i4"]
    fingerprint: str = ""
    """Identifies what the store was made from."""
    pieces: int = 0
    """Tokens of a text. Further figures of a text, which are 0 for pairs:"""
    documents: int = 0
    characters: int = 0
    """Characters of the original text, line ends included."""
    utf8_bytes: int = 0
    unknown: int = 0
    """Characters or tokens that are not in the vocabulary."""


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


@dataclass(slots=True)
class Columns:
    """The files of a new store, which are appended to."""

    folder: Path
    dtype: str
    figures: Counter[str] = field(default_factory=Counter)
    """Fields of the `Description`."""
    _ends: Counter[str] = field(default_factory=Counter)
    """The number of values of each column of rows."""

    def add(self, name: str, values: Sequence[int] | np.ndarray, dtype: str = "") -> None:
        """Append numbers to a file."""
        with open(self.folder / name, "ab") as file:
            file.write(np.asarray(values, dtype=dtype or self.dtype).tobytes())

    def add_rows(self, name: str, rows: Ragged) -> None:
        """Append rows of numbers, or of bytes, to `name.values` and `name.offsets`."""
        if name not in self._ends:
            self.add(f"{name}.offsets", [0], "<i8")
        self.add(f"{name}.values", rows.values, _BYTES if rows.values.dtype == np.uint8 else "")
        self.add(f"{name}.offsets", self._ends[name] + rows.offsets[1:], "<i8")
        self._ends[name] += int(rows.offsets[-1])


@contextmanager
def new_store(folder: Path, fingerprint: str, *, vocabulary_size: int = 1) -> Iterator[Columns]:
    """A context with the files of a new store, which is renamed to `folder` when the context ends without an error.

    `fingerprint` identifies what it is made from. An `OSError` names the folder or a file.
    """
    description = Description(dtype="<u2" if vocabulary_size <= 65_536 else "<i4", fingerprint=fingerprint)
    with whole_folder(folder) as partial:
        columns = Columns(partial, description.dtype)
        yield columns
        content = description.model_copy(update=columns.figures).model_dump_json()
        (partial / DESCRIPTION).write_text(content, encoding="utf-8")


_COLUMNS = ("source", "target", "source_text", "target_text")


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
        return list(map(Sides, self.source_texts.take(rows).texts(), self.target_texts.take(rows).texts()))

    def groups(self) -> Iterator[list[Sides]]:
        """All texts, `GROUP` rows at a time: reading a memory-mapped file row by row would dominate the time."""
        for first in range(0, len(self), GROUP):
            yield self.texts(np.arange(first, min(first + GROUP, len(self))))


def add_pairs(columns: Columns, pairs: Iterable[tuple[Sequence[int], Sequence[int], str, str]]) -> None:
    """Append pairs: the ids of both sides, and their texts."""
    for name, rows in zip(_COLUMNS, zip(*pairs, strict=True), strict=False):  # without pairs there are no columns
        columns.add_rows(name, Ragged.of_texts(rows) if name.endswith("_text") else Ragged.of(rows))


def open_store(folder: Path) -> TokenStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    dtype = described(folder).dtype
    with _intact(folder):
        parts = [Ragged.mapped(folder / name, _BYTES if name.endswith("_text") else dtype) for name in _COLUMNS]
        if len({len(part) for part in parts}) > 1:
            raise ValueError("files with different numbers of rows")
    return TokenStore(*parts)


_TEXT = "text.ids"


class TextStore(NamedTuple):
    """A tokenized text and its statistics."""

    ids: np.ndarray
    """(tokens,): an end token, then the documents, each followed by an end token."""
    documents: int
    utf8_bytes: int
    """Bytes of the original text in UTF-8, line ends included."""


NO_TEXT = TextStore(np.array([END], dtype="<u2"), 0, 0)


def add_text(columns: Columns, parts: Sequence[Part], rows: Sequence[Sequence[int]]) -> None:
    """Append the tokens of parts of documents."""
    ids = [END] * (not columns.figures)
    for part, row in zip(parts, rows, strict=True):
        ids += [*row, *[END] * part.ends]
        sizes = {"documents": int(part.ends), "characters": part.characters, "utf8_bytes": part.utf8_bytes}
        columns.figures.update(sizes)
    columns.add(_TEXT, ids)
    columns.figures.update(pieces=len(ids), unknown=ids.count(UNKNOWN))


def open_text_store(folder: Path) -> TextStore:
    """Map a finished store. Raises `RunError` if it is damaged."""
    description = described(folder)
    with _intact(folder):
        ids = mapped(folder / _TEXT, description.dtype)
        if len(ids) != description.pieces:
            raise ValueError(f"{_TEXT} is incomplete")
    return TextStore(ids, description.documents, description.utf8_bytes)


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

    def reversed(self) -> "AlignmentStore":
        """The alignments in the opposite direction."""
        return AlignmentStore(self.links, self.forms, not self.turned)

    def of(self, row: int | np.integer) -> Alignment:
        """The alignment of a pair."""
        values = self.links[row].tolist()
        stored = [(s, t & ~_SURE, t >= _SURE) for s, t in zip(values[::2], values[1::2], strict=True)]
        links = [Link(t, s, sure) if self.turned else Link(s, t, sure) for s, t, sure in stored]
        return Alignment(links, self.forms[self.turned])


def add_links(columns: Columns, rows: Sequence[Sequence[Link]]) -> None:
    """Append the links of pairs, except those of words beyond the 32,768th."""
    kept = [[(s, t + _SURE * sure) for s, t, sure in row if max(s, t) < _SURE] for row in rows]
    columns.add_rows(_LINKS, Ragged.of([[word for link in row for word in link] for row in kept]))


def add_forms(columns: Columns, sides: tuple[SideForms, SideForms]) -> None:
    """Write the word forms of both sides."""
    content = json.dumps([side._asdict() for side in sides], ensure_ascii=False)
    (columns.folder / _FORMS).write_text(content, encoding="utf-8")


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
