"""Records of the readers (a pair of sentences, and a line that cannot be used), and pairs as lines of a file: .tsv,
.jsonl, .tmx, or two files line by line.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import PurePath
from typing import NamedTuple

from limelight import __version__
from limelight.errors import UserError


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, with their file and line for messages."""

    source: str
    target: str
    file: str = ""
    """Empty for a pair of no file."""
    line: int = 1
    """Counts from 1."""

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
    unused: bool = False
    """Whether this is not an error: the segment is marked as not translated, or is in other languages."""

    @property
    def kind(self) -> str:
        """The reason without details, for counting: its words before a bracket or a semicolon."""
        return re.split(r" \(|;", self.reason, maxsplit=1)[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


WRITTEN = (".tsv", ".jsonl", ".tmx")
"""Suffixes of files with both sides that are written."""
_BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not permit."""
NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""Characters that JSON can represent, but no text may have."""


def require_written(path: PurePath) -> None:
    """Raise `UserError` for a file whose suffix is not written."""
    if path.suffix.lower() not in WRITTEN:
        raise UserError(
            f"{path}: pairs are written as {', '.join(WRITTEN[:-1])} or {WRITTEN[-1]}, not "
            f"{path.suffix or 'without a suffix'}: give -o a name with .tmx"
        )


def normalized(text: str) -> str:
    """The text as it is compared: Unicode in NFC, single spaces, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fold(text: str) -> str:
    """Normalize a text so that differences in case, white space and Unicode normalization vanish."""
    return normalized(text).casefold()


def one_line(text: str) -> str:
    """A text without line breaks and TABs, which would be read as other lines and columns."""
    return _BREAKS.sub(" ", text).strip()


class PairLines:
    """The lines of a file with both sides. `.tmx` names the languages."""

    def __init__(self, path: PurePath, source: str, target: str) -> None:
        """Raises `UserError` for another suffix, and for a .tmx file of unknown languages."""
        require_written(path)
        self.suffix, self.languages = path.suffix.lower(), (source, target)
        if self.suffix == ".tmx" and not (source and target):
            raise UserError(f"{path}: a .tmx file names its languages: give --source LANG and --target LANG")

    def whole(self, pairs: Iterable[str]) -> Iterator[str]:
        """All lines of a file with these lines of `pair`; none without pairs."""
        empty = True
        for line in pairs:
            if empty and self.suffix == ".tmx":
                yield '<?xml version="1.0" encoding="UTF-8"?>'
                yield '<tmx version="1.4">'
                yield (
                    f'<header creationtool="limelight" creationtoolversion="{escape(__version__)}" segtype="sentence" '
                    f'o-tmf="limelight" adminlang="en" srclang="{escape(self.languages[0])}" datatype="plaintext"/>'
                )
                yield "<body>"
            empty = False
            yield line
        if self.suffix == ".tmx" and not empty:
            yield "</body>"
            yield "</tmx>"

    def pair(self, source: str, target: str, notes: Mapping[str, str | float] | None = None) -> str:
        """A pair as a line. Notes, such as its confidence, are written where the format has a place for them."""
        if self.suffix == ".tsv":
            return f"{one_line(source)}\t{one_line(target)}"
        if self.suffix == ".jsonl":
            return json.dumps({"source": source, "target": target, **(notes or {})}, ensure_ascii=False)
        props = "".join(
            f'<prop type="{escape(name)}">{_xml(str(value))}</prop>' for name, value in (notes or {}).items()
        )
        sides = "".join(
            f'<tuv xml:lang="{escape(language)}"><seg>{_xml(text)}</seg></tuv>'
            for language, text in zip(self.languages, (source, target), strict=True)
        )
        return f"<tu>{props}{sides}</tu>"


def _xml(text: str) -> str:
    return escape(NOT_XML.sub("\ufffd", text), quote=False)
