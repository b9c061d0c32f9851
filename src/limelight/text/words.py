"""Words of a text, in scripts with and without spaces between words; tables of words; replacing parts of a text."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from unicodedata import combining, normalize

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


def without_accents(text: str) -> str:
    """The text without accents and umlauts."""
    return "".join(character for character in normalize("NFD", text) if not combining(character))


def comparable_length(text: str) -> int:
    """The number of characters; one of Chinese or Japanese counts as three, because it says as much."""
    return len(text) + (0 if text.isascii() else 2 * len(_DENSE.findall(text)))


COMBINING = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0970-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u3099\u309a\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e\u0f3f\u0f71-\u0f84\u0f86\u0f87"
    "\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f"
    "\u109a-\u109d\u17b4-\u17d3\u17dd"
    "\u0610-\u061a\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u08ca-\u08e1\u08e3-\u08ff\u135d-\u135f\u1712-\u1715\u1732-\u1734\u1752\u1753\u1772\u1773\u1920-\u193b\u1a17-\u1a1b"
    "\u1a55-\u1a7f\u1ab0-\u1ace\u1b00-\u1b04\u1b34-\u1b44\u1b80-\u1b82\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37"
    "\u1dc0-\u1dff\ua802\ua806\ua80b\ua823-\ua827\ua82c\ua880\ua881\ua8b4-\ua8c5\ua926-\ua92d\ua947-\ua953"
    "\ua980-\ua983\ua9b3-\ua9c0\ua9e5\uaa29-\uaa36\uaa43\uaa4c\uaa4d\uaa7b-\uaa7d\uaab0\uaab2-\uaab4\uaab7\uaab8"
    "\uaabe\uaabf\uaac1\uaaeb-\uaaef\uaaf5\uaaf6\uabe3-\uabea\uabec\uabed\U00010d24-\U00010d27\U00011100-\U00011102"
    "\U00011127-\U00011134\U00011145\U00011146\U00011435-\U00011446\U000114b0-\U000114c3\U0001e944-\U0001e94a"
)
"""Vowel signs and other combining marks of scripts in use, which Python's \\w does not match."""
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
