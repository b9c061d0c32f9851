"""Random marks in both sides of an aligned pair, for training.

A model that was trained with placeholders in place of words, around words and between words copies them into its
translation. A model that was trained with target forms after source words uses the given form (Dinu et al. 2019,
"Training Neural Machine Translation to Apply Terminology Constraints"), and inflects it if the form in the text differs
from the given one (Bergmanis & Pinnis 2021, "Facilitating Terminology Translation with Target Lemma Annotations").

Marked words or short phrases are consistent with the alignment: no link connects a word inside a phrase with a word
outside (Koehn et al. 2003, section 4.1).

A draft collects insertions and replacements by their places in the two texts, and applies all of them at the end.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from limelight.text.marking import MAX_PLACEHOLDERS, annotated, has_marks, placeholder
from limelight.text.pair import Sides
from limelight.text.words import LETTER, is_unspaced, replaced, word_spans


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
_PLAIN = re.compile(rf"{LETTER}+(?:[ \-'’]{LETTER}+)*")


def joined_alignment(pairs: Sequence[Sides], alignments: Sequence[Alignment]) -> Alignment:
    """The alignment of concatenated pairs."""
    links: list[Link] = []
    before = [0, 0]
    for pair, alignment in zip(pairs, alignments, strict=True):
        links += [Link(source + before[0], target + before[1], sure) for source, target, sure in alignment.links]
        before = [count + len(word_spans(side)) for count, side in zip(before, pair, strict=True)]
    return Alignment(links, alignments[0].forms)


def place_marks(pair: Sides, alignment: Alignment, random: Random, *, placeholders: bool, terms: bool) -> Sides:
    """The pair with placeholders, annotated terms, or both.

    Each placeholder occurs once on each side. A pair that already has private-use characters is unchanged. No term is
    annotated if none is found.
    """
    if any(map(has_marks, pair)):
        return pair
    draft = _Draft(pair, alignment)
    if placeholders:
        for _ in range(random.choices(_SPANS, _SPAN_WEIGHTS)[0]):
            kind = random.random()
            change = _replace if kind < 0.5 else _surround if kind < 0.75 else _insert
            change(draft, random)
        if not draft.marks:
            _insert_outside(draft, random)
    if terms:
        _annotate(draft, random)
    return _numbered(Sides(*map(_edited, pair, draft.edits)), random)


class _Edit(NamedTuple):
    """An insertion or replacement in a text."""

    begin: int
    end: int
    order: float
    """Order among edits at the same place. Marks that follow a word precede those before the next word, and marks of
    longer phrases are further outside."""
    text: str


_BEFORE, _IN_PLACE, _AT_END = 500, 600, 1000
"""Orders of marks before a word, of replacements of words, and of marks at the end of a text."""


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    ordered = sorted(edits, key=lambda edit: (edit.begin, edit.order))
    return replaced(text, ((edit.begin, edit.end, edit.text) for edit in ordered))


class _Draft:
    """The edits of a pair, and the phrases that are still free."""

    def __init__(self, pair: Sides, alignment: Alignment) -> None:
        self.pair, self.forms = pair, alignment.forms
        self.edits: tuple[list[_Edit], list[_Edit]] = ([], [])
        self.marks = 0
        self._words = word_spans(pair.source), word_spans(pair.target)
        self._targets, self._sources = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for link in alignment.links:
            self._targets[link.source].append(link.target)
            self._sources[link.target].append(link.source)
        self._sure = [{link[side] for link in alignment.links if link.sure} for side in (0, 1)]
        self.marked = list[tuple[Span, bool]]()
        """Marked phrases, and whether further marks may lie inside. None may cross the ends of a phrase."""
        self._outer = 0

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
        for _ in range(ATTEMPTS if self._targets else 0):
            first = random.randrange(len(self._words[0]))
            source = first, first + min(random.choices(_LENGTHS, _LENGTH_WEIGHTS)[0], longest) - 1
            target = self._target_of(source) if self._is_free(source, around=around) else None
            if target and (not self.is_common(0, source) or random.random() < 0.1):
                return source, target
        return None

    def place(self, side: int, span: Span) -> tuple[int, int]:
        """Begin and end of a phrase in characters."""
        words = self._words[side]
        return words[span[0]][0], words[span[1]][1]

    def insert(self, phrase: tuple[Span, Span], order: float, *texts: str, after: bool) -> None:
        """Insert a text for each side before or after a phrase."""
        for side, (span, text) in enumerate(zip(phrase, texts, strict=True)):
            position = self.place(side, span)[after]
            self.edits[side].append(_Edit(position, position, order, text))

    def insert_at_ends(self, before: str, after: str) -> None:
        """Insert text before and after both sides, outside of earlier insertions there."""
        self._outer += 1
        for text, edits in zip(self.pair, self.edits, strict=True):
            edits += [
                _Edit(0, 0, -self._outer, before),
                _Edit(len(text), len(text), _AT_END + self._outer, after),
            ]

    def is_sure(self, phrase: tuple[Span, Span]) -> bool:
        """Whether all words of a phrase and of its target phrase have a sure link."""
        return all({*range(first, last + 1)} <= sure for sure, (first, last) in zip(self._sure, phrase, strict=True))

    def is_common(self, side: int, span: Span) -> bool:
        """Whether all words of a span are among the most frequent ones."""
        words = (self.pair[side][begin:end] for begin, end in self._words[side][span[0] : span[1] + 1])
        return all(word.lower() in self.forms.common[side] for word in words)

    def _is_free(self, span: Span, *, around: bool) -> bool:
        """Whether a phrase crosses no marked one. It may lie inside an open one or, with `around`, contain others."""
        for other, is_open in self.marked:
            apart = other[1] < span[0] or span[1] < other[0]
            outside = around and span[0] <= other[0] and other[1] <= span[1]
            inside = is_open and other[0] <= span[0] and span[1] <= other[1]
            if (is_open and span == other) or not (apart or outside or inside):
                return False
        return span[1] < len(self._words[0])

    def _target_of(self, span: Span) -> Span | None:
        """The target phrase of a source phrase; None if a link connects either with a word outside."""
        first, last = span
        if first not in self._sure[0] or last not in self._sure[0]:
            return None
        linked = [target for source in range(first, last + 1) for target in self._targets.get(source, ())]
        low, high = min(linked), max(linked)
        if high - low > last - first + MAX_WIDER:
            return None
        back = (source for target in range(low, high + 1) for source in self._sources.get(target, ()))
        return (low, high) if all(first <= source <= last for source in back) else None


def _replace(draft: _Draft, random: Random) -> None:
    """Replace a phrase by a mark, sometimes in brackets or quotes, or with another adjacent character."""
    phrase = draft.find(random, longest=3)
    mark = draft.new_marks(1) if phrase else []
    if phrase and mark:
        opening, closing = random.choice(_WRAPS) if random.random() < 0.12 else ("", "")
        for side, span in enumerate(phrase):
            draft.edits[side].append(_Edit(*draft.place(side, span), _IN_PLACE, opening + mark[0] + closing))
        draft.marked.append((phrase[0], False))


def _surround(draft: _Draft, random: Random) -> None:
    """Insert a mark before and after a phrase, as for an inline tag; sometimes around the whole text."""
    whole = random.random() < 0.1
    phrase = None if whole else draft.find(random, longest=3, around=True)
    marks = draft.new_marks(2) if whole or phrase else []
    if whole and marks:
        draft.insert_at_ends(*marks)
    elif phrase and marks:
        length = phrase[0][1] - phrase[0][0] + 1
        draft.insert(phrase, _BEFORE - length, marks[0], marks[0], after=False)
        draft.insert(phrase, length, marks[1], marks[1], after=True)
        draft.marked.append((phrase[0], True))


def _insert(draft: _Draft, random: Random) -> None:
    """Insert marks at the same place of both sides: at the beginning, at the end, before or after a phrase."""
    phrase = draft.find(random, longest=2) if random.random() < 0.5 else None
    if phrase is None:
        _insert_outside(draft, random)
        return
    code, glued, after = _code(draft, random), random.random() < 0.5, random.random() < 0.7
    reach = phrase[0][1] - phrase[0][0] + 1.5  # outside marks around this phrase, inside those around longer ones
    texts = list[str]()
    for side, span in enumerate(phrase):
        last_letter = draft.pair[side][draft.place(side, (span[after], span[after]))[1] - 1]
        space = "" if glued or is_unspaced(last_letter) else " "
        texts.append(space + code if after else code + space)
    if code:
        draft.insert(phrase, reach if after else _BEFORE - reach, *texts, after=after)
    draft.marked.append((phrase[0], False))


def _insert_outside(draft: _Draft, random: Random) -> None:
    code, space, begin = _code(draft, random), " " if random.random() < 0.6 else "", random.random() < 0.5
    if code:
        draft.insert_at_ends(code + space if begin else "", "" if begin else space + code)


def _code(draft: _Draft, random: Random) -> str:
    """One mark, or two or three with the same separator between them."""
    count = random.choices((1, 2, 3), (75, 18, 7))[0]
    return random.choice(_JOINERS).join(draft.new_marks(count))


def _annotate(draft: _Draft, random: Random) -> None:
    """Insert target forms after one to three content words or phrases of the source."""
    wanted = random.choices(_TERMS, _TERM_WEIGHTS)[0]
    for _ in range(TERM_ATTEMPTS):
        phrase = draft.find(random, longest=2) if wanted else None
        if phrase is None:
            continue
        begin, end = draft.place(1, phrase[1])
        form = draft.pair.target[begin:end]
        common = any(draft.is_common(side, (edge, edge)) for side in range(2) for edge in phrase[side])
        if common or not draft.is_sure(phrase) or not _PLAIN.fullmatch(form):
            continue
        end = draft.place(0, phrase[0])[1]
        draft.edits[0].append(_Edit(end, end, 0, annotated("", _other_form(form, draft.forms, random))))
        draft.marked.append((phrase[0], False))
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
