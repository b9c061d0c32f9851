"""Repair the placeholders of a translated sentence: each exactly once, nested and in order, or marked as failed.

Tags are not in the model's input, and a model may lose other placeholders. Both are placed by the model's attention
weights. These are distributed over neighboring words, so no single weight decides. A single placeholder is placed where
it best separates the translations of the words before it and after it. A pair of tags is placed
around the words that attend more to the inside of the pair than to the outside.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.config import Direction
from limelight.decoding.ensemble import Ensemble
from limelight.inspection.probe import attention_of
from limelight.pipelines.codec import Codec
from limelight.pipelines.translation import Translation
from limelight.text.marking import mark_numbers, placeholder
from limelight.text.plan import MarkedSentence, renumbered, without_placeholders
from limelight.text.sentences import MAX_TOKENS
from limelight.text.spans import Span, find_misplaced, kept_once
from limelight.text.words import word_spans
from limelight.tokens.marked import decode_marked, encode_marked

Weights = npt.NDArray[np.float32]

NEAR = 3.0
"""The distance in tokens at which the influence of a source token on the place of a placeholder is halved."""
MAX_ATTENDED = 2 * MAX_TOKENS
"""Tokens of a sentence or its translation for which attention weights are computed."""


class Attended(NamedTuple):
    """A translation with the attention weights of its tokens."""

    parts: tuple[str, ...]
    """The words and marks of the translation."""
    rows: tuple[int, ...]
    """The number of tokens before each part, and of all tokens."""
    weights: Weights
    """(target tokens, source tokens), without the ends."""
    marks: dict[int, int]
    """Number of a placeholder -> index of the source token after it."""


Items = list[str | int]
"""The parts of a translation, with the numbers of inserted marks between them."""


def repair(codec: Codec, source: MarkedSentence, translation: Translation, direction: Direction | None) -> Translation:
    """The translation with each placeholder of its source exactly once; `moved` are those of the model's input that it
    lost, and `failed` those whose place is unknown or wrong."""
    spans, carried = source.spans, set(mark_numbers(source.sent))
    text, wrong = _in_order(kept_once(translation.text, carried & {*range(len(spans))}).strip(), spans)
    missing = [number for number in range(len(spans)) if placeholder(number) not in text]
    attended = _attended(codec, source, text, missing, direction) if missing else None
    if attended is not None:
        text = place_marks(attended, spans, missing)
    elif missing:
        text += "".join(map(placeholder, missing))
        wrong |= {*missing}
    pairs = {number: span.partner for number, span in enumerate(spans) if span.role == "open" and span.partner >= 0}
    wrong |= {number for number, other in pairs.items() if placeholder(number) + placeholder(other) in text}
    wrong |= {*find_misplaced(mark_numbers(text), spans)}
    return replace(
        translation,
        text=text,
        moved=tuple(spans[number].text for number in missing if number in carried),
        failed=tuple(spans[number].text for number in sorted(wrong)),
    )


def place_marks(attended: Attended, spans: Sequence[Span], wanted: Sequence[int]) -> str:
    """The translation with these placeholders inserted. It must not have them yet.

    A pair of tags is inserted around words if both are missing; if one is present, it is not moved. Of the positions
    that leave all marks nested and in order the best ones are taken, or the best of all if there are none.
    """
    items: Items = [*attended.parts]
    for number in sorted(wanted, key=lambda number: -_reach(number, spans, attended)):
        span = spans[number]
        if span.role not in ("open", "close") or span.partner not in wanted:
            single = ((position,) for position in _between(attended, items, number))
            items = _with_marks(items, [number], single, spans)
        elif span.role == "open":
            pairs = _around(attended, items, number, span.partner)
            items = _with_marks(items, [number, span.partner], pairs, spans)
    return _written(items, spans)


def _with_marks(
    items: Items, numbers: Sequence[int], options: Iterable[tuple[int, ...]], spans: Sequence[Span]
) -> Items:
    """The items with marks at the first option, positions in the items, where all marks are nested and in order; or at
    the first of all options. Options between the same marks of the items have the same order, which is checked once."""
    marks = [[item] if isinstance(item, int) else mark_numbers(item) for item in items]
    order, before = [*chain(*marks)], [*accumulate(map(len, marks), initial=0)]
    misplaced, best = set[tuple[int, ...]](), None
    for option in options:
        best = best or option
        gaps = tuple(before[position] for position in option)
        if gaps not in misplaced:
            if not find_misplaced(_inserted(order, numbers, gaps), spans):
                best = option
                break
            misplaced.add(gaps)
    assert best is not None  # every text has a position
    return _inserted(items, numbers, best)


def _inserted(items: Sequence[Any], numbers: Sequence[int], positions: Sequence[int]) -> list[Any]:
    """A sequence with numbers before the items at ascending positions."""
    result = [*items]
    for number, position in reversed([*zip(numbers, positions, strict=True)]):
        result.insert(position, number)
    return result


def _reach(number: int, spans: Sequence[Span], attended: Attended) -> int:
    """The number of source tokens inside a pair of tags; outer pairs are placed first, and before them the tags whose
    partner is in another sentence."""
    partner = spans[number].partner
    if partner < 0 and spans[number].role in ("open", "close"):
        return attended.weights.shape[1] + 1
    return abs(attended.marks[partner] - attended.marks[number]) if partner in attended.marks else 0


def _rows(attended: Attended, items: Items) -> npt.NDArray[np.int64]:
    """The number of tokens before each item, and of all."""
    counts = accumulate((isinstance(item, str) for item in items), initial=0)
    return np.array([attended.rows[count] for count in counts])


def _between(attended: Attended, items: Items, number: int) -> Iterator[int]:
    """All places, in order of how well they separate the text before a placeholder from the text after it."""
    at_mark, rows = attended.marks[number], _rows(attended, items)
    tokens = np.arange(attended.weights.shape[1], dtype=np.float32)
    weights = attended.weights * np.exp2(-np.abs(tokens + 0.5 - at_mark) / NEAR)
    before = _sums(weights[:, :at_mark].sum(axis=1) - weights[:, at_mark:].sum(axis=1))
    return iter(np.argsort(-before[rows], kind="stable").tolist())


def _around(attended: Attended, items: Items, number: int, partner: int) -> Iterator[tuple[int, int]]:
    """Places before and after the words inside a pair of tags: those with words and with the most attention to the
    inside come first; at the end places for a pair without text."""
    inside = attended.weights[:, attended.marks[number] : attended.marks[partner]].sum(axis=1)
    before = _sums(2 * inside - attended.weights.sum(axis=1))[_rows(attended, items)]
    words = _sums(np.array([isinstance(item, str) and any(map(str.isalnum, item)) for item in items]))
    parts = _sums(np.array([isinstance(item, str) for item in items]))
    begins, ends = np.nonzero(parts[:, None] < parts)
    order = np.lexsort((-(before[ends] - before[begins]), words[ends] == words[begins]))
    pairs = zip(begins[order].tolist(), ends[order].tolist(), strict=True)
    return chain(pairs, ((position, position) for position in range(len(items) + 1)))


def _sums(values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """The sum of the values before each place."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _written(items: Items, spans: Sequence[Span]) -> str:
    """The text with its inserted marks. The space between two words is put on the side of a mark where its span has one
    in the source."""
    text, parts = "", iter([*(item for item in items if isinstance(item, str)), ""])
    right = next(parts)
    for item in items:
        if isinstance(item, str):
            text, right = text + right, next(parts)
            continue
        span = spans[item]
        spaced = (right.startswith(" ") or text.endswith(" ")) and span.role != "space"
        text, right = text.rstrip(" "), right.lstrip(" ")
        before = spaced and bool(text) and (span.left == " " or (span.right != " " and span.role != "close"))
        after = spaced and (span.right == " " or not before)
        text += " " * before + placeholder(item) + " " * after
    return text.strip()


def _in_order(text: str, spans: Sequence[Span]) -> tuple[str, set[int]]:
    """The text with its sequential spans in the order of the source, and the numbers of those that were not."""
    order = [number for number in mark_numbers(text) if spans[number].role == "sequential"]
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
    model = codec.model.members[0] if isinstance(codec.model, Ensemble) else codec.model
    if not (layers := attention_of(model, model.batch([source_ids], [target_ids])).layers("cross")):
        return None
    cross = layers[-1][0].float().mean(dim=0).cpu().numpy()[: len(target_ids), : len(source_ids)].copy()
    cross[:, : len(source_ids) - len(encode_marked(codec.tokenizers.source, text))] = 0  # the language tag
    marks = {
        number: len(encode_marked(tokenizers.source, text[:position].rstrip(" ")))
        for number, position in places.items()
    }
    parts, rows = _parts(codec, target, target_ids)
    return Attended(parts, rows, np.asarray(cross), marks)


def _parts(codec: Codec, text: str, ids: Sequence[int]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words and marks of a text, divided only between tokens, and the number of tokens before each of them and of
    all."""
    tokenizer = codec.tokenizers.target
    words, spans = tokenizer.word_of(ids), word_spans(text)
    parts, rows, end = list[str](), [0], 0
    for row in range(1, len(ids)):
        before = decode_marked(tokenizer, ids[:row])
        beside = before[-1:] + text[len(before) : len(before) + 1]
        divided = words[row] != words[row - 1] or not beside.isalnum()  # a mark, or a sign at the end of a word
        divided &= not any(begin < len(before) < last for begin, last in spans)  # don't, Tom's
        if divided and text.startswith(before) and len(before) > end:
            parts.append(text[end : len(before)])
            rows.append(row)
            end = len(before)
    return (*parts, text[end:]), (*rows, len(ids))
