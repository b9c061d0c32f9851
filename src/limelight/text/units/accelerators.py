"""Accelerators: a sign before the letter that activates an item of a menu, as in `&File` and `E&xit`."""

from __future__ import annotations

import re

MAX_LABEL = 60
"""Maximum number of characters of a text with an accelerator."""
_ACCELERATOR = re.compile(r"(?<![&\d])(?!(?<=[A-Z])&[A-Z])&(?=[A-Za-z])(?![A-Za-z]\w*;)")
_NO_LABEL = re.compile(r"[<>=?]|://")
_LETTER = re.compile(r"[^\W\d_]")
_VARIABLE = re.compile(r"[{%$][\w{(%.}$)]*")


def without_accelerator(text: str) -> tuple[str, str]:
    """The text without the sign of its accelerator, and its letter; empty if there is none."""
    match = _ACCELERATOR.search(text)
    if match is None or text.count("&") > 1 or len(text) > MAX_LABEL or _NO_LABEL.search(text):
        return text, ""
    return text[: match.start()] + text[match.end() :], text[match.end()]


def with_accelerator(text: str, letter: str) -> str:
    """The text with an accelerator: before the same letter at the beginning of a word, or anywhere; else before its
    first letter."""
    if not letter:
        return text
    kept = [match.span() for match in _VARIABLE.finditer(text)]
    letters = [match for match in _LETTER.finditer(text) if not any(b <= match.start() < e for b, e in kept)]
    same = [match.start() for match in letters if match[0].casefold() == letter.casefold()]
    first = [place for place in same if not text[place - 1 : place].isalnum()]
    places = first or same or [match.start() for match in letters[:1]] or [len(text)]
    return f"{text[: places[0]]}&{text[places[0] :]}"
