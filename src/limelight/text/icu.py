"""Messages of ICU: where the texts of their branches are, and their apostrophes.

    {n, plural, =0 {no file} one {# file} other {# files}}

Branches are text, which may contain further messages; everything else is syntax. An apostrophe before a brace begins a
quotation, and two apostrophes stand for one.
"""

from __future__ import annotations

import re

from limelight.text.marking import MARK
from limelight.text.protectors import BRACES, pattern

MAX_NESTED = 6
"""Maximum nesting depth of messages whose branches are translated."""
_HEAD = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+\s*)?")
_SELECTOR = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_TAIL = re.compile(r"\s*\}")
_QUOTE = re.compile(rf"'(?=[{{}}#|']|{MARK.pattern})")

IN_BRANCHES = (pattern("#"), pattern("'[{}#|][^']*'"))
"""Additional protectors in a branch: the number and quotations."""


def branches(message: str) -> tuple[tuple[int, int], ...]:
    """Begin and end of the text of each branch; empty for a message without branches, or one that is not closed."""
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


def _closing(message: str, begin: int) -> int:
    """The place of the brace that closes the branch beginning at `begin`; -1 if there is none."""
    depth = 1
    for match in BRACES.finditer(message, begin):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return match.start()
    return -1


class Apostrophes:
    """How a message writes an apostrophe: doubled where it would begin a quotation, or always, as in Java."""

    def __init__(self, message: str) -> None:
        self._always = "''" in message

    def read(self, branch: str) -> str:
        """The text of a branch as people write it; quotations stay."""
        return branch.replace("''", "'")

    def write(self, marked: str) -> str:
        """A translation, with placeholders for all that is syntax, as the text of a branch."""
        return marked.replace("'", "''") if self._always else _QUOTE.sub("''", marked)
