"""Split a text into sentences, and join their translations again.

A sentence ends at each line break, and where sentencex finds an end within a line. White space between sentences and
list marks are kept: `join` of the unchanged sentences is the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+•‣◦–—]|\d{1,3}[.)]|[A-Za-z][.)]|#{1,6})\s+)*")
_SPACE = re.compile(r"\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ORDINAL = re.compile(r"\b\d{1,2}\.\s*$")
_MONTHS = {
    "de": re.compile(r"(Jan|Jän|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)"),
}
"""Names of months in languages that write ordinals with a full stop: `3. Mai` does not end a sentence."""
WINDOW = 2000
"""Characters of a line that sentencex sees at a time. It takes quadratic time for a line without spaces (a second for
50,000 characters of Chinese), and other threads wait meanwhile."""


class Sentences(NamedTuple):
    """The sentences of a text, and the text before, between and after them."""

    texts: tuple[str, ...]
    gaps: tuple[str, ...]
    """White space, line breaks and list marks; one more than `texts`."""

    def join(self, texts: Sequence[str]) -> str:
        """Join sentences, as many as there were, with the original gaps. Raises `ValueError` for another number."""
        if len(texts) != len(self.texts):
            raise ValueError(f"{len(texts)} sentences given, {len(self.texts)} expected")
        parts = [part for pair in zip(self.gaps, texts, strict=False) for part in pair]
        return "".join([*parts, self.gaps[-1]])


def split_sentences(text: str, language: str = "en") -> Sentences:
    """Split `text` in `language` (a code such as `de`; unknown languages use the rules for English).

    A text without words has no sentences, and one gap.
    """
    spans = [span for line in _LINE.finditer(text) for span in _spans(line[0], line.start(), language)]
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    gaps = [text[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
    return Sentences(tuple(text[start:end] for start, end in spans), tuple(gaps))


def _spans(line: str, offset: int, language: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence of a line in the whole text, without surrounding white space."""
    start = _after(_LIST_MARK, line, 0)
    if start == len(line):  # the line is only a list mark: translate that
        start = _after(_SPACE, line, 0)
    for length in _lengths(line[start:], language):
        sentence = line[start : start + length]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            yield offset + start + lead, offset + start + len(sentence.rstrip())
        start += length


def _lengths(text: str, language: str) -> list[int]:
    """The length of each sentence, including the white space after it."""
    month, lengths, before = _MONTHS.get(_base(language)), [0], ""
    for part in _parts(text, language):
        if month and _ORDINAL.search(before) and month.match(part):
            lengths[-1] += len(part)
        else:
            lengths.append(len(part))
        before = part
    return lengths[1:]


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


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place
