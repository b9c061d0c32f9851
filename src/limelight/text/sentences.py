"""Split a text into sentences, and join their translations again.

A sentence ends at each line break, and where sentencex finds an end within a line. White space between sentences and
list marks are kept: `join` of the unchanged sentences is the original text. Where sentencex takes an ordinal or an
initial for the end of a sentence, the parts are joined again.

An encoder takes a whole sentence in one step, in time and memory that grow with its square, and nothing can end that
step. Text without the end of a sentence (a list, base64, emoji) is one sentence of any length, so it is divided: at
punctuation, else at spaces, else between two characters.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from limelight.text.languages import normal_code
from limelight.text.words import EXTENDING, SOLID, TERMINATORS, UNSPACED

_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+•‣◦–—]|\d{1,3}[.)]|[a-z]\.(?!\s+\w{1,2}\.)|[A-Za-z]\)|#{1,6})\s+)*(?=\S)")
_SOLID, _UNSPACED = (re.compile(f"[{characters}]") for characters in (SOLID, UNSPACED))
_SURROGATE = re.compile("[\ud800-\udfff]")
_INITIALS = re.compile(r"\s*(?:[^\W\d_]\.\s*){1,10}")
_ORDINAL = re.compile(r"(?<![\d.,:])(?:\d{1,2}|[IVX]{1,6})\.\s*$")
_SIGN = re.compile(r"(?:\A|[\s`])\.\Z")
WINDOW = 2000
"""Characters of a line that sentencex sees at a time. It takes quadratic time for a line without spaces (a second for
50,000 characters of Chinese), and other threads wait meanwhile."""


class Sentences(NamedTuple):
    """The sentences of a text, and the text before, between and after them."""

    texts: tuple[str, ...]
    gaps: tuple[str, ...]
    """White space, line breaks and list marks; one more than `texts`."""

    def join(self, texts: Sequence[str]) -> str:
        """Join the translations of the sentences with the original gaps. Where only one of the languages has spaces
        between sentences, a gap becomes a space or none. Raises `ValueError` for another number of texts."""
        parts, sides_before = list[str](), ("", "")
        for gap, *sides in zip(self.gaps[:-1], self.texts, texts, strict=True):
            if gap in ("", " ") and all((*sides_before, *sides)):
                solid = _SOLID if gap or _SOLID.search(sides_before[0][-1] + sides[0][0]) else _UNSPACED
                source, target = (
                    bool(solid.search(one[-1] + two[0])) for one, two in zip(sides_before, sides, strict=True)
                )
                gap = gap if source == target else "" if target else " "
            parts += [gap, sides[1]]
            sides_before = sides[0], sides[1]
        return "".join([*parts, self.gaps[-1]])


def split_sentences(text: str, language: str = "en") -> Sentences:
    """Split `text` in `language` (a code such as `de`; unknown languages use the rules for English).

    A text without words has no sentences, and one gap.
    """
    code = normal_code(language) or "en"  # sentencex has rules for base languages
    texts, gaps, position = list[str](), list[str](), 0
    for line in _LINE.finditer(text):
        mark = _LIST_MARK.match(line[0])
        begin = line.start() + (mark.end() if mark else 0)
        for sentence in _sentences(text[begin : line.end()], code):
            if bare := sentence.strip():
                first = text.index(bare, begin)
                gaps.append(text[position:first])
                texts.append(bare)
                position = first + len(bare)
            begin += len(sentence)
    return Sentences(tuple(texts), (*gaps, text[position:]))


def _sentences(line: str, language: str) -> list[str]:
    """The sentences of a line, including the white space after them."""
    sentences = list[str]()
    for part in _parts(line, language):
        if sentences and _continues(sentences[-1], part, language):
            sentences[-1] += part
        else:
            sentences.append(part)
    return sentences


def _continues(begun: str, part: str, language: str) -> bool:
    """Whether what sentencex takes for the next sentence continues the one before: after initials, after the
    sign at the beginning of a name (`.NET`), and after ordinals in lower case, or in German, which capitalizes nouns:
    `19. Jahrhundert`. There few sentences end with such a number (1 in 66 in newstest2014)."""
    if _INITIALS.fullmatch(begun) or _SIGN.search(begun[-2:]):
        return True
    return _ORDINAL.search(begun[-10:]) is not None and (part[:1].islower() or language == "de")


def _parts(line: str, language: str) -> Iterator[str]:
    """The sentences of a line by sentencex. A window begins where a sentence does. What ends in its second half is left
    to the next one, so a quotation of up to half a window is one sentence, as in a short line."""
    begun, position = "", 0
    while position < len(line):
        window = line[position : position + WINDOW]
        parts = _segmented(window, language)
        is_last = position + WINDOW >= len(line)
        if not is_last and len(parts) == 1:  # the next window goes on with this sentence
            begun += window
            position += WINDOW
            continue
        if not is_last:
            parts = parts[: max(1, sum(end <= WINDOW // 2 for end in accumulate(map(len, parts))))]
        position += sum(map(len, parts))
        yield begun + parts[0]
        yield from parts[1:]
        begun = ""


def _segmented(text: str, language: str) -> list[str]:
    """The sentences that sentencex finds. It does not know Khmer's full stop, which is among Unicode's terminators."""
    from sentencex import segment

    parts = segment(language, _SURROGATE.sub("\ufffd", text).replace("\u17d4", "\u0964"))
    ends = list(accumulate(map(len, parts), initial=0))
    return [text[begin:end] for begin, end in pairwise(ends)] if ends[-1] == len(text) else [text]


NO_BREAK = re.compile(r"(?<=[^\s(\u2018\u201c\u2039\u00ab])[\u00a0\u202f\u2007](?=\w)")
"""A no-break space before a word, which is a space for a model."""

Fits = Callable[[str], bool]
"""Whether a text is short enough for a sentence."""

MAX_TOKENS = 512
"""Maximum number of tokens of a sentence, without its end."""
COUNTED = 8 * MAX_TOKENS
"""A longer text is divided without counting its tokens."""

_CLAUSE = re.compile(rf"[{TERMINATORS},;:…،؛፣፤၊]\s+|[，、；：。！？]\s*")
_SPACES = re.compile(r"\s+")
_CHARACTER = re.compile(rf"(?<!\u200d)(?![{EXTENDING}\u200d])")
"""A place between two characters: not before a combining mark, a variation, or the rest of an emoji."""
MAX_JOINED = 16
"""Characters that are looked at for the end of a character that consists of several."""


def with_short(sentences: Sentences, fits: Fits) -> Sentences:
    """The sentences, where each one that does not fit is divided; they join to the same text."""
    texts, gaps = list[str](), [sentences.gaps[0]]
    for text, gap in zip(sentences.texts, sentences.gaps[1:], strict=True):
        position = 0
        for begin, end in divided(text, fits):
            if position:
                gaps.append(text[position:begin])
            texts.append(text[begin:end])
            position = end
        gaps.append(text[position:] + gap)
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
    first, last = size - len(text.lstrip()), len(text.rstrip())
    for pattern, begin, end in ((_CLAUSE, size // 4, size - size // 4), (_SPACES, 0, size)):
        places = [match.end() for match in pattern.finditer(text, begin, end) if first < match.end() < last]
        if places:
            cut = min(places, key=lambda position: abs(position - middle))
            return len(text[:cut].rstrip()), size - len(text[cut:].lstrip())
    limit = min(middle + MAX_JOINED, size - 1)
    match = _CHARACTER.search(text, middle, limit)
    cut = match.start() if match else limit
    return cut, cut
