"""Word boundaries of a text, for word alignments."""

import re

from limelight.text.scripts import UNSPACED

# Vowel signs and other combining marks, which Python's \w does not match.
_SIGNS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u3099\u309a"
)
_INSIDE = rf"[^\W_{UNSPACED}][{_SIGNS}]*"
_WORD = re.compile(
    r"\d+(?:[.,:]\d+)+"  # 1,000.50 and 14:30
    rf"|(?:{_INSIDE})+(?:-(?:{_INSIDE})+)*(?:['’](?:{_INSIDE}){{1,2}}(?!\w))?"  # e-mail, don't, Tom's; not l'homme
    rf"|(?!\W)[{UNSPACED}][{_SIGNS}]*"  # each letter of a script without spaces
)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Begin and end of each word in characters. A letter of a script without spaces is a word; punctuation is not."""
    return [match.span() for match in _WORD.finditer(text)]


_WORD_OR_SIGN = re.compile(rf"(?:{_WORD.pattern})|\S")


def words_and_signs(text: str) -> list[str]:
    """The words of a text and each of its other characters but white space, in order."""
    return _WORD_OR_SIGN.findall(text)


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return _WORD.findall(text)
