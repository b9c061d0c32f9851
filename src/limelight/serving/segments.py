"""Divide a text into the sentences or segments that are translated one by one, and join their translations."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from limelight.formats.html import PLAIN, Tags, html_units, xml_units
from limelight.formats.markdown import markdown_units
from limelight.formats.unit import CODES, FormatError, Unit, rewritten, with_codes
from limelight.serving.pool import Sentence
from limelight.text.glossary import Term
from limelight.text.notations import Found
from limelight.text.protectors import DEFAULT, find_spans
from limelight.text.sentences import Sentences, split_sentences

MAX_CODES = 2000
"""Tags within a segment of a request."""
_BREAK = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
Split = Literal["sentences", "across lines", "never"]
"""Where a text is divided: after sentences and lines, only after sentences, or not at all."""
Result = Mapping[str, Any]
"""The result for a sentence, see `pipelines.translation.Translation`."""


class Lookup(Protocol):
    """Where the terms of a text are looked up: one glossary, or several."""

    def possible(self, text: str) -> Sequence[Term]:
        """The terms that may be in a text."""


class TagHandling(NamedTuple):
    """How the tags of a text are read."""

    kind: str
    """`xml`, `html` or `markdown`, which has no settings."""
    tags: Tags = PLAIN


class SegmentedText(ABC):
    """A divided text."""

    texts: Sequence[str]

    @abstractmethod
    def sentence(self, place: int, options: dict[str, Any], *, stream: bool) -> Sentence:
        """The request to an engine."""

    @abstractmethod
    def join(self, texts: Sequence[str]) -> str:
        """The text with these translations."""

    def shown(self, place: int, result: Result) -> Result:
        """A result for display."""
        return result


class Plain(SegmentedText):
    """Sentences, with terms where there is a glossary."""

    def __init__(self, sentences: Sentences, terms: Lookup | None, split: Split) -> None:
        self.sentences, self.texts, self._terms, self._split = sentences, sentences.texts, terms, split

    def sentence(self, place: int, options: dict[str, Any], *, stream: bool) -> Sentence:
        if self._terms is None:
            return Sentence("translate", self.texts[place], options, stream)
        return segment_task(Segment(self.texts[place]), self._terms, options, split=self._split)

    def join(self, texts: Sequence[str]) -> str:
        return self.sentences.join(texts)


class Tagged(SegmentedText):
    """Segments between tags, with the tags inside them as codes."""

    def __init__(self, text: str, units: Sequence[Unit], terms: Lookup | None, split: Split) -> None:
        self._text, self._units, self._terms, self._split = text, units, terms, split
        self.texts = [unit.text for unit in units]

    def sentence(self, place: int, options: dict[str, Any], *, stream: bool) -> Sentence:
        codes = tuple((code.role, code.name) for code in self._units[place].codes)
        return segment_task(Segment(self.texts[place], codes), self._terms, options, split=self._split)

    def join(self, texts: Sequence[str]) -> str:
        return rewritten(self._text, self._units, texts)

    def shown(self, place: int, result: Result) -> Result:
        """With tags instead of their codes."""
        codes = self._units[place].codes
        changed = {name: with_codes(result[name], codes) for name in ("source", "text")}
        spans = {name: [with_codes(each, codes) for each in result.get(name, ())] for name in ("moved", "failed")}
        return {**result, **changed, **spans}


class Segment(NamedTuple):
    """A part of a text or a document."""

    text: str
    """With a character for each code, see `formats/unit.py`."""
    codes: tuple[tuple[str, str], ...] = ()
    """Role and name of each."""


def segment_task(
    segment: Segment, terms: Lookup | None, options: Mapping[str, Any], *, split: Split = "sentences"
) -> Sentence:
    """The task for a segment, with the terms that may be in it."""
    plain = f"{CODES.sub('', segment.text)}\n{CODES.sub(' ', segment.text)}"
    found = [] if terms is None else terms.possible(plain)
    more = {"codes": segment.codes, "terms": found, "whole": split == "never"}
    return Sentence("protected", segment.text, {**options, **more})


def segmented(
    text: str, language: str, handling: TagHandling | None, terms: Lookup | None, split: Split, *, protect: bool = False
) -> SegmentedText:
    """A text divided into what is translated one by one; with `protect` not within variables, addresses and the like.
    Raises `FormatError` for tags that cannot be read."""
    if handling is not None:
        units = _units(text, handling)
        if any(len(unit.codes) > MAX_CODES for unit in units):
            raise FormatError(f"more than {MAX_CODES} tags between the beginning and the end of one segment")
        return Tagged(text, units, terms, split)
    if split == "never":
        found = Sentences((text,), ("", "")) if text.strip() else Sentences((), (text,))
    else:
        found = split_sentences(text, language) if split == "sentences" else _across_lines(text, language)
    if protect and len(found.texts) > 1:  # to look for spans takes ten times as long as to split
        found = undivided(found, find_spans(text, DEFAULT))
    return Plain(found, terms, split)


def undivided(found: Sentences, spans: Sequence[Found]) -> Sentences:
    """The sentences of a text, joined where a span is in two of them."""
    if not spans:
        return found
    begins = [span.begin for span in spans]
    texts, gaps, place = list[str](), list[str](), 0
    for gap, text in zip(found.gaps, found.texts, strict=False):
        begin = place + len(gap)
        before = bisect_left(begins, begin) - 1
        if texts and before >= 0 and spans[before].end > begin:
            texts[-1] += gap + text
        else:
            gaps.append(gap)
            texts.append(text)
        place = begin + len(text)
    return Sentences(tuple(texts), (*gaps, found.gaps[-1]))


def _units(text: str, handling: TagHandling) -> list[Unit]:
    if handling.kind == "markdown":
        return markdown_units(text)
    return html_units(text, "", handling.tags) if handling.kind == "html" else xml_units(text, handling.tags)


def _across_lines(text: str, language: str) -> Sentences:
    """The sentences of a text whose line breaks are spaces to it; those between sentences stay."""
    texts, gaps = split_sentences(_BREAK.sub(" ", text), language)
    kept, place = list[str](), 0
    for number, gap in enumerate(gaps):
        kept.append(text[place : place + len(gap)])
        place += len(gap) + (len(texts[number]) if number < len(texts) else 0)
    return Sentences(texts, tuple(kept))
