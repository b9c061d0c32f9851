"""Marks inside text: placeholders, term annotations and tags as single characters of a private-use area; and their
insertion into both sides of an aligned pair.

A marked text is a string in which the characters U+F0000 to U+F001F (plane 15) represent the reserved tokens `<ph0>` to
`<ph31>`, and the three after them a form of address and a similar translation. The rest of the plane represents codes
of documents (`formats/unit.py`) and placeholders of a whole text, before its sentences get placeholders of their own.
Only functions for marked text interpret them (`tokens/marked.py`); in all other text they are ordinary characters. Code
that inserts marks into untrusted text has to check for such characters first (`has_marks`).

A model that was trained with placeholders in place of words, around words and between words copies them into its
translation. A model that was trained with target forms after source words uses the given form (Dinu et al. 2019,
"Training Neural Machine Translation to Apply Terminology Constraints"), and inflects it if the form in the text differs
from the given one (Bergmanis & Pinnis 2021, "Facilitating Terminology Translation with Target Lemma Annotations").

Marked words or short phrases are consistent with the alignment: no link connects a word inside a phrase with a word
outside (Koehn et al. 2003, section 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from limelight.text.pair import Sides
from limelight.text.words import is_unspaced, word_spans

MARK_COUNT = 32
MAX_PLACEHOLDERS = 30
"""Placeholders for protected spans: `<ph0>` to `<ph29>`."""

_FIRST = 0xF0000

TERM_BEGIN = chr(_FIRST + 30)
"""Follows a source word and begins the required target form: `<ph30>`."""
TERM_END = chr(_FIRST + 31)
"""Ends the required target form: `<ph31>`."""

FORMALITY_MARKS = {"formal": chr(_FIRST + MARK_COUNT), "informal": chr(_FIRST + MARK_COUNT + 1)}
"""Precede a source whose translation has this form of address."""
SIMILAR_MARK = chr(_FIRST + MARK_COUNT + 2)
"""Follows a source, and precedes the translation of a similar one."""

MARK = re.compile("[\U000f0000-\U000ffffd]")
PLACEHOLDER = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + MAX_PLACEHOLDERS - 1)}]")
ANNOTATION = re.compile(f"{TERM_BEGIN}[^{TERM_END}]*{TERM_END}")
FIRST_CODE, LAST_CODE = 0xF1000, 0xFFFFD
CODES = re.compile(f"[{chr(FIRST_CODE)}-{chr(LAST_CODE)}]")
"""Matches the character of a code in the text of a document, or the placeholder of a whole text."""


def placeholder(number: int) -> str:
    """The character for `<ph0>` ... `<ph29>` in marked text. Raises `ValueError` for other numbers."""
    if not 0 <= number < MAX_PLACEHOLDERS:
        raise ValueError(f"placeholder {number}: must be 0 to {MAX_PLACEHOLDERS - 1}")
    return chr(_FIRST + number)


def text_placeholder(number: int) -> str:
    """The character for a span of a whole text, which may have any number of them."""
    return chr(FIRST_CODE + number)


def mark_number(mark: str) -> int:
    """The number of a mark: 0 to 29 are placeholders, 30 and 31 the beginning and the end of a term; those of a whole
    text are counted from 0, too."""
    code = ord(mark)
    return code - (FIRST_CODE if code >= FIRST_CODE else _FIRST)


def mark_of(number: int) -> str:
    """The inverse of `mark_number`."""
    return chr(_FIRST + number)


def annotated(source: str, target: str) -> str:
    """A source term, annotated with the required target form."""
    return f"{source} {TERM_BEGIN} {target} {TERM_END}"


def has_marks(text: str) -> bool:
    """Whether a text has a character that marked text would interpret as a mark."""
    return MARK.search(text) is not None


def without_marks(text: str) -> str:
    """Marked text without its marks."""
    return MARK.sub("", text)


def show_marks(text: str) -> str:
    """Marked text for display: each mark as its token, such as `<ph0>`."""
    tags = {mark: f"<{name}>" for name, mark in FORMALITY_MARKS.items()} | {SIMILAR_MARK: " <similar> "}
    return MARK.sub(lambda match: tags.get(match[0], f"<ph{mark_number(match[0])}>"), text)


class Link(NamedTuple):
    """The numbers of a source word and a target word that translate one another."""

    source: int
    target: int
    sure: bool = True
    """Whether both directions of the alignment have the link; each word has at most one such link."""


Span = tuple[int, int]
"""The numbers of the first and the last word."""


class WordForms(NamedTuple):
    """Statistics of the words of a corpus."""

    related: Mapping[str, Sequence[str]] = {}
    """Target word -> other forms of it that translate the same source word."""
    common: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """The most frequent words of both sides, lowercased: mostly function words."""


class Alignment(NamedTuple):
    """Which words of a pair translate one another."""

    links: Sequence[Link]
    forms: WordForms


_SPANS, _SPAN_WEIGHTS = (1, 2, 3, 4, 6, 8), (40, 28, 16, 9, 5, 2)
_TERMS, _TERM_WEIGHTS = (1, 2, 3), (60, 30, 10)
_LENGTHS, _LENGTH_WEIGHTS = (1, 2, 3), (60, 25, 15)
_WRAPS = (("(", ")"), ('"', '"'), ("[", "]"), ("'", "'"), ("", ":"), ("", "%"), ("#", ""))
_JOINERS = ("", "", " ", " ", "/", ", ")
MAX_WIDER = 3
"""How many more words the target of a phrase may have than its source."""
ATTEMPTS = 6
"""Draws to find a free phrase."""
TERM_ATTEMPTS = 8
"""Draws to find a term: most words are common, or their alignment is not sure."""
OTHER_START = 0.2
"""Probability that the numbers of placeholders do not begin at 0, so that all of them are learned."""
_DRAFT = 0xF8000  # temporary characters, used until placeholders are numbered in the order of the source
_DRAFTED = re.compile("[\U000f8000-\U000f80ff]")
_PLAIN = re.compile(r"[^\W_]+(?:[ \-'’][^\W_]+)*")


def joined_alignment(pairs: Sequence[Sides], alignments: Sequence[Alignment]) -> Alignment:
    """The alignment of concatenated pairs."""
    links: list[Link] = []
    before = [0, 0]
    for pair, alignment in zip(pairs, alignments, strict=True):
        links += [Link(source + before[0], target + before[1], sure) for source, target, sure in alignment.links]
        before = [count + len(word_spans(side)) for count, side in zip(before, pair, strict=True)]
    return Alignment(links, alignments[0].forms)


def place_marks(
    pair: Sides, alignment: Alignment, random: Random, *, placeholders: bool, terms: bool
) -> tuple[Sides, tuple[str, ...]]:
    """The pair with placeholders, annotated terms, or both, and the names of the augmentations that were applied.

    Each placeholder occurs once on each side. A pair that already has private-use characters is unchanged. No term is
    annotated if none is found.
    """
    if any(map(has_marks, pair)):
        return pair, ()
    draft = _Draft(pair, alignment)
    if placeholders:
        _put_placeholders(draft, random)
    if terms:
        _annotate(draft, random)
    marked = _numbered(draft.texts(), random)
    return marked, ("placeholders",) * (draft.marks > 0) + ("terms",) * (TERM_BEGIN in marked.source)


class _Side:
    """The words of a text, and the text between, before and after them."""

    def __init__(self, text: str) -> None:
        spans = word_spans(text)
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        self.words = [text[begin:end] for begin, end in spans]
        self.gaps = [text[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
        self.original = list(self.words)
        # Marks, each with the length of the phrase that it surrounds: marks of longer phrases are further outside.
        self.before: list[list[tuple[float, str]]] = [[] for _ in spans]
        self.after: list[list[tuple[float, str]]] = [[] for _ in spans]
        self.head = self.tail = ""

    def text(self) -> str:
        parts = [self.head, self.gaps[0]]
        for place, word in enumerate(self.words):
            parts += [mark for _, mark in sorted(self.before[place], key=lambda each: -each[0])]
            parts.append(word)
            parts += [mark for _, mark in sorted(self.after[place], key=lambda each: each[0])]
            parts.append(self.gaps[place + 1])
        return "".join([*parts, self.tail])

    def phrase(self, span: Span) -> str:
        """The original words of a span, with the text between them."""
        first, last = span
        parts = zip(self.original[first : last + 1], [*self.gaps[first + 1 : last + 1], ""], strict=True)
        return "".join(word + gap for word, gap in parts)

    def replace(self, span: Span, text: str) -> None:
        first, last = span
        self.words[first] = text
        for place in range(first + 1, last + 1):
            self.words[place] = self.gaps[place] = ""

    def unspaced(self, place: int) -> bool:
        return is_unspaced(self.original[place][-1])


class _Draft:
    """A pair while marks are inserted."""

    def __init__(self, pair: Sides, alignment: Alignment) -> None:
        self.sides = _Side(pair.source), _Side(pair.target)
        self.forms = alignment.forms
        self.marks = 0
        self._links: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
        self._sure: tuple[set[int], set[int]] = (set(), set())
        for source, target, sure in alignment.links:
            if sure:
                self._sure[0].add(source)
                self._sure[1].add(target)
            self._links[0].setdefault(source, []).append(target)
            self._links[1].setdefault(target, []).append(source)
        self._closed: list[Span] = []
        self._around: list[Span] = []

    def texts(self) -> Sides:
        return Sides(*(side.text() for side in self.sides))

    def new_marks(self, count: int) -> list[str]:
        """`count` new placeholders; none if there would be too many."""
        if self.marks + count > MAX_PLACEHOLDERS:
            return []
        self.marks += count
        return [chr(_DRAFT + number) for number in range(self.marks - count, self.marks)]

    def find(self, random: Random, *, longest: int, around: bool = False) -> tuple[Span, Span] | None:
        """A free phrase of at most `longest` source words, and its target phrase; rarely one of common words.

        With `around` it may contain other phrases.
        """
        words = self.sides[0].original
        for _ in range(ATTEMPTS if self._links[0] else 0):
            first = random.randrange(len(words))
            last = first + min(random.choices(_LENGTHS, _LENGTH_WEIGHTS)[0], longest) - 1
            found = self._target_of((first, last)) if self._is_free((first, last), around=around) else None
            if found and (not self.is_common(0, (first, last)) or random.random() < 0.1):
                return (first, last), found
        return None

    def is_sure(self, found: tuple[Span, Span]) -> bool:
        """Whether all words of a phrase and of its target phrase have a sure link."""
        return all(
            place in sure
            for sure, (first, last) in zip(self._sure, found, strict=True)
            for place in range(first, last + 1)
        )

    def close(self, span: Span) -> None:
        """Forbid further marks in this phrase and around parts of it."""
        self._closed.append(span)

    def surround(self, span: Span) -> None:
        """Permit further marks only inside and around this phrase, not across its ends."""
        self._around.append(span)

    def is_common(self, side: int, span: Span) -> bool:
        """Whether all words of a span are among the most frequent ones."""
        words = self.sides[side].original[span[0] : span[1] + 1]
        return all(word.lower() in self.forms.common[side] for word in words)

    def _is_free(self, span: Span, *, around: bool) -> bool:
        """Whether a span crosses no marked phrase. With `around`, it may contain one; it may lie inside a phrase that
        has marks around it."""
        if span[1] >= len(self.sides[0].words) or span in self._around:
            return False
        return all(around and _within(other, span) for other in self._closed if _meet(other, span)) and all(
            (around and _within(other, span)) or _within(span, other) for other in self._around if _meet(other, span)
        )

    def _target_of(self, span: Span) -> Span | None:
        """The target phrase of a source phrase; None if a link connects either with a word outside."""
        first, last = span
        forth, back = self._links
        if first not in self._sure[0] or last not in self._sure[0]:
            return None
        linked = [target for source in range(first, last + 1) for target in forth.get(source, ())]
        low, high = min(linked), max(linked)
        if high - low > last - first + MAX_WIDER:
            return None
        inside = (first <= source <= last for target in range(low, high + 1) for source in back.get(target, ()))
        return (low, high) if all(inside) else None


def _meet(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _put_placeholders(draft: _Draft, random: Random) -> None:
    for _ in range(random.choices(_SPANS, _SPAN_WEIGHTS)[0]):
        kind = random.random()
        if kind < 0.5:
            _replace(draft, random)
        elif kind < 0.75:
            _surround(draft, random)
        else:
            _insert(draft, random)
    if not draft.marks:
        _insert_outside(draft, random)


def _replace(draft: _Draft, random: Random) -> None:
    """Replace a phrase by a mark, sometimes in brackets or quotes, or with another adjacent character."""
    found = draft.find(random, longest=3)
    mark = draft.new_marks(1) if found else []
    if found and mark:
        opening, closing = random.choice(_WRAPS) if random.random() < 0.12 else ("", "")
        for side, span in zip(draft.sides, found, strict=True):
            side.replace(span, opening + mark[0] + closing)
        draft.close(found[0])


def _surround(draft: _Draft, random: Random) -> None:
    """Insert a mark before and after a phrase, as for an inline tag; sometimes around the whole text."""
    if random.random() < 0.1:
        marks = draft.new_marks(2)
        for side in draft.sides if marks else ():
            side.head, side.tail = marks[0] + side.head, side.tail + marks[1]
        return
    found = draft.find(random, longest=3, around=True)
    marks = draft.new_marks(2) if found else []
    if found and marks:
        length = found[0][1] - found[0][0] + 1
        for side, (first, last) in zip(draft.sides, found, strict=True):
            side.before[first].append((length, marks[0]))
            side.after[last].append((length, marks[1]))
        draft.surround(found[0])


def _insert(draft: _Draft, random: Random) -> None:
    """Insert marks at the same place of both sides: at the beginning, at the end, before or after a phrase."""
    found = draft.find(random, longest=2) if random.random() < 0.5 else None
    if found is None:
        _insert_outside(draft, random)
        return
    code, glued, after = _code(draft, random), random.random() < 0.5, random.random() < 0.7
    reach = found[0][1] - found[0][0] + 1.5  # outside marks around this phrase, inside those around longer ones
    for side, (first, last) in zip(draft.sides, found, strict=True):
        space = "" if glued or side.unspaced(last if after else first) else " "
        if code and after:
            side.after[last].append((reach, space + code))
        elif code:
            side.before[first].append((reach, code + space))
    draft.close(found[0])


def _insert_outside(draft: _Draft, random: Random) -> None:
    code, space, begin = _code(draft, random), " " if random.random() < 0.6 else "", random.random() < 0.5
    for side in draft.sides if code else ():
        if begin:
            side.head = code + space + side.head
        else:
            side.tail += space + code


def _code(draft: _Draft, random: Random) -> str:
    """One mark, or two or three with the same separator between them."""
    count = random.choices((1, 2, 3), (75, 18, 7))[0]
    return random.choice(_JOINERS).join(draft.new_marks(count))


def _annotate(draft: _Draft, random: Random) -> None:
    """Insert target forms after one to three content words or phrases of the source."""
    wanted = random.choices(_TERMS, _TERM_WEIGHTS)[0]
    for _ in range(TERM_ATTEMPTS):
        found = draft.find(random, longest=2) if wanted else None
        if found is None:
            continue
        source, target = found
        form = draft.sides[1].phrase(target)
        edges = [(side, (place, place)) for side in range(2) for place in found[side]]
        common = any(draft.is_common(*edge) for edge in edges)
        if common or not draft.is_sure(found) or not _PLAIN.fullmatch(form):
            continue
        last = source[1]
        said = annotated("", _other_form(form, draft.forms, random))
        draft.sides[0].words[last] += said
        draft.close(source)
        wanted -= 1


def _other_form(form: str, forms: WordForms, random: Random) -> str:
    """The form itself, or another one that a glossary might have: with another ending, or in another case."""
    kind = random.random()
    before, space, word = form.rpartition(" ")
    if kind < 0.35 and (others := forms.related.get(word)):
        return before + space + random.choice(others)
    if kind < 0.45:
        return form.lower() if form[0].isupper() else form[0].upper() + form[1:]
    return form


def _numbered(pair: Sides, random: Random) -> Sides:
    """Number the placeholders in the order of the source, from 0, sometimes from another number."""
    order = {mark: number for number, mark in enumerate(_DRAFTED.findall(pair.source))}
    if not order:
        return pair
    start = random.randint(0, MAX_PLACEHOLDERS - len(order)) if random.random() < OTHER_START else 0
    return Sides(*(_DRAFTED.sub(lambda match: placeholder(start + order[match[0]]), side) for side in pair))
