"""Records of the readers: a pair of sentences, and a line that cannot be used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with their file and line for messages."""

    source: str
    target: str
    file: str = ""
    """Empty for a pair of no file."""
    line: int = 1
    """Counts from 1."""
    marked: bool = False
    """Whether its private-use characters are marks (see `text/marks.py`): inline codes of a file as placeholders."""

    @property
    def place(self) -> str:
        """`file:line`, as editors and compilers write it."""
        return f"{self.file}:{self.line}"


class Sides(NamedTuple):
    """The two texts of a pair."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not valid text or not a pair, or a segment that must not be used."""

    file: str
    line: int
    """Counts from 1."""
    reason: str
    fatal: bool = False
    """Whether nothing read from the file can be trusted (a damaged archive, files of unequal length)."""
    unused: bool = False
    """Whether this is not an error: the segment is marked as not translated, or is in other languages."""

    @property
    def kind(self) -> str:
        """The reason without details, for counting: its words before a bracket or a semicolon."""
        return re.split(r" \(|;", self.reason, maxsplit=1)[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"
