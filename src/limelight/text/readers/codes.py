"""Inline codes of a pair: codes on both sides become the same placeholder, all others are removed.

Files of translations have codes inside their texts: tags, variables, line breaks. Here a text is a list of strings and
codes; it is converted to marked text (see `text/marks.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from limelight.text.marks import MAX_PLACEHOLDERS, has_marks, placeholder


class Code(NamedTuple):
    """An inline code."""

    key: str
    """Identifies the code: equal on both sides, and equal for both tags of a pair."""
    role: Literal["alone", "open", "close"] = "alone"


Parts = Sequence["str | Code"]
"""A text with codes in it."""

_Key = tuple[str, str, int]
_LINE_ENDS = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")


def plain_text(parts: Parts) -> str:
    """The text on one line, without its codes."""
    return _text(parts, {})


def marked_sides(source: Parts, target: Parts) -> tuple[str, str, bool]:
    """Both texts on one line each, and whether they have marks.

    Placeholders are numbered from 0 in the order of the source. The n-th code with a key on one side matches the n-th
    on the other. If only one tag of a pair is on both sides, both tags are removed. If there are more shared codes than
    placeholders, or the texts have characters that would be interpreted as marks, all codes are removed.
    """
    keys = _keys(source), _keys(target)
    shared = set(keys[0]) & set(keys[1])
    shared -= {key for key in shared if _lost_half(key, keys, shared)}
    own_marks = any(isinstance(part, str) and has_marks(part) for part in (*source, *target))
    if not 0 < len(shared) <= MAX_PLACEHOLDERS or own_marks:
        return plain_text(source), plain_text(target), False
    ordered = [key for key in keys[0] if key in shared]
    marks = {key: placeholder(number) for number, key in enumerate(ordered)}
    return _text(source, marks), _text(target, marks), True


def _keys(parts: Parts) -> list[_Key]:
    """For each code its key, its role, and the number of equal codes before it."""
    seen: Counter[tuple[str, str]] = Counter()
    found: list[_Key] = []
    for part in parts:
        if isinstance(part, Code):
            found.append((part.key, part.role, seen[part]))
            seen[part] += 1
    return found


def _lost_half(key: _Key, keys: tuple[list[_Key], list[_Key]], shared: set[_Key]) -> bool:
    """Whether exactly one side has the other tag of the pair."""
    name, role, count = key
    if role == "alone":
        return False
    other = (name, "close" if role == "open" else "open", count)
    return other not in shared and any(other in side for side in keys)


def _text(parts: Parts, marks: Mapping[_Key, str]) -> str:
    codes = iter(_keys(parts))
    pieces: list[str] = []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            pieces.append(part)
            continue
        mark = marks.get(next(codes), "")
        between_words = part.role == "alone" and _ends_in_word(parts[:place]) and _begins_with_word(parts[place + 1 :])
        pieces.append(mark or " " * between_words)
    return _LINE_ENDS.sub(" ", "".join(pieces)).strip(" ")


def _ends_in_word(parts: Parts) -> bool:
    before = next((part for part in reversed(parts) if part), "")
    return isinstance(before, str) and before[-1:].isalnum()


def _begins_with_word(parts: Parts) -> bool:
    after = next((part for part in parts if part), "")
    return isinstance(after, str) and after[:1].isalnum()
