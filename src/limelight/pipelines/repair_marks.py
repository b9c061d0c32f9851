"""Repair the placeholders of a translated sentence: each exactly once, nested and in order, or marked as failed.

A lost or misplaced one is placed by the model's attention weights. These are distributed over neighboring words, so no
single weight decides. A single placeholder is placed where it best separates the translation of the words before it
from that of the words after it. A pair of tags is placed around the words that attend more to the inside of the pair
than to the outside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.config import Direction
from limelight.inspection.probe import probe
from limelight.models.interface import eval_mode
from limelight.pipelines.codec import Codec
from limelight.text.marking import MARK, PLACEHOLDER, mark_number, placeholder
from limelight.text.plan import renumbered, without_placeholders
from limelight.text.sentences import MAX_TOKENS
from limelight.text.spans import VALUE, Span, find_misplaced
from limelight.text.words import is_unspaced, word_spans
from limelight.tokens.marked import decode_marked, encode_marked

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
            at = _slot_between(attended, text, slots, spans, number)
            text, slots = _inserted(text, slots, at, number, spans[number])
    return text


def _reach(number: int, spans: Sequence[Span], attended: Attended) -> int:
    """The number of source tokens inside a pair of tags; outer pairs are placed first, and before them the tags whose
    partner is in another sentence."""
    partner = spans[number].partner
    if partner < 0 and spans[number].role in ("open", "close"):
        return attended.weights.shape[1] + 1
    return abs(attended.marks[partner] - attended.marks[number]) if partner in attended.marks else 0


def _slot_between(attended: Attended, text: str, slots: Sequence[Slot], spans: Sequence[Span], number: int) -> int:
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
    return not find_misplaced(_order(text), spans)


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


MAX_ATTENDED = 2 * MAX_TOKENS
"""Tokens of a sentence or its translation for which attention weights are computed."""

_INSIDE_WORD = re.compile(rf"([^\W\d_])(?:{PLACEHOLDER.pattern})+(?=[^\W\d_])")


class Repaired(NamedTuple):
    """A sentence with its placeholders, and the numbers of those that were moved or whose place is not known."""

    text: str
    moved: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()

    is_whole: bool = False
    """Whether nothing had to be repaired."""


def repair(codec: Codec, source: str, spans: Sequence[Span], text: str, direction: Direction | None) -> Repaired:
    """A translation with each placeholder of the marked `source` exactly once."""
    empty = _without_words(source, text, spans)
    if not (empty or _faults(text, spans)):
        return Repaired(text, is_whole=True)
    text = _kept(text, spans, empty)
    text, reordered = _in_order(text, spans)
    missing = [number for number in range(len(spans)) if placeholder(number) not in text]
    attended = _attended(codec, source, spans, text, missing, direction) if missing else None
    if missing and attended is None:
        appended = "".join(placeholder(number) for number in missing)
        return Repaired(text + appended, failed=(*missing, *reordered))
    if attended is not None:
        text = place_marks(attended, spans, missing)
    wrong = {*reordered, *_without_words(source, text, spans), *(_inside_words(source, spans) & {*missing})}
    wrong |= {*find_misplaced(_order(text), spans)}
    return Repaired(text, moved=tuple(missing), failed=tuple(sorted(wrong)))


def _order(text: str) -> list[int]:
    """The numbers of the placeholders of a marked text."""
    return [mark_number(mark) for mark in MARK.findall(text)]


def _faults(text: str, spans: Sequence[Span]) -> bool:
    """Whether a marked text does not have each span exactly once, well-formed and in order."""
    order = _order(text)
    if sorted(order) != [*range(len(spans))] or find_misplaced(order, spans):
        return True
    sequence = [number for number in order if spans[number].role == "sequential"]
    return sequence != sorted(sequence)


def _kept(text: str, spans: Sequence[Span], empty: Collection[int]) -> str:
    """The text without unknown marks, without duplicates, and without pairs that are not properly nested or are in
    `empty`."""
    kept, parts, place = set[int](), list[str](), 0
    present = dict.fromkeys(number for number in _order(text) if number < len(spans))
    misplaced = {*find_misplaced(list(present), spans), *empty}
    wrong = {*misplaced, *(spans[number].partner for number in misplaced)}
    for match in MARK.finditer(text):
        number = mark_number(match[0])
        parts.append(text[place : match.start()])
        place = match.end()
        if number < len(spans) and number not in kept and number not in wrong:
            kept.add(number)
            parts.append(match[0])
        elif parts[-1].endswith(" ") and text[place : place + 1] == " ":
            place += 1
    return "".join([*parts, text[place:]]).strip()


def _in_order(text: str, spans: Sequence[Span]) -> tuple[str, tuple[int, ...]]:
    """The text with its sequential spans in the order of the source, and the numbers of those that were not."""
    order = [number for mark in MARK.findall(text) if spans[number := mark_number(mark)].role == "sequential"]
    if order == sorted(order):
        return text, ()
    turn = dict(zip(order, sorted(order), strict=True))
    changed = tuple(number for number, now in turn.items() if number != now)
    return renumbered(text, [turn.get(number, number) for number in range(len(spans))]), changed


def _without_words(source: str, text: str, spans: Sequence[Span]) -> set[int]:
    """The opening tags of pairs around nothing, or around words in the source and none in the text."""
    found = set[int]()
    for number, span in enumerate(spans):
        if span.role == "open" and span.partner >= 0:
            was, now = (_between(each, number, span.partner) for each in (source, text))
            if now is not None and (not now.strip() or (_has_words(was or "", spans) and not _has_words(now, spans))):
                found.add(number)
    return found


def _between(text: str, number: int, partner: int) -> str | None:
    """What is between a pair of tags; None if there is no such pair."""
    begin, end = (text.find(placeholder(each)) for each in (number, partner))
    return text[begin + 1 : end] if 0 <= begin < end else None


def _has_words(text: str, spans: Sequence[Span]) -> bool:
    """Whether a part of a marked text has a letter, a digit, or a span that is no tag of a pair."""
    numbers = (mark_number(each) if PLACEHOLDER.match(each) else -1 for each in text)
    return any(
        each.isalnum() if number < 0 else number < len(spans) and spans[number].role not in ("open", "close")
        for each, number in zip(text, numbers, strict=True)
    )


def _inside_words(source: str, spans: Sequence[Span]) -> set[int]:
    """Tags inside a word: the place of a part of a word is not known in its translation."""
    found = set[int]()
    for match in _INSIDE_WORD.finditer(source):
        if not any(map(is_unspaced, match[1] + source[match.end()])):
            found |= {mark_number(mark) for mark in MARK.findall(match[0])}
    return {number for number in found if spans[number].name not in ("", VALUE) and spans[number].role != "space"}


def _attended(
    codec: Codec,
    source: str,
    spans: Sequence[Span],
    target: str,
    missing: Sequence[int],
    direction: Direction | None,
) -> Attended | None:
    """The attention weights of a translation to its source, both without the missing placeholders. None for a model
    without cross-attention, and for more than `MAX_ATTENDED` tokens, whose weights would take gigabytes."""
    tokenizers = codec.tokenizers_of(direction)
    text, places = without_placeholders(source, missing, spans)
    source_ids, target_ids = encode_marked(tokenizers.source, text), encode_marked(tokenizers.target, target)
    if max(len(source_ids), len(target_ids)) > MAX_ATTENDED:
        return None
    model = codec.model
    with eval_mode(model) as device, probe(model, weights=True) as seen:
        model(model.batch([source_ids], [target_ids]).to(device))
    if not (layers := seen.layers("cross")):  # an ensemble has none either
        return None
    cross = layers[-1][0].float().mean(dim=0).cpu().numpy()[: len(target_ids), : len(source_ids)].copy()
    cross[:, : len(source_ids) - len(encode_marked(codec.tokenizers.source, text))] = 0  # the language tag
    marks = {
        number: len(encode_marked(tokenizers.source, text[:place].rstrip(" "))) for number, place in places.items()
    }
    return Attended(target, _slots(codec, target, target_ids), np.asarray(cross), marks)


def _slots(codec: Codec, text: str, ids: Sequence[int]) -> tuple[Slot, ...]:
    """The places between the words and marks of a text that are also places between its tokens."""
    tokenizer = codec.tokenizers.target
    words = tokenizer.word_of(ids)
    whole = word_spans(text)
    slots = [Slot(0, 0)]
    for row in range(1, len(ids)):
        before = decode_marked(tokenizer, ids[:row])
        beside = before[-1:] + text[len(before) : len(before) + 1]
        divided = words[row] != words[row - 1] or not beside.isalnum()  # a mark, or a sign at the end of a word
        divided &= not any(begin < len(before) < end for begin, end in whole)  # don't, Tom's
        if divided and text.startswith(before) and len(before) > slots[-1].place:
            slots.append(Slot(row, len(before)))
    return (*slots, Slot(len(ids), len(text)))
