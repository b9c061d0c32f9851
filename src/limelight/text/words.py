"""Words of a text, in scripts with and without spaces between words; tables of words; replacing parts of a text."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
)
_KANA = "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"
_BOPOMOFO = "\u3100-\u312f\u31a0-\u31bf"
_WIDE = "\u3001-\u303f\u3200-\u33ff\uff01-\uff65"
"""Punctuation, signs and full-width letters of these scripts."""
# Thai, Lao, Tibetan, Myanmar, Khmer, New Tai Lue and Khmer symbols, Tai Tham, Balinese, Javanese, and extensions.
_SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e5b\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1980-\u19ff\u1a20-\u1aaf"
    "\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf"
)
SOLID = f"{_HAN}{_KANA}{_BOPOMOFO}{_WIDE}"
"""Characters of scripts without spaces between words and sentences, for a character class of a regular expression."""
UNSPACED = f"{_SOUTH_EAST_ASIAN}{SOLID}"
"""Characters of scripts without spaces between words, likewise."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_DENSE = re.compile(f"[{_HAN}{_KANA}]")


@cache
def read_table(name: str) -> list[tuple[str, str]]:
    """The rows `key: values` of a file of words in `text/data`."""
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return [(key, values) for key, _, values in (line.partition(":") for line in text.splitlines())]


def replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text with changes: begin and end of a part, and the text in its place, in order and without overlaps."""
    parts, position = list[str](), 0
    for begin, end, new in changes:
        parts += [text[position:begin], new]
        position = end
    return "".join([*parts, text[position:]])


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words, its punctuation included.

    Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan and their relatives; not Korean, which has spaces.
    """
    return _UNSPACED.match(character) is not None


def comparable_length(text: str) -> int:
    """The number of characters; one of Chinese or Japanese counts as three, because it says as much."""
    return len(text) + (0 if text.isascii() else 2 * len(_DENSE.findall(text)))


COMBINING = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u3099\u309a\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f71-\u0f84\u0f86\u0f87"
    "\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f"
    "\u109a-\u109d\u17b4-\u17d3\u17dd"
)
"""Vowel signs and other combining marks, which Python's \\w does not match."""
EXTENDING = rf"{COMBINING}\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""Characters that belong to the one before: combining marks, variation selectors, skin tones and tags."""
_INSIDE = rf"[^\W_{UNSPACED}][{COMBINING}]*"
_WORD = re.compile(
    r"\d+(?:[.,:]\d+)+"  # 1,000.50 and 14:30
    rf"|(?:{_INSIDE})+(?:-(?:{_INSIDE})+)*(?:['’](?:{_INSIDE}){{1,2}}(?!\w))?"  # e-mail, don't, Tom's; not l'homme
    rf"|(?!\W)[{UNSPACED}][{COMBINING}]*"  # each letter of a script without spaces
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
