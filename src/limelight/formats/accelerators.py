"""Accelerators, a sign before the letter that activates an item of a menu: `&File`, `E&xit`, in GTK `_File`."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LABEL = 60
"""Maximum number of characters of a text with an accelerator."""
_ACCELERATOR = re.compile(r"(?<![&\d])(?!(?<=[A-Z])&[A-Z])&(?=[A-Za-z])(?![A-Za-z]\w*;)")
_OF_GTK = re.compile(r"(?<!\S)_(?=[A-Za-z])|(?<=\b[A-Z])_(?=[a-z])|(?<=[a-z])_(?=[a-z](?!\w))")
"""At the beginning of a word, behind its first letter, or before its last one."""
_LABEL = re.compile(r"[^\W\d_]*[A-Z]|_[A-Z]")
"""How a text with the sign of GTK begins: `_name` and `file_name` are names."""
_NO_LABEL = re.compile(r"[<>=?]|://")
_LETTER = re.compile(r"[^\W\d_]")
_VARIABLE = re.compile(r"[{%$][\w{(%.}$)]*")
_SHORT_CUT = re.compile(r"\t\S{1,30}\Z")


class Accelerator(NamedTuple):
    """The sign of an accelerator, and its letter; both are empty if there is none."""

    sign: str = ""
    letter: str = ""


def divide_label(text: str) -> tuple[str, str]:
    """The text of a label, and its short cut with the TAB before it: `&Print` and `\\tCtrl+P`."""
    match = _SHORT_CUT.search(text)
    return (text[: match.start()], match[0]) if match else (text, "")


def without_accelerator(text: str, signs: str = "&_") -> tuple[str, Accelerator]:
    """The text without the sign of its accelerator."""
    if len(text) > MAX_LABEL or _NO_LABEL.search(text):
        return text, Accelerator()
    for sign, pattern in (("&", _ACCELERATOR), ("_", _OF_GTK))[: len(signs)]:
        match = pattern.search(text)
        if match and text.count(sign) == 1 and (sign == "&" or _LABEL.match(text)):
            return text[: match.start()] + text[match.end() :], Accelerator(sign, text[match.end()])
    return text, Accelerator()


def with_accelerator(text: str, accelerator: Accelerator) -> str:
    """The text with an accelerator: before the same letter at the beginning of a word, or anywhere; else before its
    first letter."""
    sign, letter = accelerator
    if not sign:
        return text
    kept = [match.span() for match in _VARIABLE.finditer(text)]
    letters = [match for match in _LETTER.finditer(text) if not any(b <= match.start() < e for b, e in kept)]
    same = [match.start() for match in letters if match[0].casefold() == letter.casefold()]
    first = [place for place in same if not text[place - 1 : place].isalnum()]
    places = first or same or [match.start() for match in letters[:1]] or [len(text)]
    return f"{text[: places[0]]}{sign}{text[places[0] :]}"
