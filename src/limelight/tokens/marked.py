"""Encode and decode marked text: placeholders and term annotations become ids of reserved tokens.

Plain `encode` never does this. Text between marks is segmented separately. Spacing is preserved: a space before a mark
is a bare `▁`, and text that follows a mark without a space has no `▁` at its beginning, so "a<ph0>b" and "a <ph0> b"
have different ids. Spaces around the marks of a term are ignored: "cat <ph30> Katze <ph31> sleeps" is encoded as
"cat<ph30> Katze<ph31> sleeps".
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from limelight.errors import UserError
from limelight.text.marking import FORMALITY_MARKS, MARK, TERM_BEGIN, TERM_END, mark_number, mark_of
from limelight.tokens.stored import TaggedTokenizer
from limelight.tokens.tokenizer import (
    END_PIECE,
    FORMALITY_TAGS,
    PADDING_PIECE,
    PLACEHOLDERS,
    SPACE,
    UNKNOWN,
    Tokenizer,
    is_control,
    normalize,
)

_GUARD = "\U0010fffd"
"""A character outside every vocabulary, so that nothing merges with it: text after it is segmented as the inside of a
word."""
MARK_PIECES = (*PLACEHOLDERS, *FORMALITY_TAGS)
"""The token of each mark."""
_TAGS = tuple(FORMALITY_MARKS.values())
"""Marks between which a text is segmented as if it were alone."""
_BEGIN, _END = re.compile(f" *{TERM_BEGIN} *"), re.compile(f" *{TERM_END}")


class _Spacing(NamedTuple):
    """How a tokenizer handles spaces."""

    keeps: bool
    """Whether it encodes a text unchanged; otherwise it inserts a space at the beginning."""
    space: list[int]
    """The ids of a bare space."""
    guard: list[int]
    """The ids of `_GUARD`."""
    merges: bool
    """Whether adjacent unknown characters become one unknown id."""


class _Segment(NamedTuple):
    """A text between marks: its index, and the number of its first ids that belong to the guard."""

    number: int
    skipped: int


def encode_marked(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of one marked text; see `encode_marked_batch`."""
    return encode_marked_batch(tokenizer, [text])[0]


def encode_marked_batch(
    tokenizer: Tokenizer, texts: Sequence[str], *, amount: float = 0.0, seed: int = 0
) -> list[list[int]]:
    """The ids of marked texts, without an end id; texts between marks are sampled, see `Tokenizer.encode_sampled`.

    Raises `UserError` for a mark outside the vocabulary, and for sampling that the tokenizer does not support.
    """
    if isinstance(tokenizer, TaggedTokenizer):
        rows = encode_marked_batch(tokenizer.tokenizer, texts, amount=amount, seed=seed)
        return [[*tokenizer.tags, *row] for row in rows]
    spacing = _spacing_of(tokenizer)
    segments: list[str] = []
    plans = [_plan(tokenizer, spacing, text, segments) for text in texts]
    encoded = tokenizer.encode_sampled(segments, amount=amount, seed=seed)
    return [
        [
            number
            for part in plan
            for number in (encoded[part.number][part.skipped :] if isinstance(part, _Segment) else part)
        ]
        for plan in plans
    ]


def encode_mixed(
    tokenizer: Tokenizer, texts: Sequence[str], marked: Sequence[bool], *, amount: float, seed: int
) -> list[list[int]]:
    """The ids of texts, of which some are `marked`; in the others, marks are ordinary text."""
    plain = [text for text, is_marked in zip(texts, marked, strict=True) if not is_marked]
    others = [text for text, is_marked in zip(texts, marked, strict=True) if is_marked]
    rows = iter(tokenizer.encode_sampled(plain, amount=amount, seed=seed))
    with_marks = iter(encode_marked_batch(tokenizer, others, amount=amount, seed=seed) if others else [])
    return [next(with_marks if is_marked else rows) for is_marked in marked]


def decode_marked(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The marked text of `ids`: like `decode`, but including placeholders."""
    keeps = _keeps_spaces(tokenizer)
    text, segment = "", list[int]()
    for number, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        if piece in PLACEHOLDERS:
            text += _decoded(tokenizer, segment, keeps=keeps) + mark_of(PLACEHOLDERS.index(piece))
            segment = []
        elif not is_control(piece) and piece not in (END_PIECE, PADDING_PIECE):
            segment.append(number)
    text += _decoded(tokenizer, segment, keeps=keeps)
    return text if keeps else text.strip(" ")


def knows_marks(tokenizer: Tokenizer) -> bool:
    """Whether the vocabulary contains the reserved tokens for marks."""
    with suppress(UserError):
        require_marks(tokenizer)
        return True
    return False


def require_marks(tokenizer: Tokenizer) -> None:
    """Raises `UserError` if the vocabulary lacks the reserved tokens for marks."""
    try:
        for piece in PLACEHOLDERS:
            tokenizer.reserved_id(piece)
    except UserError as error:
        raise UserError(
            f"augmentation.placeholders, augmentation.figures and augmentation.terms need the tokens {PLACEHOLDERS[0]} "
            f"to {PLACEHOLDERS[-1]}, but {error}: set them to 0. Vocabularies that are learned here have them, "
            "most imported ones do not"
        ) from None


def _plan(tokenizer: Tokenizer, spacing: _Spacing, text: str, segments: list[str]) -> list[list[int] | _Segment]:
    """The parts of which the ids of a text are composed. Appends to `segments`."""
    text = _END.sub(TERM_END, _BEGIN.sub(f"{TERM_BEGIN} ", text))
    if not spacing.keeps:
        text = normalize(text)
    marks = MARK.findall(text)
    plan: list[list[int] | _Segment] = []
    for number, part in enumerate(MARK.split(text)):
        after_tag = number > 0 and marks[number - 1] in _TAGS
        glued = number > 0 and not part.startswith(" ") and not spacing.keeps and not after_tag
        if part if spacing.keeps else part.strip(" "):
            # The ids of the guard, of which an unknown character after it swallows one.
            merged = glued and spacing.merges and UNKNOWN in tokenizer.encode(part[0])
            plan.append(_Segment(len(segments), len(spacing.guard) * glued - merged))
            segments.append(_GUARD + part if glued else part)
        if number < len(marks):
            first = number == 0 and not part and marks[number] not in (TERM_BEGIN, *_TAGS)
            if not spacing.keeps and (part.endswith(" ") or first):
                plan.append(spacing.space)
            plan.append([tokenizer.reserved_id(MARK_PIECES[mark_number(marks[number])])])
    return plan


def _spacing_of(tokenizer: Tokenizer) -> _Spacing:
    guard = tokenizer.encode(_GUARD)
    space = guard[:1] if tokenizer.pieces(guard[:1]) == [SPACE] else []
    merges = guard[-1:] == [UNKNOWN] and len(tokenizer.encode(2 * _GUARD)) == len(guard)
    return _Spacing(_keeps_spaces(tokenizer), space, guard, merges)


def _keeps_spaces(tokenizer: Tokenizer) -> bool:
    return tokenizer.encode(" a") != tokenizer.encode("a")


def _decoded(tokenizer: Tokenizer, ids: list[int], *, keeps: bool) -> str:
    """Text between marks, including spaces at its ends."""
    text = tokenizer.decode(ids)
    if keeps or not ids:
        return text
    pieces = tokenizer.pieces(ids)
    before, after = pieces[0].startswith(SPACE), len(ids) > 1 and pieces[-1].endswith(SPACE)
    return " " * before + text.strip(" ") + " " * after
