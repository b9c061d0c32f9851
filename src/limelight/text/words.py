"""Words of a text, in scripts with and without spaces between words; tables of words; replacing parts of a text."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from unicodedata import category, combining, normalize

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
TERMINATORS = ".!?\u0589\u061f\u06d4\u07f9\u0964\u0965\u0f0d\u104b\u1362\u1367\u166e\u17d4\u1803\u1c7e。！？"
"""Signs that end a sentence, of scripts in use (Unicode's Sentence_Terminal, and the Tibetan shad)."""
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


def followed(text: str, sentence: str) -> str:
    """Both sentences; no space follows a Chinese or Japanese full stop."""
    return text + " " * (not text.endswith(tuple("。！？"))) + sentence


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


COMBINING = "".join(
    character
    for character in map(chr, range(0x300, 0x10000))
    if category(character)[0] == "M" and not re.match("[\u20d0-\u20ff\ufe00-\ufe0f]", character)
) + (  # and two vowels that Unicode counts as letters, and the marks of scripts in use beyond these
    "\u0e33\u0eb3\U00010d24-\U00010d27\U00011100-\U00011102\U00011127-\U00011134\U00011145\U00011146\U00011173"
    "\U00011435-\U00011446\U0001145e\U000114b0-\U000114c3\U00011d31-\U00011d45\U00011d47\U00011d8a-\U00011d97"
    "\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016f4f\U00016f51-\U00016f92\U0001e130-\U0001e136\U0001e2ae"
    "\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a"
)
"""Vowel signs and other combining marks of scripts in use, which Python's \\w does not match."""
EXTENDING = rf"{COMBINING}\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
"""Characters that belong to the one before: combining marks, variation selectors, skin tones and tags."""
LETTER = rf"(?:(?!_)[\w{COMBINING}\u200d])"
"""A letter, a digit, or a mark or joiner of a word, for a regular expression."""
_SPACED, _MARKS = rf"[^\W_{UNSPACED}]", rf"[{COMBINING}\u200d]*"
_RUN = rf"(?:{_SPACED}+{_MARKS})+"
"""Letters and their marks; several letters at once, as one after another takes twice as long."""
_WORD = re.compile(
    r"\d+(?:[.,:]\d+)+"  # 1,000.50 and 14:30
    rf"|{_RUN}(?:-{_RUN})*(?:['’](?:{_SPACED}{_MARKS}){{1,2}}(?!\w))?"  # e-mail, don't, Tom's; not l'homme
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
