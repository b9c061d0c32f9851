"""Replace protected spans of a text by placeholders, and restore them in its translation.

    protected = protect("Press <b>{key}</b> now.", DEFAULT)
    restored = restore(translate_marked(protected.text), protected)

The model's input is marked text (see `text/marking.py`), without the tags and white space around the whole text. Each
span is restored at most once; missing, doubled and not well-formed ones are reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from limelight.text.marking import (
    ANNOTATION,
    FIRST_CODE,
    LAST_CODE,
    MARK,
    PLACEHOLDER,
    has_marks,
    mark_number,
    placeholder,
    text_placeholder,
)
from limelight.text.notations import SECTION, Found, Protector, Role
from limelight.text.protectors import find_spans
from limelight.text.words import is_unspaced

VALUE = "value"
"""The name of a span with tags that says something itself, such as `<b>{x}</b>`."""
_ANNOTATED = re.compile(rf"\w* ?{ANNOTATION.pattern}")
"""An annotated term with its last word."""
_SCRIPT = re.compile(r"\S{1,4}")
_WORD_BEFORE = re.compile(r"[^\W_]+\Z")
_FORMULA = re.compile(r"(?:(?:[A-Z][a-z]?\d*){1,4}|[a-z]{1,2}|\d+)(?![a-z])")
"""Symbols of elements, a unit, or a number."""
MAX_SPANS = LAST_CODE - FIRST_CODE
"""Maximum number of spans of a text; those after them are ordinary text."""


class Span(NamedTuple):
    """A protected part of a text."""

    text: str
    role: Role = "alone"
    partner: int = -1
    """The number of the other tag of a pair; -1 for none."""
    left: str = ""
    """The character before it in the marked text; empty at the beginning."""
    right: str = ""
    name: str = ""
    """The name of a tag; empty for other spans."""


class Protected(NamedTuple):
    """A text whose spans were replaced by placeholders, numbered from 0 in order: any number of them."""

    text: str
    """Marked text."""
    spans: tuple[Span, ...]
    prefix: str = ""
    """White space and tags before the text."""
    suffix: str = ""

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate besides spans."""
        return any(character.isalpha() for character in MARK.sub("", self.text))


class Restored(NamedTuple):
    """A translation with its spans, each at most once."""

    text: str
    missing: tuple[int, ...] = ()
    """Numbers of spans that the translation does not have."""
    doubled: tuple[int, ...] = ()
    """Numbers of spans that it had more than once; the first one was kept."""
    unknown: int = 0
    """Placeholders without a span; they were removed."""
    misplaced: tuple[int, ...] = ()
    """Numbers of opening tags that are not before their closing tag, or that cross another pair, and of tags that are
    inside another pair than in the source."""
    reordered: tuple[int, ...] = ()
    """Numbers of spans for positional arguments, such as `%s`, whose order has changed."""

    @property
    def is_whole(self) -> bool:
        """Whether each span occurs exactly once, at a permitted place."""
        return not any(self[1:])


def protect(text: str, protectors: Sequence[Protector]) -> Protected:
    """The text with a placeholder for each span.

    White space, single tags and pairs of tags around the whole text become its prefix and suffix. An element that
    contains only spans is one span.
    """
    found = _paired(_collapsed(text, _with_scripts(text, find_spans(text, protectors)))[:MAX_SPANS])
    begin, end, found = _inner(text, found)
    parts, places, place, size = [], list[int](), begin, 0
    for number, (span, _) in enumerate(found):
        parts += [text[place : span.begin], text_placeholder(number)]
        size += span.begin - place + 1
        places.append(size - 1)
        place = span.end
    marked = "".join([*parts, text[place:end]])
    spans = []
    for (span, partner), where in zip(found, places, strict=True):
        left, right = marked[max(0, where - 1) : where], marked[where + 1 : where + 2]
        spans.append(Span(span.text or text[span.begin : span.end], span.role, partner, left, right, span.name))
    return Protected(marked, tuple(spans), text[:begin], text[end:])


def protect_within(marked: str, protectors: Sequence[Protector]) -> Protected:
    """Marked text with further placeholders. Those that it has are kept and stand for themselves in `restore`, and so
    are annotated terms.

    Raises `ValueError` for more spans than there are placeholders.
    """
    kept = [match.span() for match in _ANNOTATED.finditer(marked)]
    found = [
        span
        for span in find_spans(marked, protectors)
        if not has_marks(marked[span.begin : span.end])
        and not any(begin < span.end and span.begin < end for begin, end in kept)
    ]
    there = [mark_number(mark) for mark in PLACEHOLDER.findall(marked)]
    spans = [Span(placeholder(number)) for number in range(1 + max(there, default=-1))]
    parts, place = list[str](), 0
    for number, span in enumerate(found, start=len(spans)):
        parts += [marked[place : span.begin], placeholder(number)]
        place = span.end
    text = "".join([*parts, marked[place:]])
    for number, span in enumerate(found, start=len(spans)):
        left, _, right = text.partition(placeholder(number))
        shown = span.text or marked[span.begin : span.end]
        spans.append(Span(shown, span.role, -1, left[-1:], right[:1], span.name))
    return Protected(text, tuple(spans))


def restore(marked: str, protected: Protected) -> Restored:
    """The translation of `protected.text` with its spans, and its faults.

    Spaces around a span become as in the source if the adjacent character is of the same kind.
    """
    text, marks, doubled, unknown = _kept_once(marked.strip(), len(protected.spans))
    for number, mark in marks.items():
        text = _spaced(text, mark, protected.spans[number])
    order = list(marks)
    whole = MARK.sub(lambda match: protected.spans[mark_number(match[0])].text, text)
    missing = tuple(number for number in range(len(protected.spans)) if number not in marks)
    misplaced = find_misplaced(order, protected.spans)
    sequence = [number for number in order if protected.spans[number].role == "sequential"]
    reordered = tuple(now for now, was in zip(sequence, sorted(sequence), strict=True) if now != was)
    text = protected.prefix + whole + protected.suffix
    return Restored(text, missing, doubled, unknown, misplaced, reordered)


class _Marked(NamedTuple):
    """A span while a text is protected."""

    span: Found
    partner: int = -1


def _with_scripts(text: str, spans: list[Found]) -> list[Found]:
    """The spans, with raised and lowered letters merged with the formula that they are part of: `H<sub>2</sub>O`.
    After any other word, a pair of tags around digits or signs is one span, such as a note: `word<sup>1</sup>`."""
    found, place, formula = list[Found](), 0, -1
    while place < len(spans):
        first, last = spans[place], spans[min(place + 1, len(spans) - 1)]
        inside = text[first.end : last.begin]
        is_pair = (first.role, last.role, first.name) == ("open", "close", last.name) and _SCRIPT.fullmatch(inside)
        left = _WORD_BEFORE.search(text, max(0, first.begin - 20), first.begin) if is_pair else None
        raised = first.name.lstrip("<").lower() in ("sub", "sup")
        if is_pair and raised and (formula == first.begin or (left and _FORMULA.fullmatch(left[0]))):
            begin = found.pop().begin if formula == first.begin else left.start() if left else first.begin
            rest = _FORMULA.match(text, last.end)
            formula = rest.end() if rest else last.end
            found.append(Found(begin, formula, name=VALUE))
        elif left and not any(map(str.isalpha, inside)):
            found.append(Found(first.begin, last.end, "alone", first.name or "script"))
        else:
            found.append(first)
            place -= 1
        place += 2
    return found


def _collapsed(text: str, spans: Sequence[Found]) -> list[Found]:
    """The spans, with each pair of tags that contains only spans merged into one."""
    found: list[Found] = []
    for span in spans:
        found.append(span)
        begin = _empty_element(found) if span.role == "close" else None
        if begin is not None:
            inside = found[begin:]
            name = span.name if all(each.name not in ("", VALUE) for each in inside) else VALUE
            shown = "".join(each.text or text[each.begin : each.end] for each in inside)
            found[begin:] = [Found(inside[0].begin, span.end, "alone", name, shown)]
    return found


def _empty_element(spans: Sequence[Found]) -> int | None:
    """The index of the tag that opens the element that the last span closes, if the element has no text."""
    for place in range(len(spans) - 2, -1, -1):
        if spans[place].end != spans[place + 1].begin or spans[place].role == "close":
            return None
        if spans[place].role == "open":
            return place if spans[place].name == spans[-1].name else None
    return None


def _paired(spans: Sequence[Found]) -> list[_Marked]:
    """The spans with the other tag of each pair; tags without one become single tags."""
    partners, opened = [-1] * len(spans), list[int]()
    for number, span in enumerate(spans):
        if span.role == "open":
            opened.append(number)
        elif span.role == "close" and any(spans[other].name == span.name for other in opened):
            while spans[opened[-1]].name != span.name:
                opened.pop()
            partners[number] = opened.pop()
            partners[partners[number]] = number
    return [
        _Marked(_single(span) if partner < 0 and span.role in ("open", "close") else span, partner)
        for span, partner in zip(spans, partners, strict=True)
    ]


def _single(span: Found) -> Found:
    """A tag without its partner. Half a section, such as `{{/x}}`, is a variable as far as can be known."""
    return span._replace(role="alone", name="" if span.name.startswith(SECTION) else span.name)


def _inner(text: str, found: list[_Marked]) -> tuple[int, int, list[_Marked]]:
    """Where a text begins and ends without the white space and the markup around it, and the spans in it."""
    first, last = 0, len(found)
    begin, end = _stripped(text, 0, len(text))
    while first < last:
        head, tail = found[first], found[last - 1]
        at_begin, at_end = head.span.begin == begin, tail.span.end == end
        around = at_begin and at_end and head.partner == last - 1
        before = around or (at_begin and head.partner < 0 and head.span.name not in ("", VALUE))
        after = around or (at_end and not before and tail.partner < 0 and tail.span.name not in ("", VALUE))
        if not (before or after):
            break
        first, last = first + before, last - after
        begin, end = _stripped(text, head.span.end if before else begin, tail.span.begin if after else end)
    inside = [each._replace(partner=each.partner - first if each.partner >= 0 else -1) for each in found[first:last]]
    return begin, end, inside


def _stripped(text: str, begin: int, end: int) -> tuple[int, int]:
    """The same part of a text without white space around it."""
    inside = text[begin:end].lstrip()
    return end - len(inside), end - len(inside) + len(inside.rstrip())


def _kept_once(marked: str, count: int) -> tuple[str, dict[int, str], tuple[int, ...], int]:
    """The text with only the first occurrence of each mark, the marks by their numbers in order, the numbers of those
    that occurred more than once, and how many marks belonged to none of `count` spans."""
    order, doubled, unknown = dict[int, str](), set[int](), 0
    parts, place = [], 0
    for match in MARK.finditer(marked):
        number = mark_number(match[0])
        if number < count and number not in order:
            order[number] = match[0]
            continue
        unknown += number >= count
        doubled |= {number} & order.keys()
        parts.append(marked[place : match.start()])
        place = match.end()
        if parts[-1].endswith(" ") and marked[place : place + 1] == " ":
            place += 1  # one of the two spaces around it
    return "".join([*parts, marked[place:]]).strip(), order, tuple(sorted(doubled)), unknown


def _spaced(text: str, mark: str, span: Span) -> str:
    """The text with the spaces beside a mark as they were in the source."""
    left, mark, right = text.partition(mark)
    if span.role == "space":
        left, right = left.rstrip(" " * (span.left != " ")), right.lstrip(" " * (span.right != " "))
        return left + mark + right
    left = _beside(left[::-1], span.left, inner=span.role == "close")[::-1]
    return left + mark + _beside(right, span.right, inner=span.role == "open")


def _beside(text: str, was: str, *, inner: bool) -> str:
    """`text`, which follows a mark, with or without a space at its beginning, as in the source, where `was` follows the
    mark. `inner`: whether it is inside an element."""
    rest = text.lstrip(" ")
    if not rest or not was:
        return text
    if was == " " and rest == text and text[0].isalnum() and not is_unspaced(text[0]):
        return f" {text}"
    same = was == rest[0] and not was.isalnum()
    return rest if was != " " and (same or inner) else text


def find_misplaced(order: Sequence[int], spans: Sequence[Span]) -> tuple[int, ...]:
    """The opening tags of complete pairs that are not properly nested, and the tags that are inside another pair than
    in the source."""
    opened, found, there = list[int](), set[int](), {*order}
    for number in order:
        partner = spans[number].partner
        if partner not in there:
            continue
        if spans[number].role == "open":
            opened.append(number)
        elif opened and opened[-1] == partner:
            opened.pop()
        else:
            found.add(partner)
            opened = [other for other in opened if other != partner]
    if not found:
        was, now = _parents(sorted(order), spans), _parents(order, spans)
        found = {number for number in order if spans[number].name and was[number] != now[number]}
        found = {min(number, spans[number].partner) if spans[number].partner in there else number for number in found}
    return tuple(sorted(found))


def _parents(order: Sequence[int], spans: Sequence[Span]) -> dict[int, int]:
    """For each span the tag that opens the innermost pair around it; -1 for none. A tag whose partner is in another
    sentence is around all that follows or precedes it."""
    opened = [number for number in reversed(order) if spans[number].role == "close" and spans[number].partner < 0]
    found, there = dict[int, int](), {*order}
    for number in order:
        role, partner = spans[number].role, spans[number].partner
        if role == "close" and opened and opened[-1] in (partner, number):
            opened.pop()
        found[number] = opened[-1] if opened else -1
        if role == "open" and (partner < 0 or partner in there):
            opened.append(number)
    return found
