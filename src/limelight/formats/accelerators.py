"""Accelerators, a sign before the letter that activates an item of a menu: `&File`, `E&xit`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from limelight.formats.unit import Code, Parts

MAX_LABEL = 60
"""Maximum number of characters of a text with an accelerator."""
_PATTERNS = {
    "&": re.compile(r"(?<![&\d])(?!(?<=[A-Z])&[A-Z])&(?=[A-Za-z])(?![A-Za-z]\w*;)"),
    "_": re.compile(r"(?<!\S)_(?=[A-Za-z])|(?<=\b[A-Z])_(?=[a-z])|(?<=[a-z])_(?=[a-z](?!\w))"),
}
"""By sign. That of GTK is at the beginning of a word, behind its first letter, or before its last one."""
_LABEL = re.compile(r"[^\W\d_]*[A-Z]|_[A-Z]")
"""How a text with the sign of GTK begins: `_name` and `file_name` are names."""
_NO_LABEL = re.compile(r"[<>=?]|://")
_LETTER = re.compile(r"[{%$][\w{(%.}$)]*|([^\W\d_])")
"""A letter, but not inside a variable."""
_SHORT_CUT = re.compile(r"\t\S{1,30}\Z")


class Accelerator(NamedTuple):
    """The sign of an accelerator, and its letter; both are empty if there is none."""

    sign: str = ""
    letter: str = ""


def label_parts(text: str, signs: str = "&_", escape: Callable[[str], str] = str) -> tuple[Parts, Accelerator]:
    """A label without the sign of its accelerator, and with its short cut as a code: `&Print` and `\\tCtrl+P`."""
    match = _SHORT_CUT.search(text)
    label, accelerator = without_accelerator(text[: match.start()] if match else text, signs)
    return [label, Code(escape(match[0]))] if match else [label], accelerator


def without_accelerator(text: str, signs: str = "&_") -> tuple[str, Accelerator]:
    """The text without the sign of its accelerator."""
    if len(text) > MAX_LABEL or _NO_LABEL.search(text):
        return text, Accelerator()
    for sign in signs:
        match = _PATTERNS[sign].search(text)
        if match and text.count(sign) == 1 and (sign == "&" or _LABEL.match(text)):
            return text[: match.start()] + text[match.end() :], Accelerator(sign, text[match.end()])
    return text, Accelerator()


def with_accelerator(text: str, accelerator: Accelerator) -> str:
    """The text with an accelerator: before the same letter at the beginning of a word, or anywhere; else before its
    first letter."""
    sign, letter = accelerator
    if not sign:
        return text
    letters = [match.start() for match in _LETTER.finditer(text) if match[1]]
    same = [place for place in letters if text[place].casefold() == letter.casefold()]
    first = [place for place in same if not text[place - 1 : place].isalnum()]
    place = [*first, *same, *letters, len(text)][0]
    return f"{text[:place]}{sign}{text[place:]}"
