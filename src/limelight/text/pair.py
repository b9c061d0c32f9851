"""The one record text travels in, and the one that says why a line could not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with the place they came from so that every later message can name it."""

    source: str
    target: str
    file: str
    line: int
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
    """A line that is no text, or no pair, or a segment that is not to be used."""

    file: str
    line: int
    """Counts from 1."""
    reason: str
    fatal: bool = False
    """Not this line alone: nothing read from its file can be trusted (a damaged archive, files of unequal length)."""
    unused: bool = False
    """There is no mistake: the file says that the segment is not translated, or it is in other languages."""

    @property
    def kind(self) -> str:
        """The reason without its particulars, to count by: its words before a bracket or a semicolon."""
        return re.split(r" \(|;", self.reason, maxsplit=1)[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"
