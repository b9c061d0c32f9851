"""Replace protected spans of a text by placeholders, and restore them in its translation.

    text, spans = protect("Press <b>{key}</b> now.", DEFAULT)
    restored, failed = restore(translate_marked(text), spans)

The text with placeholders is marked text (see `text/marking.py`). Each span is restored at most once; missing and not
well-formed ones are reported.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from limelight.text.marking import (
    ANNOTATION,
    FIRST_CODE,
    LAST_CODE,
    MARK,
    PLACEHOLDER,
    Found,
    Protector,
    Role,
    mark_number,
    mark_numbers,
    placeholder,
    text_placeholder,
)
from limelight.text.protectors import SECTION, find_spans, without_overlaps
from limelight.text.words import is_unspaced, replaced

VALUE = "value"
"""The name of a span with tags that says something itself, such as `<b>{x}</b>`."""
_MARK = re.compile(rf"(?: (?={MARK.pattern} ))?({MARK.pattern})")
"""A mark, with the space before it if there is one after it, too."""
_KEPT = re.compile(rf"\w* ?{ANNOTATION.pattern}|{MARK.pattern}")
"""An annotated term with its last word, or a mark."""
_SCRIPT = re.compile(r"(?:[^\s\w]|\d){1,4}")
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


Protected = tuple[str, tuple[Span, ...]]
"""A marked text, and the spans of its placeholders, numbered from 0 in order."""


def protect(text: str, protectors: Sequence[Protector]) -> Protected:
    """The text with a placeholder of a whole text for each span. An element that contains only spans is one span."""
    spans = _collapsed(text, find_spans(text, protectors))[:MAX_SPANS]
    marks = [text_placeholder(number) for number in range(len(spans))]
    return _protected(text, spans, marks, _partners(spans))


def protect_within(marked: str, protectors: Sequence[Protector]) -> Protected:
    """Marked text with further placeholders. The placeholders that it has stand for themselves in `restore`; annotated
    terms stay text.

    Raises `ValueError` for more spans than there are placeholders.
    """
    kept = (match.span() for match in _KEPT.finditer(marked))
    spans_within = without_overlaps(find_spans(marked, protectors), kept)
    first = 1 + max(map(mark_number, PLACEHOLDER.findall(marked)), default=-1)
    marks = [placeholder(first + number) for number in range(len(spans_within))]
    text, spans = _protected(marked, spans_within, marks, [-1] * len(spans_within))
    return text, (*(Span(placeholder(number)) for number in range(first)), *spans)


def _protected(text: str, unmarked: Sequence[Found], marks: Sequence[str], partners: Sequence[int]) -> Protected:
    """The text with a mark in place of each span, and the spans as the marked text has them."""
    marked = replaced(text, ((span.begin, span.end, mark) for span, mark in zip(unmarked, marks, strict=True)))
    spans, index = list[Span](), -1
    for span, mark, partner in zip(unmarked, marks, partners, strict=True):
        index = marked.index(mark, index + 1)
        left, right = marked[max(0, index - 1) : index], marked[index + 1 : index + 2]
        role, name = span.role, span.name
        if partner < 0 and role in ("open", "close"):  # half a section, such as `{{/x}}`, is a variable for all we know
            role, name = "alone", "" if name.startswith(SECTION) else name
        spans.append(Span(span.text or text[span.begin : span.end], role, partner, left, right, name))
    return marked, tuple(spans)


def kept_once(text: str, carried: Collection[int]) -> str:
    """The text with the first occurrence of these marks and without any others, with one of the two spaces around."""
    left = {*carried}

    def keep(match: re.Match[str]) -> str:
        number = mark_number(match[1])
        if number not in left:
            return ""
        left.remove(number)
        return match[0]

    return _MARK.sub(keep, text)


def restore(marked: str, spans: Sequence[Span]) -> tuple[str, tuple[int, ...]]:
    """The translation with its spans, each at most once, and the numbers of the spans that are missing in it, or are
    not nested as in the source.

    A space beside a span is added or removed, as in the source, if the adjacent character is of the same kind.
    """
    text = kept_once(marked, range(len(spans)))
    order = mark_numbers(text)
    parts = ["", *re.split(f"({MARK.pattern})", text), ""]  # texts and, at even indexes, marks
    for index, number in enumerate(order, start=1):
        _space(parts, 2 * index, spans[number])
    parts[2:-1:2] = [spans[number].text for number in order]
    failed = {*range(len(spans))}.difference(order) | {*find_misplaced(order, spans)}
    return "".join(parts), tuple(sorted(failed))


def _collapsed(text: str, spans: Sequence[Found]) -> list[Found]:
    """The spans, with each pair of tags that contains only spans merged into one, and each pair around a few digits or
    signs behind a word: `m<sup>2</sup>`."""
    collapsed: list[Found] = []
    for span in spans:
        collapsed.append(span)
        begin = _empty_element(collapsed) if span.role == "close" else None
        if begin is not None:
            inside = collapsed[begin:]
            name = span.name if all(inner.name not in ("", VALUE) for inner in inside) else VALUE
            shown = "".join(inner.text or text[inner.begin : inner.end] for inner in inside)
            collapsed[begin:] = [Found(inside[0].begin, span.end, "alone", name, shown)]
        elif len(collapsed) > 1 and (collapsed[-2].role, span.role, span.name) == ("open", "close", collapsed[-2].name):
            first = collapsed[-2]
            if text[first.begin - 1 : first.begin].isalnum() and _SCRIPT.fullmatch(text, first.end, span.begin):
                collapsed[-2:] = [Found(first.begin, span.end, name=VALUE)]
    return collapsed


def _empty_element(spans: Sequence[Found]) -> int | None:
    """The index of the tag that opens the element that the last span closes, if the element has no text."""
    for number in range(len(spans) - 2, -1, -1):
        if spans[number].end != spans[number + 1].begin or spans[number].role == "close":
            return None
        if spans[number].role == "open":
            return number if spans[number].name == spans[-1].name else None
    return None


def _partners(spans: Sequence[Found]) -> list[int]:
    """The number of the other tag of each pair; -1 for other spans."""
    partners, opened, names = [-1] * len(spans), list[int](), Counter[str]()
    for number, span in enumerate(spans):
        if span.role == "open":
            opened.append(number)
            names[span.name] += 1
        while span.role == "close" and names[span.name] and partners[number] < 0:
            last = opened.pop()
            names[spans[last].name] -= 1
            if spans[last].name == span.name:
                partners[number], partners[last] = last, number
    return partners


def _space(parts: list[str], index: int, span: Span) -> None:
    """Make the spaces beside the mark at this index as they were in the source."""
    before, left, _, right, after = parts[index - 2 : index + 3]
    if span.role == "space":
        left, right = left.rstrip(" " * (span.left != " ")), right.lstrip(" " * (span.right != " "))
    else:
        left = _beside((before + left)[::-1], span.left, inner=span.role == "close")[::-1].removeprefix(before)
        right = _beside(right + after, span.right, inner=span.role == "open").removesuffix(after)
    parts[index - 1], parts[index + 1] = left, right


def _beside(text: str, in_source: str, *, inner: bool) -> str:
    """A text that follows a mark, with or without a space at its beginning.

    Args:
        in_source: the character that follows the mark in the source; empty at its end.
        inner: whether the text is inside an element.
    """
    bare = text.lstrip(" ")
    if not bare or not in_source:
        return text
    if in_source == " " and bare == text and text[0].isalnum() and not is_unspaced(text[0]):
        return f" {text}"
    is_same_sign = in_source == bare[0] and not in_source.isalnum()
    return bare if in_source != " " and (is_same_sign or inner) else text


def find_misplaced(order: Sequence[int], spans: Sequence[Span]) -> tuple[int, ...]:
    """The opening tags of complete pairs that are not properly nested, and the tags that are inside another pair than
    in the source."""
    kept = {*order}
    parents, misplaced = _nesting(order, spans)
    if not misplaced:
        in_source, _ = _nesting(sorted(order), spans)
        misplaced = {number for number in order if spans[number].name and parents[number] != in_source[number]}
        misplaced = {
            min(number, spans[number].partner) if spans[number].partner in kept else number for number in misplaced
        }
    return tuple(sorted(misplaced))


def _nesting(order: Sequence[int], spans: Sequence[Span]) -> tuple[dict[int, int], set[int]]:
    """For each span the number of the tag that opens the innermost pair around it, or -1; and the opening tags of
    complete pairs that cross others. A tag whose partner is in another sentence encloses all that follows or precedes
    it."""
    kept = {*order}
    complete = {number for number in order if spans[number].partner in kept}
    opened = [number for number in reversed(order) if spans[number].role == "close" and spans[number].partner < 0]
    parents, crossed = dict[int, int](), set[int]()
    for number in order:
        role, partner = spans[number].role, spans[number].partner
        if (
            role == "close"
            and number in complete
            and next((other for other in reversed(opened) if other in complete), None) != partner
        ):
            crossed.add(partner)
            opened = [other for other in opened if other != partner]
        elif role == "close" and opened and opened[-1] in (partner, number):
            opened.pop()
        parents[number] = opened[-1] if opened else -1
        if role == "open" and (partner < 0 or number in complete):
            opened.append(number)
    return parents, crossed
