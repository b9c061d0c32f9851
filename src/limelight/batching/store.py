"""Tokenized corpora in memory-mapped files: pairs with their word alignments, and plain text."""

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from limelight.errors import RunError
from limelight.files import PARTIAL, remove, sync_folder, write_whole, writing
from limelight.text.marking import Alignment, Link, WordForms
from limelight.tokens.tokenizer import END, UNKNOWN

_LINKS, _FORMS = "links", "forms.json"
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


_DTYPE = "<u2"
_SURE = 0x8000
"""Added to the target word of a link that both directions of the alignment have."""
MAX_WORDS = _SURE
"""A link of a word behind so many is not kept."""


class SideForms(NamedTuple):
    """What is known of the words of one side."""

    related: dict[str, list[str]]
    """Other forms of a word."""
    common: list[str]
    """The most frequent words, lowercased."""


@dataclass(frozen=True, slots=True)
class AlignmentStore:
    """Which words of each pair of a store translate one another."""

    links: Ragged
    """Row by row: source word, target word (with `_SURE`), source word, ..."""
    forms: tuple[WordForms, WordForms]
    """What is known of the words: read from source to target, and the other way round."""
    turned: bool = False
    """Whether it is read in the other direction."""

    def __len__(self) -> int:
        return len(self.links)

    def reversed(self) -> "AlignmentStore":
        """The same in the other direction."""
        return AlignmentStore(self.links, self.forms, not self.turned)

    def of(self, row: int | np.integer) -> Alignment:
        """The alignment of a pair."""
        values = self.links[row].tolist()
        found = [(s, t & ~_SURE, t >= _SURE) for s, t in zip(values[::2], values[1::2], strict=True)]
        links = [Link(t, s, sure) if self.turned else Link(s, t, sure) for s, t, sure in found]
        return Alignment(links, self.forms[self.turned])


class AlignmentWriter(FolderWriter):
    """Writes an `AlignmentStore`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, vocabulary_size=1)

    def _open(self, partial: Path) -> None:
        self._links = RaggedWriter(partial, _LINKS, _DTYPE)

    def _close(self) -> None:
        self._links.close()

    def _abandon(self) -> None:
        self._links.abandon()

    def append(self, rows: Sequence[Sequence[Link]]) -> None:
        """Add the links of pairs."""
        with self.writing():
            self._links.append([_numbers(row) for row in rows])

    def close(self, fingerprint: str, sides: tuple[SideForms, SideForms]) -> AlignmentStore:
        """Finish, move into place, open. `fingerprint` names what it was made of."""
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
    """Map finished alignments. Raises `RunError` when they are damaged."""
    described(folder)
    links = Ragged.open(folder, _LINKS, _DTYPE)
    try:
        content = json.loads((folder / _FORMS).read_text(encoding="utf-8"))
        sides = [SideForms({str(word): list(map(str, forms)) for word, forms in side["related"].items()},
                           list(map(str, side["common"]))) for side in content]  # fmt: skip
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError(f"{folder / _FORMS}: cannot be read ({error}); {WAY_OUT}") from None
    if len(sides) != 2 or (links.lengths() % 2).any():
        raise RunError(f"{folder}: no word alignments; {WAY_OUT}")
    source, target = sides
    common = frozenset(source.common), frozenset(target.common)
    return AlignmentStore(links, (WordForms(target.related, common), WordForms(source.related, common[::-1])))
