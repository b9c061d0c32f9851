"""A translatable unit of a file, and how its translation is written into the file.

Parsers find units and the characters that their translations replace. The rest of a file is unchanged: it is never
serialized from a parsed form.

Markup inside a unit is represented by codes: each code is one private-use character (U+F1000 and up) of its text.
`code_protector` finds these characters, so that codes are protected spans of a translation.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from limelight.text.marking import CODES, FIRST_CODE, LAST_CODE
from limelight.text.notations import CODES as CODES_NAME
from limelight.text.notations import Found, Protector, Role

MAX_UNIT = 100_000
"""Maximum characters of a unit."""


class FormatError(ValueError):
    """A file that is not in the format of its suffix, or is not supported."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line
        """The line is 0 if unknown."""


class Splice(NamedTuple):
    """Replaces the characters of a file from `begin` to `end` (exclusive) by `text`."""

    begin: int
    end: int
    text: str


class Code(NamedTuple):
    """Markup inside a unit."""

    raw: str
    role: Role = "alone"
    name: str = "code"
    """Equal for both codes of a pair."""
    place: int = -1
    """Its place in the file if other units may be inside it; else -1."""


Parts = Sequence[str | Code]
Limits = Callable[[str], Iterable[str]]


class Unit(NamedTuple):
    """A text to be translated."""

    text: str
    """Plain text with a character for each code."""
    codes: tuple[Code, ...]
    write: Callable[[str], Iterable[Splice]]
    """Returns the splices for a translation, which has the same characters for codes."""
    line: int
    """The line of the file where it begins, from 1."""
    limits: Limits = lambda text: ()
    """Returns the reasons why a translation does not fit."""

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate."""
        return has_words(self.text)


class Kept(NamedTuple):
    """A string of a file that is not text, or not to be translated."""

    line: int
    text: str


def make_unit(
    parts: Parts, write: Callable[[str], Iterable[Splice]], line: int, limits: Limits = lambda text: ()
) -> Unit:
    """Make a unit from text and codes. Characters of the text that look like codes become codes themselves.

    Raises `FormatError` if it is too large.
    """
    codes, text = list[Code](), list[str]()
    for part in parts:
        for piece in [part] if isinstance(part, Code) else _own_codes(part):
            if isinstance(piece, Code):
                text.append(chr(FIRST_CODE + len(codes)))
                codes.append(piece)
            else:
                text.append(piece)
    whole = "".join(text)
    if len(whole) > MAX_UNIT or len(codes) > LAST_CODE - FIRST_CODE:
        raise FormatError(f"a segment of {len(whole):,} characters; the maximum is {MAX_UNIT:,}", line)
    return Unit(whole, tuple(codes), write, line, limits)


def with_first(units: list[Unit], splices: Sequence[Splice]) -> list[Unit]:
    """The units, where the first one also writes `splices`."""
    if not (units and splices):
        return units
    first, *others = units
    return [first._replace(write=lambda new: [*splices, *first.write(new)]), *others]


def with_codes(text: str, codes: Sequence[Code], escape: Callable[[str], str] = str) -> str:
    """A translation as written to the file: its text escaped, its codes as in the source."""
    return "".join(
        piece if isinstance(piece, str) else piece.raw
        for piece in (escape(part) if isinstance(part, str) else part for part in parts_of(text, codes))
    )


def parts_of(text: str, codes: Sequence[Code]) -> Iterator[str | Code]:
    """The inverse of `make_unit`."""
    place = 0
    for match in CODES.finditer(text):
        number = ord(match[0]) - FIRST_CODE
        if text[place : match.start()]:
            yield text[place : match.start()]
        if number < len(codes):
            yield codes[number]
        place = match.end()
    if text[place:]:
        yield text[place:]


def code_protector(codes: Sequence[Code]) -> Protector:
    """The protector that finds the codes of a unit."""

    def find(text: str) -> Iterator[Found]:
        for match in CODES.finditer(text):
            number = ord(match[0]) - FIRST_CODE
            if number < len(codes):
                yield Found(*match.span(), codes[number].role, codes[number].name)

    return Protector(CODES_NAME, find)


def has_words(text: str) -> bool:
    """Whether a text has a letter to translate."""
    return any(character.isalpha() for character in text)


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Apply all splices to a text; equal splices are applied once. Splices inside another one must be applied to that
    first (`with_inner`).

    Raises `ValueError` if two splices overlap.
    """
    parts, place = list[str](), 0
    for begin, end, new in sorted(dict.fromkeys(splices), key=lambda each: (each.begin, -each.end)):
        if begin < place and end <= place:
            continue
        if begin < place or end < begin:
            raise ValueError(f"splices overlap at {begin}")
        parts += [text[place:begin], new]
        place = end
    return "".join([*parts, text[place:]])


def rewritten(text: str, units: Iterable[Unit], translations: Iterable[str | None]) -> str:
    """The text of a file with translations of its units; a translation that is None or equal changes nothing."""
    given = zip(units, translations, strict=True)
    return splice(text, [each for unit, new in given if new not in (None, unit.text) for each in unit.write(new or "")])


def with_inner(codes: Sequence[Code], inner: Iterable[Splice]) -> tuple[Code, ...]:
    """The codes with the splices of other units inside them applied."""
    if all(code.place < 0 for code in codes):
        return tuple(codes)
    found = sorted(inner, key=lambda each: each.begin)
    begins = [each.begin for each in found]

    def changed(code: Code) -> Code:
        first, last = bisect_left(begins, code.place), bisect_right(begins, code.place + len(code.raw))
        splices = [
            Splice(begin - code.place, end - code.place, new)
            for begin, end, new in found[first:last]
            if end <= code.place + len(code.raw)
        ]
        return code._replace(raw=splice(code.raw, splices)) if splices else code

    return tuple(code if code.place < 0 else changed(code) for code in codes)


class Lines:
    """Converts places in a text to line numbers."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, place: int) -> int:
        """The line, from 1, of the character at a place."""
        return bisect_right(self._starts, place)


def _own_codes(text: str) -> Iterator[str | Code]:
    place = 0
    for match in CODES.finditer(text):
        yield text[place : match.start()]
        yield Code(match[0])
        place = match.end()
    yield text[place:]
