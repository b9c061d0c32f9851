"""Place lost or misplaced placeholders of a translation by the model's attention weights.

Attention weights are distributed over neighboring words, so no single weight decides. A single placeholder is placed
where it best separates the translation of the words before it from that of the words after it. A pair of tags is placed
around the words that attend more to the inside of the pair than to the outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.text.marking import MARK, mark_number, placeholder
from limelight.text.protect import Span, find_misplaced

Weights = npt.NDArray[np.float32]

NEAR = 3.0
"""The distance in tokens at which the influence of a source token on the place of a placeholder is halved."""


class Slot(NamedTuple):
    """A possible place for a mark in a translation."""

    row: int
    """Number of tokens of the translation before it."""
    place: int
    """Number of characters before it."""


class Attended(NamedTuple):
    """A translation with the attention weights of its tokens."""

    text: str
    """Marked text."""
    slots: tuple[Slot, ...]
    weights: Weights
    """(target tokens, source tokens), without the ends."""
    marks: dict[int, int]
    """Number of a placeholder -> index of the source token after it."""


def place_marks(attended: Attended, spans: Sequence[Span], wanted: Sequence[int]) -> str:
    """The translation with these placeholders inserted. It must not have them yet.

    A pair of tags is inserted around words if both are missing; if one is present, it is not moved.
    """
    text, slots = attended.text, list(attended.slots)
    for number in sorted(wanted, key=lambda number: -_reach(number, spans, attended)):
        partner = spans[number].partner
        if spans[number].role == "close" and partner in wanted:
            continue  # inserted together with the opening tag
        if spans[number].role == "open" and partner in wanted:
            begin, end = _around(attended, text, slots, spans, number)
            text, slots = _inserted(text, slots, end, partner, spans[partner])
            text, slots = _inserted(text, slots, begin, number, spans[number])
        else:
            at = _between(attended, text, slots, spans, number)
            text, slots = _inserted(text, slots, at, number, spans[number])
    return text


def _reach(number: int, spans: Sequence[Span], attended: Attended) -> int:
    """The number of source tokens inside a pair of tags; outer pairs are placed first, and before them the tags whose
    partner is in another sentence."""
    partner = spans[number].partner
    if partner < 0 and spans[number].role in ("open", "close"):
        return attended.weights.shape[1] + 1
    return abs(attended.marks[partner] - attended.marks[number]) if partner in attended.marks else 0


def _between(attended: Attended, text: str, slots: Sequence[Slot], spans: Sequence[Span], number: int) -> int:
    """The number of the slot that best separates the text before a placeholder from the text after it."""
    here = attended.marks[number]
    weights = attended.weights * _nearness(attended.weights.shape[1], here)
    gain = weights[:, :here].sum(axis=1) - weights[:, here:].sum(axis=1)
    before = np.concatenate([[0.0], np.cumsum(gain)])
    scores = [float(before[slot.row]) for slot in slots]
    ranked = sorted(range(len(slots)), key=lambda place: -scores[place])
    fits = [place for place in ranked if _is_nested(text, slots[place].place, number, spans)]
    return (fits or ranked)[0]


def _around(
    attended: Attended, text: str, slots: Sequence[Slot], spans: Sequence[Span], number: int
) -> tuple[int, int]:
    """The numbers of the slots before and after the words inside a pair of tags: with at least one word if possible."""
    partner = spans[number].partner
    begin, end = attended.marks[number], attended.marks[partner]
    inside = attended.weights[:, begin:end].sum(axis=1)
    gain = inside - (attended.weights.sum(axis=1) - inside)
    before = np.concatenate([[0.0], np.cumsum(gain)])
    best, found = (False, -np.inf), (-1, -1)
    for first in range(len(slots) - 1):
        for last in range(first + 1, len(slots)):
            has_words = any(map(str.isalnum, text[slots[first].place : slots[last].place]))
            score = has_words, float(before[slots[last].row] - before[slots[first].row])
            if score > best and slots[last].row > slots[first].row:
                whole = _with(_with(text, slots[last].place, partner), slots[first].place, number)
                if _well_formed(whole, spans):
                    best, found = score, (first, last)
    return found if found[0] >= 0 else _empty(text, slots, spans, number)


def _empty(text: str, slots: Sequence[Slot], spans: Sequence[Span], number: int) -> tuple[int, int]:
    """The number of a slot, twice, where a pair of tags without text is nested as in the source."""
    pair = placeholder(number) + placeholder(spans[number].partner)
    for at, slot in enumerate(slots):
        if _well_formed(text[: slot.place] + pair + text[slot.place :], spans):
            return at, at
    return len(slots) - 1, len(slots) - 1


def _nearness(size: int, here: int) -> Weights:
    """(source tokens,): the influence of each token on a place, halved at every `NEAR` tokens of distance."""
    return np.exp2(-np.abs(np.arange(size, dtype=np.float32) + 0.5 - here) / NEAR)


def _with(text: str, place: int, number: int) -> str:
    return text[:place] + placeholder(number) + text[place:]


def _is_nested(text: str, place: int, number: int, spans: Sequence[Span]) -> bool:
    return _well_formed(_with(text, place, number), spans)


def _well_formed(text: str, spans: Sequence[Span]) -> bool:
    """Whether all complete pairs are nested as in the source."""
    return not find_misplaced([mark_number(mark) for mark in MARK.findall(text)], spans)


def _inserted(text: str, slots: Sequence[Slot], at: int, number: int, span: Span) -> tuple[str, list[Slot]]:
    """The text with a placeholder at a slot, which is before the space between two words, and the new slots. The space
    is put on the side where the span has one in the source."""
    place = slots[at].place
    left, right = text[:place], text[place:]
    spaced = right.startswith(" ") or left.endswith(" ")
    left, right = left.rstrip(" "), right.lstrip(" ")
    spaced = spaced and span.role != "space"
    before = spaced and bool(left) and (span.left == " " or (span.right != " " and span.role != "close"))
    after = spaced and bool(right) and (span.right == " " or not before)
    mark = " " * before + placeholder(number) + " " * after
    moved = len(left) + len(mark) + len(right) - len(text)
    begin = Slot(slots[at].row, len(left) + before)
    end = Slot(slots[at].row, len(left) + before + 1)
    others = [Slot(row, there + moved) for row, there in slots[at + 1 :]]
    return left + mark + right, [*slots[:at], begin, end, *others]
