"""Split a text into sentences, and join their translations again.

A sentence ends at each line break, and where sentencex finds an end within a line. White space between sentences and
list marks are kept: `join` of the unchanged sentences is the original text. Where sentencex takes an ordinal, an
initial or a title for the end of a sentence, the parts are joined again.

An encoder takes a whole sentence in one step, in time and memory that grow with its square, and nothing can end that
step. Text without the end of a sentence (a list, base64, emoji) is one sentence of any length, so it is divided: at
punctuation, else at spaces, else between two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from limelight.text.words import is_unspaced, read_table

_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+•‣◦–—]|\d{1,3}[.)]|[a-z]\.|[A-Za-z]\)|#{1,6})\s+)*")
_LETTER_MARK = re.compile(r"\s*([A-Z])\.\s+")
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d_]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INITIALS = re.compile(r"\s*(?:[^\W\d_]\.\s*)+")
MAX_INITIALS = 40
"""Maximum number of characters of initials."""
_TITLE = {"fr": re.compile(r"(?:^|[\s(«])(?:MM?|Mmes?|Mlles?|Mgr|Me)\.\s+$")}
"""A name follows: `M. Dupont`."""

_ORDINAL_LANGUAGES = "bs cs da de et fi fo hr hu is lb lv nb nn no pl sk sl sr tr"
"""Languages that write ordinals with a full stop, as in `3. Mai`."""
_ORDINAL = re.compile(r"(?<![\d.,:])(?:\d{1,2}|[IVX]{1,6})\.\s*$")
WINDOW = 2000
"""Characters of a line that sentencex sees at a time. It takes quadratic time for a line without spaces (a second for
50,000 characters of Chinese), and other threads wait meanwhile."""


class Sentences(NamedTuple):
    """The sentences of a text, and the text before, between and after them."""

    texts: tuple[str, ...]
    gaps: tuple[str, ...]
    """White space, line breaks and list marks; one more than `texts`."""

    def join(self, texts: Sequence[str]) -> str:
        """Join sentences, as many as there were, with the original gaps. Between scripts with and without spaces, a gap
        becomes a space or none. Raises `ValueError` for another number."""
        if len(texts) != len(self.texts):
            raise ValueError(f"{len(texts)} sentences given, {len(self.texts)} expected")
        parts = list[str]()
        for place, (gap, text) in enumerate(zip(self.gaps, texts, strict=False)):
            if place and gap in ("", " ") and text and texts[place - 1]:
                was, now = (_is_unspaced(some[place - 1], some[place]) for some in (self.texts, texts))
                gap = gap if was == now else "" if now else " "
            parts += [gap, text]
        return "".join([*parts, self.gaps[-1]])


def _is_unspaced(before: str, after: str) -> bool:
    """Whether two sentences follow one another without a space in their script."""
    return is_unspaced(before[-1:]) and is_unspaced(after[:1])


def split_sentences(text: str, language: str = "en") -> Sentences:
    """Split `text` in `language` (a code such as `de`; unknown languages use the rules for English).

    A text without words has no sentences, and one gap.
    """
    lines = list(_LINE.finditer(text))
    letters = {mark[1] for line in lines if (mark := _LETTER_MARK.match(line[0]))}
    spans = [span for line in lines for span in _spans(line[0], line.start(), language, letters)]
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = [text[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
    return Sentences(tuple(text[start:end] for start, end in spans), tuple(gaps))


def _spans(line: str, offset: int, language: str, letters: set[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence of a line in the whole text, without surrounding white space.

    `letters` are the capitals with a full stop at the beginning of lines: `A.` is a list mark if there is a `B.`, else
    an initial.
    """
    start = _after(_LIST_MARK, line)
    mark = _LETTER_MARK.match(line, start)
    if mark and letters & {chr(ord(mark[1]) - 1), chr(ord(mark[1]) + 1)}:
        start = mark.end()
    if start == len(line):  # the line is only a list mark: translate that
        start = _after(_SPACE, line)
    for length in _lengths(line[start:], language):
        sentence = line[start : start + length]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            yield offset + start + lead, offset + start + len(sentence.rstrip())
        start += length


def _lengths(text: str, language: str) -> list[int]:
    """The length of each sentence, including the white space after it."""
    base, lengths, begun = _base(language), [0], ""
    for part in _parts(text, language):
        if begun and _continues(begun, part, base):
            lengths[-1] += len(part)
            begun += part
        else:
            lengths.append(len(part))
            begun = part
    return lengths[1:]


def _continues(begun: str, part: str, language: str) -> bool:
    """Whether what sentencex takes for the next sentence continues the one before: after initials, titles, ordinals."""
    if len(begun) < MAX_INITIALS and _INITIALS.fullmatch(begun):
        return True
    if language in _TITLE and _TITLE[language].search(begun[-10:]):
        return True
    if language not in _ORDINAL_LANGUAGES.split() or not _ORDINAL.search(begun[-10:]):
        return False
    word = _WORD.match(part)
    nouns = _numbered().get(language, ())
    return word is not None and (word[0][0].islower() or any(word[0].removesuffix(end) in nouns for end in _NOUN_ENDS))


_NOUN_ENDS = ("", "s", "es", "n", "en")


@cache
def _numbered() -> dict[str, tuple[str, ...]]:
    """Nouns that follow an ordinal in a language that capitalizes them: `19. Jahrhundert`."""
    return {code: tuple(nouns.split()) for code, nouns in read_table("ordinals.txt")}


def _parts(line: str, language: str) -> Iterator[str]:
    """The sentences of a line. A window begins where a sentence does. What ends in its second half is left to the next
    one, so a quotation of up to half a window is one sentence, as in a short line."""
    begun, place = list[str](), 0
    while place < len(line):
        window = line[place : place + WINDOW]
        parts = _segmented(window, language)
        if place + WINDOW < len(line):
            if len(parts) == 1:  # the next window goes on with this sentence
                begun.append(window)
                place += WINDOW
                continue
            parts = parts[: max(1, sum(end <= WINDOW // 2 for end in accumulate(map(len, parts))))]
        place += sum(map(len, parts))
        yield "".join([*begun, parts[0]])
        yield from parts[1:]
        begun = []


def _segmented(text: str, language: str) -> list[str]:
    """The sentences that sentencex finds."""
    from sentencex import segment

    parts = segment(_base(language), _SURROGATE.sub("\ufffd", text))
    if sum(map(len, parts)) != len(text):  # guards against a change of sentencex, which is lossless so far
        return [text]
    return parts


def _base(language: str) -> str:
    """`de` for `de-AT`: sentencex has rules for base languages."""
    return re.split(r"[-_]", language, maxsplit=1)[0].lower() or "en"


def _after(pattern: re.Pattern[str], text: str) -> int:
    """Where a match at the beginning of a text ends; 0 without one."""
    found = pattern.match(text)
    return found.end() if found else 0


NO_BREAK = re.compile(r"(?<=[^\s(\u2018\u201c\u2039\u00ab])[\u00a0\u202f\u2007](?=\w)")
"""A no-break space before a word, which is a space for a model."""
_NO_BREAK_BETWEEN = re.compile(r"(\S+)([\u00a0\u202f\u2007])(?=(\S+))")


def with_no_breaks(source: str, output: str) -> str:
    """A translation with the no-break spaces of its source between the same words."""
    for match in _NO_BREAK_BETWEEN.finditer(source):
        words = rf"(?<!\w){re.escape(match[1])} {re.escape(match[3])}(?!\w)"
        output = re.sub(words, f"{match[1]}{match[2]}{match[3]}", output, count=1)
    return output


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
_SPACES = re.compile(r"\s+")
_JOINS = "\u200d\ufe0e\ufe0f"
"""A zero-width joiner and variation selectors: they belong to the character before."""


def is_short(text: str) -> bool:
    """Whether a text has at most `MAX_BYTES`."""
    return len(text) <= MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) <= MAX_BYTES


def with_short(sentences: Sentences, fits: Fits) -> Sentences:
    """The same with each sentence that does not fit divided into several; they join to the same text."""
    if all(len(text) <= COUNTED and fits(text) for text in sentences.texts):
        return sentences  # most
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
    found = _nearest(_CLAUSE, text, size // 4, size - size // 4) or _nearest(_SPACES, text, 0, size)
    if found is not None:
        return len(text[:found].rstrip()), size - len(text[found:].lstrip())
    place = middle
    while place < size - 1 and place < middle + MAX_JOINED and _continues_line(text[place - 1], text[place]):
        place += 1
    return place, place


def _nearest(pattern: re.Pattern[str], text: str, begin: int, end: int) -> int | None:
    """The end of the match between two places that is nearest to the middle of the text, with text on both sides."""
    first, last, middle = len(text) - len(text.lstrip()), len(text.rstrip()), len(text) // 2
    matches = (each for each in pattern.finditer(text, begin, end) if each.start() > first and each.end() < last)
    return min((each.end() for each in matches), key=lambda place: abs(place - middle), default=None)


def _continues_line(before: str, character: str) -> bool:
    """Whether a character belongs to the one before: a combining mark, a variation, the rest of an emoji."""
    modifier = "\U0001f3fb" <= character <= "\U0001f3ff"
    return character in _JOINS or before == "\u200d" or modifier or unicodedata.combining(character) > 0
