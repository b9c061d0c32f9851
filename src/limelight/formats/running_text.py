"""Plain text as documents: a file is one, or each of its lines is; the end of each file may be held out.

Memory is bounded: a document is returned in parts. In a file that is one document, lines may have any length, as in
corpora without line ends; a line that is a document itself may not.
"""

from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from limelight.formats.lines import OnBadLine, chunks, scan_lines, scan_text, without_bad
from limelight.formats.opening import open_text

PART = 1 << 20
"""Characters after which the lines read so far are returned as a part."""


class Part(NamedTuple):
    """A part of a document: whole lines with their ends, except where a document is a line or is divided, or a line is
    too long. A part that continues a line begins with white space if there is any."""

    text: str
    ends: bool
    """Whether this is the last part of its document."""
    held_out: bool
    is_line: bool
    """Whether the document is a line; then `text` does not include its line end."""

    @property
    def characters(self) -> int:
        """As in the file, line ends included."""
        return len(self.text) + self.is_line

    @property
    def utf8_bytes(self) -> int:
        """As in the file, line ends included."""
        return len(self.text.encode("utf-8")) + self.is_line


class Extent(NamedTuple):
    """The contents of a text file, counted."""

    documents: int
    """Documents that are not blank."""
    blank: int
    """Documents of nothing but white space, which are left out."""
    characters: int
    """Characters of the documents that are not blank, line ends included."""


def measure(file: str | Path, *, by_line: bool, on_bad_line: OnBadLine | None = None) -> Extent:
    """Count what `read_documents` will read.

    Args:
        by_line: whether each line is a document.
        on_bad_line: called for each unreadable line, which is skipped; if not given, the first one raises.

    Raises:
        UserError: the file is missing or has a bad line; the message names file and line.
    """
    documents = blank = characters = 0
    for text in _read(Path(file), on_bad_line, by_line=by_line):
        is_blank = not text.strip()
        documents, blank = documents + (not is_blank), blank + is_blank
        characters += 0 if by_line and is_blank else len(text) + by_line
    if not by_line:
        documents = min(1, documents)
        return Extent(documents, 1 - documents, characters * documents)
    return Extent(documents, blank, characters)


def read_documents(
    file: str | Path, extent: Extent, *, by_line: bool, held_out: float = 0.0, on_bad_line: OnBadLine | None = None
) -> Iterator[Part]:
    """The documents of a file, part by part; blank ones are left out.

    Args:
        extent: the result of `measure` for the file.
        held_out: the share of the characters, from the end, that is held out. A document that is a whole file is
            divided at that character; a document that is a line is held out if it begins after it.
        on_bad_line: as in `measure`.
    """
    lines = _read(Path(file), on_bad_line, by_line=by_line) if extent.documents else iter(())
    texts: Iterator[str] = filter(str.strip, lines) if by_line else map("".join, chunks(lines, PART, len))
    cut, position = int(extent.characters * (1 - held_out)), 0
    for text, following in pairwise(chain(texts, [""])):
        room, ends = cut - position, by_line or not following
        if by_line or not 0 < room < len(text):
            yield Part(text, ends or position + len(text) == cut, room <= 0, by_line)
        else:
            yield Part(text[:room], True, False, by_line)
            yield Part(text[room:], ends, True, by_line)
        position += len(text) + by_line


def _read(file: Path, on_bad_line: OnBadLine | None, *, by_line: bool) -> Iterator[str]:
    """Lines without their ends, or, if the file is one document, all of its text."""
    with open_text(file) as stream:
        yield from without_bad((scan_lines if by_line else scan_text)(stream, str(file)), on_bad_line)
