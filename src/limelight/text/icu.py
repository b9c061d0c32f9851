"""Messages of ICU: where the texts of their branches are, and their apostrophes.

    {n, plural, =0 {no file} one {# file} other {# files}}

Branches are text, which may contain further messages; everything else is syntax. An apostrophe before a brace begins a
quotation, and two apostrophes stand for one. The variants of a select of Fluent are branches, too:

    { $count ->
        [one] One file
       *[other] { $count } files
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from limelight.text.marking import MARK
from limelight.text.protectors import BRACES, FLUENT, pattern

MAX_NESTED = 6
"""Maximum nesting depth of messages whose branches are translated."""
_HEAD = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+\s*)?")
_SELECTOR = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_TAIL = re.compile(r"\s*\}")
_KEY = r"\s\*?\[\s*[\w.-]+\s*\]\s*"
_VARIANT, _VARIANT_OF_LINE = re.compile(_KEY), re.compile(rf"\n[ \t]*{_KEY.removeprefix(chr(92) + 's')}")
"""What precedes the text of a variant of Fluent, in one line and where each has its own."""
_QUOTE = re.compile(rf"'(?=[{{}}#|']|{MARK.pattern})")

IN_BRANCHES = (pattern("#"), pattern("'[{}#|][^']*'"))
"""Additional protectors in a branch: the number and quotations."""


def branches(message: str) -> tuple[tuple[int, int], ...]:
    """Begin and end of the text of each branch; empty for a message without branches, or one that is not closed."""
    fluent = FLUENT.match(message)
    if fluent:
        return tuple(_variants(message, fluent.end()))
    head = _HEAD.match(message)
    place, found = head.end() if head else 0, list[tuple[int, int]]()
    while head and (selector := _SELECTOR.match(message, place)):
        end = _closing(message, selector.end())
        if end < 0:
            return ()
        found.append((selector.end(), end))
        place = end + 1
    tail = _TAIL.match(message, place)
    return tuple(found) if tail and tail.end() == len(message) else ()


def _variants(message: str, place: int) -> Iterator[tuple[int, int]]:
    """Begin and end of the text of each variant of Fluent after `place`."""
    key = _VARIANT_OF_LINE if "\n" in message else _VARIANT
    keys, end = [match.span() for match in key.finditer(message, place)], _closing(message, place)
    inner = [span for span in _nested(message, place) if span[1] <= end]
    keys = [span for span in keys if span[0] < end and not any(first < span[0] < last for first, last in inner)]
    for (_, begin), (until, _) in pairwise([*keys, (end, end)]):
        yield begin, begin + len(message[begin:until].rstrip())


def _nested(message: str, begin: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each pair of braces after a place that is in no other such pair."""
    while (opening := message.find("{", begin)) >= 0 and (end := _closing(message, opening + 1)) >= 0:
        yield opening, end
        begin = end


def _closing(message: str, begin: int) -> int:
    """The place of the brace that closes the branch beginning at `begin`; -1 if there is none."""
    depth = 1
    for match in BRACES.finditer(message, begin):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return match.start()
    return -1


class Apostrophes:
    """How a message writes an apostrophe: doubled where it would begin a quotation, or always, as in Java; in Fluent it
    is no syntax."""

    def __init__(self, message: str) -> None:
        self._never = FLUENT.match(message) is not None
        self._always = "''" in message

    def read(self, branch: str) -> str:
        """The text of a branch as people write it; quotations stay."""
        return branch if self._never else branch.replace("''", "'")

    def write(self, marked: str) -> str:
        """A translation, with placeholders for all that is syntax, as the text of a branch."""
        if self._never:
            return marked
        return marked.replace("'", "''") if self._always else _QUOTE.sub("''", marked)
