"""Accelerators, a sign before the letter that activates an item of a menu: `&File`, `E&xit`."""

import re

from limelight.formats.unit import Code, Parts
from limelight.text.words import UNSPACED

MAX_LABEL = 60
"""Maximum number of characters of a text with an accelerator."""
_SIGN = re.compile(r"(?<![&\d])(?!(?<=[A-Za-z])&[A-Z])&(?=[A-Za-z])(?![A-Za-z]\w*;)")
_NO_LABEL = re.compile(r"[<>=?]|://")
_LETTER = re.compile(r"[{%$][\w{(%.}$)]*|([^\W\d_])")
"""A letter, but not inside a variable."""
_SHORT_CUT = re.compile(r"\t\S{1,30}\Z")


def label_parts(text: str) -> tuple[Parts, str]:
    """A label without the sign of its accelerator, and with its short cut as a code: `&Print` and `\\tCtrl+P`; and the
    letter behind the sign."""
    match = _SHORT_CUT.search(text)
    label, letter = without_accelerator(text[: match.start()] if match else text)
    return [label, Code(match[0])] if match else [label], letter


def without_accelerator(text: str) -> tuple[str, str]:
    """The text without the sign of its accelerator, and its letter; empty if there is none."""
    match = _SIGN.search(text)
    if match is None or len(text) > MAX_LABEL or _NO_LABEL.search(text) or text.count("&") > 1:
        return text, ""
    return text[: match.start()] + text[match.end() :], text[match.end()]


def with_accelerator(text: str, letter: str) -> str:
    """The text with an accelerator: before the same letter at the beginning of a word, or anywhere; else before its
    first letter; in brackets behind a text of letters that have no keys, such as Chinese. Without letters as it is."""
    letters = [match.start() for match in _LETTER.finditer(text) if match[1]]
    if not letter or not letters:
        return text
    same = [position for position in letters if text[position].casefold() == letter.casefold()]
    first = [position for position in same if not text[position - 1 : position].isalnum()]
    position = [*first, *same, *letters][0]
    if re.match(f"[{UNSPACED}\uac00-\ud7a3]", text[position]):
        return re.sub(r"(?=[\s.:…。：\U000f0000-\U000ffffd]*\Z)", f"(&{letter.upper()})", text, count=1)
    return f"{text[:position]}&{text[position:]}"
