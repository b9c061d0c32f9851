"""Repair the placeholders of a translated sentence: each exactly once, nested and in order, or marked as failed.

Tags are not in the model's input, and a model may lose other placeholders. Both are placed by the model's attention
weights. These are distributed over neighboring words, so no single weight decides. A single placeholder is placed where
it best separates the translation of the words before it from that of the words after it. A pair of tags is placed
around the words that attend more to the inside of the pair than to the outside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from limelight.config import Direction
from limelight.decoding.ensemble import Ensemble
from limelight.inspection.probe import probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.pipelines.codec import Codec
from limelight.pipelines.translation import Translation
from limelight.text.marking import MARK, mark_number, placeholder
from limelight.text.plan import MarkedSentence, renumbered, without_placeholders
from limelight.text.sentences import MAX_TOKENS
from limelight.text.spans import Span, find_misplaced
from limelight.text.words import word_spans
from limelight.tokens.marked import decode_marked, encode_marked

Weights = npt.NDArray[np.float32]

NEAR = 3.0
"""The distance in tokens at which the influence of a source token on the place of a placeholder is halved."""
MAX_ATTENDED = 2 * MAX_TOKENS
"""Tokens of a sentence or its translation for which attention weights are computed."""

_MARK = re.compile(rf"(?: (?={MARK.pattern} ))?({MARK.pattern})")
"""A mark, with the space before it if there is one after it, too."""


class Attended(NamedTuple):
    """A translation with the attention weights of its tokens. A slot is a possible place for marks."""

    parts: tuple[str, ...]
    """The words and marks of the translation: part i is between the slots i and i + 1."""
    rows: tuple[int, ...]
    """The number of tokens before each slot."""
    weights: Weights
    """(target tokens, source tokens), without the ends."""
    marks: dict[int, int]
    """Number of a placeholder -> index of the source token after it."""


Place = tuple[int, int]
"""The number of a slot, and the number of inserted marks before the place in this slot."""

Inserted = tuple[tuple[int, ...], ...]
"""The numbers of the marks that are inserted in each slot."""


def repair(codec: Codec, source: MarkedSentence, translation: Translation, direction: Direction | None) -> Translation:
    """The translation with each placeholder of its source exactly once; `moved` are those of the model's input that it
    lost, and `failed` those whose place is unknown or wrong."""
    spans, carried = source.spans, {mark_number(mark) for mark in MARK.findall(source.sent)}
    text, wrong = _in_order(_kept(translation.text, carried & {*range(len(spans))}), spans)
    missing = [number for number in range(len(spans)) if placeholder(number) not in text]
    attended = _attended(codec, source, text, missing, direction) if missing else None
    if attended is not None:
        text = place_marks(attended, spans, missing)
    elif missing:
        text += "".join(map(placeholder, missing))
        wrong |= {*missing}
    pairs = {number: span.partner for number, span in enumerate(spans) if span.role == "open" and span.partner >= 0}
    wrong |= {number for number, other in pairs.items() if placeholder(number) + placeholder(other) in text}
    wrong |= {*find_misplaced(_numbers(text), spans)}
    return replace(
        translation,
        text=text,
        moved=tuple(spans[number].text for number in missing if number in carried),
        failed=tuple(spans[number].text for number in sorted(wrong)),
    )


def place_marks(attended: Attended, spans: Sequence[Span], wanted: Sequence[int]) -> str:
    """The translation with these placeholders inserted. It must not have them yet.

    A pair of tags is inserted around words if both are missing; if one is present, it is not moved.
    """
    inserted: Inserted = ((),) * len(attended.rows)
    for number in sorted(wanted, key=lambda number: -_reach(number, spans, attended)):
        partner = spans[number].partner
        both = spans[number].role in ("open", "close") and partner in wanted
        if both and spans[number].role == "close":
            continue  # inserted together with the opening tag
        if both:
            options = (
                _with(_with(inserted, end, partner), begin, number)
                for begin, end in _around(attended, inserted, number, partner)
            )
        else:
            options = (_with(inserted, place, number) for place in _between(attended, inserted, number))
        tried = list[Inserted]()
        for option in options:
            tried.append(option)
            if not find_misplaced(_order(attended, option), spans):
                break
        else:
            tried = tried[:1]
        inserted = tried[-1]
    return _written(attended, inserted, spans)


def _reach(number: int, spans: Sequence[Span], attended: Attended) -> int:
    """The number of source tokens inside a pair of tags; outer pairs are placed first, and before them the tags whose
    partner is in another sentence."""
    partner = spans[number].partner
    if partner < 0 and spans[number].role in ("open", "close"):
        return attended.weights.shape[1] + 1
    return abs(attended.marks[partner] - attended.marks[number]) if partner in attended.marks else 0


def _between(attended: Attended, inserted: Inserted, number: int) -> Iterator[Place]:
    """All places, in order of how well they separate the text before a placeholder from the text after it."""
    here = attended.marks[number]
    tokens = np.arange(attended.weights.shape[1], dtype=np.float32)
    weights = attended.weights * np.exp2(-np.abs(tokens + 0.5 - here) / NEAR)
    before = _sums(weights[:, :here].sum(axis=1) - weights[:, here:].sum(axis=1))
    places = _places(inserted)
    yield from sorted(places, key=lambda place: -before[attended.rows[place[0]]])


def _around(attended: Attended, inserted: Inserted, number: int, partner: int) -> Iterator[tuple[Place, Place]]:
    """Places before and after the words inside a pair of tags: those with words and with the most attention to the
    inside come first; at the end places for a pair without text."""
    places = _places(inserted)
    slots = np.array([slot for slot, _ in places])
    inside = attended.weights[:, attended.marks[number] : attended.marks[partner]].sum(axis=1)
    before = _sums(2 * inside - attended.weights.sum(axis=1))[np.array(attended.rows)[slots]]
    words = _sums(np.array([any(map(str.isalnum, part)) for part in attended.parts]))[slots]
    begins, ends = np.nonzero(slots[:, None] < slots)
    order = np.lexsort((-(before[ends] - before[begins]), words[ends] == words[begins]))
    return chain(((places[begins[each]], places[ends[each]]) for each in order), ((place, place) for place in places))


def _sums(values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """The sum of the values before each place."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _places(inserted: Inserted) -> list[Place]:
    return [(slot, count) for slot, numbers in enumerate(inserted) for count in range(len(numbers) + 1)]


def _with(inserted: Inserted, place: Place, number: int) -> Inserted:
    slot, count = place
    numbers = inserted[slot]
    return (*inserted[:slot], (*numbers[:count], number, *numbers[count:]), *inserted[slot + 1 :])


def _numbers(text: str) -> list[int]:
    return [mark_number(mark) for mark in MARK.findall(text)]


def _order(attended: Attended, inserted: Inserted) -> list[int]:
    """The numbers of all marks, in the order of the text."""
    parts = (*attended.parts, "")
    return [number for here, part in zip(inserted, parts, strict=True) for number in (*here, *_numbers(part))]


def _written(attended: Attended, inserted: Inserted, spans: Sequence[Span]) -> str:
    """The text with its inserted marks. The space between two words is put on the side of a mark where its span has one
    in the source."""
    text = ""
    for numbers, part in zip(inserted, (*attended.parts, ""), strict=True):
        right = part
        for number in numbers:
            span = spans[number]
            spaced = (right.startswith(" ") or text.endswith(" ")) and span.role != "space"
            text, right = text.rstrip(" "), right.lstrip(" ")
            before = spaced and bool(text) and (span.left == " " or (span.right != " " and span.role != "close"))
            after = spaced and (span.right == " " or not before)
            text += " " * before + placeholder(number) + " " * after
        text += right
    return text.strip()


def _kept(text: str, carried: Collection[int]) -> str:
    """The text with the first occurrence of these marks and without any others."""
    left = {*carried}

    def keep(match: re.Match[str]) -> str:
        number = mark_number(match[1])
        if number not in left:
            return ""
        left.remove(number)
        return match[0]

    return _MARK.sub(keep, text).strip()


def _in_order(text: str, spans: Sequence[Span]) -> tuple[str, set[int]]:
    """The text with its sequential spans in the order of the source, and the numbers of those that were not."""
    order = [number for number in _numbers(text) if spans[number].role == "sequential"]
    turn = dict(zip(order, sorted(order), strict=True))
    changed = {number for number, now in turn.items() if number != now}
    return renumbered(text, [turn.get(number, number) for number in range(len(spans))]), changed


def _attended(
    codec: Codec, source: MarkedSentence, target: str, missing: Sequence[int], direction: Direction | None
) -> Attended | None:
    """The attention weights of a translation to its source, both without the missing placeholders; of an ensemble those
    of its first model. None for a model without cross-attention, and for more than `MAX_ATTENDED` tokens, whose weights
    would take gigabytes."""
    tokenizers = codec.tokenizers_of(direction)
    text, places = without_placeholders(source.text, missing, source.spans)
    source_ids, target_ids = encode_marked(tokenizers.source, text), encode_marked(tokenizers.target, target)
    if max(len(source_ids), len(target_ids)) > MAX_ATTENDED:
        return None
    model = cast(Seq2Seq, codec.model.members[0]) if isinstance(codec.model, Ensemble) else codec.model
    with eval_mode(model) as device, probe(model, weights=True) as seen:
        model(model.batch([source_ids], [target_ids]).to(device))
    if not (layers := seen.layers("cross")):
        return None
    cross = layers[-1][0].float().mean(dim=0).cpu().numpy()[: len(target_ids), : len(source_ids)].copy()
    cross[:, : len(source_ids) - len(encode_marked(codec.tokenizers.source, text))] = 0  # the language tag
    marks = {
        number: len(encode_marked(tokenizers.source, text[:place].rstrip(" "))) for number, place in places.items()
    }
    parts, rows = _parts(codec, target, target_ids)
    return Attended(parts, rows, np.asarray(cross), marks)


def _parts(codec: Codec, text: str, ids: Sequence[int]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words and marks of a text, divided only between tokens, and the number of tokens before each slot."""
    tokenizer = codec.tokenizers.target
    words, whole = tokenizer.word_of(ids), word_spans(text)
    parts, rows, end = list[str](), [0], 0
    for row in range(1, len(ids)):
        before = decode_marked(tokenizer, ids[:row])
        beside = before[-1:] + text[len(before) : len(before) + 1]
        divided = words[row] != words[row - 1] or not beside.isalnum()  # a mark, or a sign at the end of a word
        divided &= not any(begin < len(before) < last for begin, last in whole)  # don't, Tom's
        if divided and text.startswith(before) and len(before) > end:
            parts.append(text[end : len(before)])
            rows.append(row)
            end = len(before)
    return (*parts, text[end:]), (*rows, len(ids))
