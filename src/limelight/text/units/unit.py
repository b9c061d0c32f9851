"""A translatable unit of a file, and how its translation gets into the file.

Parsers find units and say which characters their translations replace. Nothing else of a file changes: it is never
written anew from what a parser understood of it.

The markup inside a unit is not part of its text. Each code is one private-use character there (U+F1000 and up), which
`code_protector` finds, so that codes are carried through a translation as other protected spans are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from limelight.text.protectors import CODES as CODES_NAME
from limelight.text.protectors import Found, Protector, Role

MAX_UNIT = 100_000
"""Characters of a unit that is translated."""
FIRST_CODE, LAST_CODE = 0xF1000, 0xFFFFD
CODES = re.compile(f"[{chr(FIRST_CODE)}-{chr(LAST_CODE)}]")
"""The character of a code."""


class FormatError(ValueError):
    """A file that is not what its name says, or that is not read."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line
        """The line is 0 where there is none."""


class Splice(NamedTuple):
    """Characters of a file from `begin` up to `end` become `text`."""

    begin: int
    end: int
    text: str


class Code(NamedTuple):
    """Markup inside a unit."""

    raw: str
    role: Role = "alone"
    name: str = "code"
    """The same for both codes of a pair."""
    place: int = -1
    """Where it is in the file, if units may be within it."""


Parts = Sequence[str | Code]


class Unit(NamedTuple):
    """A text to be translated."""

    text: str
    """Plain text with a character for each code."""
    codes: tuple[Code, ...]
    write: Callable[[str], Iterable[Splice]]
    """What replaces what, for a translation with the same characters for codes."""
    line: int
    """Where it begins in the file, from 1."""


def make_unit(parts: Parts, write: Callable[[str], Iterable[Splice]], line: int) -> Unit:
    """A unit of text and codes. Characters of the text that would be read as codes become codes of themselves.

    Raises `FormatError` for one that is too large.
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
        raise FormatError(f"a segment of {len(whole):,} characters; at most {MAX_UNIT:,} are translated", line)
    return Unit(whole, tuple(codes), write, line)


def with_codes(text: str, codes: Sequence[Code], escape: Callable[[str], str] = str) -> str:
    """A translation as it stands in the file: its text escaped, its codes as they were."""
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


def is_code(text: str) -> bool:
    """Whether a text is the character of a code."""
    return CODES.fullmatch(text) is not None


def show_codes(text: str, codes: Sequence[Code]) -> str:
    """A text with codes for people."""
    return with_codes(text, codes)


def has_words(text: str) -> bool:
    """Whether there is a letter to translate."""
    return any(character.isalpha() for character in text)


def splice(text: str, splices: Iterable[Splice]) -> str:
    """The text with all replacements; the same one given twice is done once. What is within another one belongs to that
    (`with_inner`).

    Raises `ValueError` where two of them overlap.
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
    """The text of a file with translations of its units; None, or the unit's own text, changes nothing."""
    given = zip(units, translations, strict=True)
    return splice(text, [each for unit, new in given if new not in (None, unit.text) for each in unit.write(new or "")])


def with_inner(codes: Sequence[Code], inner: Iterable[Splice]) -> tuple[Code, ...]:
    """Codes in which other units are, with the replacements of these."""
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
    """The numbers of lines by place, looked up in any order."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, place: int) -> int:
        """The line, from 1, that a character is in."""
        return bisect_right(self._starts, place)


def _own_codes(text: str) -> Iterator[str | Code]:
    place = 0
    for match in CODES.finditer(text):
        yield text[place : match.start()]
        yield Code(match[0])
        place = match.end()
    yield text[place:]
