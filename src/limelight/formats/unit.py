"""A translatable unit of a file, and how its translation is written into the file.

Parsers find units and the characters that their translations replace. The rest of a file is unchanged: it is never
serialized from a parsed form.

Markup inside a unit is represented by codes: each code is one private-use character (U+F1000 and up) of its text.
A protector (`text/protectors.py`) finds these characters, so that codes are protected spans of a translation.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import NamedTuple

from limelight.errors import UserError
from limelight.text.marking import CODES, FIRST_CODE, LAST_CODE, Role, mark_number, text_placeholder

MAX_UNIT = 100_000
"""Maximum characters of a unit."""
_SPLIT = re.compile(f"({CODES.pattern})")


class Options(NamedTuple):
    """What to translate in a file, and the codes of its languages."""

    source: str = ""
    target: str = ""
    everything: bool = False
    """In files with both sides, also translate segments that already have a translation."""


class FormatError(ValueError):
    """A file that is not in the format of its suffix, or is not supported."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line
        """The line is 0 if unknown."""


@contextmanager
def located(file: str) -> Iterator[None]:
    """Raise a `FormatError` as a `UserError` that names the file and the line."""
    try:
        yield
    except FormatError as error:
        where = f"{file}:{error.line}" if error.line else file
        raise UserError(f"{where}: {error.reason}") from None


class Code(NamedTuple):
    """Markup inside a unit."""

    raw: str
    role: Role = "alone"
    name: str = "code"
    """Equal for both codes of a pair."""
    begin: int = -1
    """Where it begins in the file if other units may be inside it; else -1."""


Parts = Sequence[str | Code]


class Splice(NamedTuple):
    """Replaces the characters of a file from `begin` to `end` (exclusive)."""

    begin: int
    end: int
    text: str | tuple[str | Code, ...]
    """A text, or parts whose codes may contain other splices."""


Write = Callable[[str], Iterable[Splice]]
"""Returns the splices for a translation of a unit."""


class Unit(NamedTuple):
    """A text to be translated."""

    text: str
    """Plain text with a character for each code."""
    codes: tuple[Code, ...]
    write: Write
    """Returns the splices for a translation, which has the same characters for codes."""
    line: int
    """The line of the file where it begins, from 1."""
    limits: Callable[[str], Iterable[str]] = lambda text: ()
    """Returns the reasons why a translation does not fit."""

    @property
    def kinds(self) -> tuple[tuple[Role, str], ...]:
        """The role and the name of each code."""
        return tuple((code.role, code.name) for code in self.codes)


class Kept(NamedTuple):
    """A string of a file that is not text, or not to be translated."""

    line: int
    text: str


def make_unit(parts: Parts, write: Write, line: int) -> Unit:
    """Make a unit from text and codes. Characters of the text that look like codes become codes themselves.

    Raises `FormatError` if it is too large.
    """
    codes, text = list[Code](), list[str]()
    for part in parts:
        for piece in [part] if isinstance(part, Code) else _SPLIT.split(part):
            if isinstance(piece, str) and not CODES.match(piece):
                text.append(piece)
            else:
                text.append(text_placeholder(len(codes)))
                codes.append(Code(piece) if isinstance(piece, str) else piece)
    joined = "".join(text)
    if len(joined) > MAX_UNIT or len(codes) > LAST_CODE - FIRST_CODE:
        raise FormatError(f"a segment of {len(joined):,} characters; the maximum is {MAX_UNIT:,}", line)
    return Unit(joined, tuple(codes), write, line)


def text_unit(text: str, write: Write, line: int) -> Unit:
    """Make a unit from text without markup. Raises `FormatError` if it is too large."""
    unit = make_unit([text], lambda new: write(with_codes(new, unit.codes)), line)
    return unit


def with_splices(units: list[Unit], splices: Sequence[Splice]) -> list[Unit]:
    """The units, each of which also writes `splices`; those are applied once, and not if all units stay as they are."""
    return [unit._replace(write=partial(lambda write, new: [*splices, *write(new)], unit.write)) for unit in units]


def parts_of(text: str, codes: Sequence[Code], escape: Callable[[str], str] = str) -> Iterator[str | Code]:
    """The inverse of `make_unit`, with the text escaped. A character that only looks like a code is text."""
    for piece in _SPLIT.split(text):
        if not CODES.match(piece):
            yield from [escape(piece)] if piece else []
        elif mark_number(piece) < len(codes):
            code = codes[mark_number(piece)]
            yield code.raw if CODES.match(code.raw) else code


def with_codes(text: str, codes: Sequence[Code], escape: Callable[[str], str] = str) -> str:
    """A translation as written to the file: its text escaped, its codes as in the source."""
    return "".join(part if isinstance(part, str) else part.raw for part in parts_of(text, codes, escape))


def has_words(text: str) -> bool:
    """Whether a text has a letter to translate."""
    return any(map(str.isalpha, text))


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Apply all splices to a text; equal splices are applied once. A splice inside another one is applied if it is
    inside one of its codes.

    Raises `ValueError` if two splices overlap.
    """
    ordered = sorted(dict.fromkeys(splices), key=lambda change: (change.begin, -change.end))
    begins = [change.begin for change in ordered]

    def changed(begin: int, end: int, first: int) -> str:
        """The text from `begin` to `end` with the splices from number `first` on."""
        parts, position = list[str](), begin
        for number in range(bisect_left(begins, begin, first), bisect_right(begins, end)):
            change = ordered[number]
            if change.begin == end < change.end:
                break
            if change.begin < position and change.end <= position:
                continue
            if change.begin < position or not change.begin <= change.end <= end:
                raise ValueError(f"splices overlap at {change.begin}")
            parts.append(text[position : change.begin])
            for part in [change.text] if isinstance(change.text, str) else change.text:
                if isinstance(part, str):
                    parts.append(part)
                elif part.begin < 0:
                    parts.append(part.raw)
                else:
                    parts.append(changed(part.begin, part.begin + len(part.raw), number + 1))
            position = change.end
        return "".join([*parts, text[position:end]])

    return changed(0, len(text), 0)


def rewritten(text: str, units: Iterable[Unit], translations: Iterable[str | None]) -> str:
    """The text of a file with translations of its units; a translation that is None or equal changes nothing."""
    return splice(
        text,
        [
            change
            for unit, new in zip(units, translations, strict=True)
            if new not in (None, unit.text)
            for change in unit.write(new or "")
        ],
    )


def line_at(text: str, position: int) -> int:
    """The line, from 1, of the character at a position of a file."""
    return bisect_right(_line_starts(text), position)


@lru_cache(1)
def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]
