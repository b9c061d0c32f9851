"""Signs that a text was decoded in a wrong encoding, or lost characters that an encoding did not have."""

from __future__ import annotations

import re

_LATER = (
    "\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c"
    "\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
"""What the second byte of a character in UTF-8 becomes in Windows-1252 or Latin-1."""
_SIGNS = (
    re.compile(
        f"[\u00c2\u00c3][\u0080-\u00bf\u20ac\u0192\u2020\u2021\u02c6\u2030\u0160\u0152\u017d\u02dc\u2122\u0161\u0153\u017e\u0178](?!\\w?\u00bb)|\u00e2(?:\u20ac[{_LATER}]|\u201a\u00ac)"
    ),
    re.compile(f"(?:[\u00c4\u00c5\u00d0\u00d1\u00ce\u00cf\u00d7\u00d8\u00d9][{_LATER}]){{2,}}"),
    re.compile("\ufffd|[\u0080-\u0084\u0086-\u009f]"),
    re.compile(r"(?<=[^\W\d_])\?{1,2}(?=[a-zà-ÿ]{2})(?<!=)"),
)
_ADDRESS = re.compile(r"\S*(?:://|www\.|[=&/]\w*\?|\?\w+=)\S*")


def encoding_damage(text: str) -> str:
    """The first damaged part of a text, such as `Ã¼`; empty if there is none.

    >>> encoding_damage("Das ist fÃ¼r dich")
    'Ã¼'
    """
    if text.isascii() and "?" not in text:
        return ""
    without = _ADDRESS.sub(" ", text)
    for sign in _SIGNS:
        if found := sign.search(without):
            return found[0]
    return ""
