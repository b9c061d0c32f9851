"""Sentences of bounded length: what is longer is divided.

An encoder takes a whole sentence in one step, in time and memory that grow with its square, and nothing can end that
step. Text without the end of a sentence (a list, base64, emoji) is one sentence of any length, so it is divided: at
punctuation, else at spaces, else between two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from limelight.text.sentences import Sentences

Fits = Callable[[str], bool]
"""Whether a text is short enough for a sentence."""

MAX_TOKENS = 512
"""Maximum number of tokens of a sentence, without its end."""
MAX_BYTES = 4 * MAX_TOKENS
"""Maximum number of bytes, in UTF-8, of a sentence that is divided where its tokens are not known."""
COUNTED = 2 * MAX_BYTES
"""A longer text is divided without counting its tokens."""

MAX_JOINED = 16
"""Characters that are looked at for the end of a character that consists of several."""

_CLAUSE = re.compile(r"[,;:.!?…]\s+|[，、；：。！？]\s*")
_SPACE = re.compile(r"\s+")
_JOINS = "\u200d\ufe0e\ufe0f"
"""A zero-width joiner and variation selectors: they belong to the character before."""


def is_short(text: str) -> bool:
    """Whether a text has at most `MAX_BYTES`."""
    return len(text) <= MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) <= MAX_BYTES


def with_short(sentences: Sentences, fits: Fits) -> Sentences:
    """The same with each sentence that does not fit divided into several; they join to the same text."""
    texts, gaps = list[str](), [sentences.gaps[0]]
    for text, gap in zip(sentences.texts, sentences.gaps[1:], strict=True):
        place = 0
        for begin, end in divided(text, fits):
            if place:
                gaps.append(text[place:begin])
            texts.append(text[begin:end])
            place = end
        gaps.append(text[place:] + gap)
    return Sentences(tuple(texts), tuple(gaps))


def divided(text: str, fits: Fits) -> Iterator[tuple[int, int]]:
    """Begin and end of each part of a text, without white space between them. `fits` sees at most `COUNTED` characters
    at a time, and a single character always fits."""
    waiting = [(0, len(text))]
    while waiting:
        begin, end = waiting.pop()
        part = text[begin:end]
        if len(part) <= 1 or (len(part) <= COUNTED and fits(part)):
            yield begin, end
            continue
        before, after = _cut(part)
        waiting += [(begin + after, end), (begin, begin + before)]


def _cut(text: str) -> tuple[int, int]:
    """The end of the first part of a text, and the begin of the second one: near its middle, with punctuation at the
    end of the first part if there is any within a quarter of the text, else at the nearest white space."""
    size, middle = len(text), len(text) // 2
    found = _nearest(_CLAUSE, text, size // 4, size - size // 4) or _nearest(_SPACE, text, 0, size)
    if found is not None:
        return len(text[:found].rstrip()), size - len(text[found:].lstrip())
    place = middle
    while place < size - 1 and place < middle + MAX_JOINED and _continues(text[place - 1], text[place]):
        place += 1
    return place, place


def _nearest(pattern: re.Pattern[str], text: str, begin: int, end: int) -> int | None:
    """The end of the match between two places that is nearest to the middle of the text, with text on both sides."""
    first, last, middle = len(text) - len(text.lstrip()), len(text.rstrip()), len(text) // 2
    matches = (each for each in pattern.finditer(text, begin, end) if each.start() > first and each.end() < last)
    return min((each.end() for each in matches), key=lambda place: abs(place - middle), default=None)


def _continues(before: str, character: str) -> bool:
    """Whether a character belongs to the one before: a combining mark, a variation, the rest of an emoji."""
    modifier = "\U0001f3fb" <= character <= "\U0001f3ff"
    return character in _JOINS or before == "\u200d" or modifier or unicodedata.combining(character) > 0
