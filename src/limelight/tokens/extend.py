"""More tokens for an existing sentencepiece vocabulary: tags, single characters, and merges learned from further text.

New tokens get ids after the existing ones, and merges rank below all existing merges. So a text that contains none of
the new characters and none of the new merges keeps its segmentation, and the weights of a trained model stay valid
(`storage/model.py` adds their rows).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from limelight.errors import UserError
from limelight.tokens.sentencepiece import SentencePieceTokenizer
from limelight.tokens.sentencepiece_file import CONTROL, add_pieces, lowest_score
from limelight.tokens.tokenizer import PLACEHOLDERS, SPACE, UNKNOWN, Tokenizer, is_control, normalize

MIN_COUNT = 20
"""Minimum number of occurrences of a merge: a rarer token would hardly be trained."""
PRONOUNS = {"<formal>": ("Sie", "Ihnen", "Ihre", "vous", "votre"), "<informal>": ("du", "dich", "dein", "tu", "ton")}
"""Words whose mean the tag of a form of address begins with: from two equal beginnings, the tags would be learned as
different ones only after many updates."""
MAX_CHARACTERS = 16
"""Maximum number of characters of a merge, the default of sentencepiece."""

_MERGEABLE = re.compile(rf"{SPACE}?[^\W\d_]+|{SPACE}[^\w\s{SPACE}]")
"""Letters, or one sign after a space. Digits are not merged: a number should be spelled in the same way everywhere."""


class NewPiece(NamedTuple):
    """A token to be added, and the existing ids that it replaces."""

    text: str
    parts: tuple[int, ...]


class Extension(NamedTuple):
    """A larger tokenizer."""

    tokenizer: SentencePieceTokenizer
    parts: list[tuple[int, ...]]
    """For each new id, in order, the ids of the old vocabulary that stood for it."""


def extend_tokenizer(
    tokenizer: Tokenizer,
    *,
    tags: Sequence[str] = (),
    characters: Sequence[str] = (),
    texts: Iterable[str] = (),
    merges: int = 0,
) -> Extension:
    """Add the tags and the characters that the vocabulary lacks, then up to `merges` merges learned from `texts`.

    Args:
        tokenizer: a sentencepiece tokenizer; merges need kind `bpe`.
        tags: reserved tokens that are inserted as ids. A new one stands for all tags of languages at first,
            and that of a form of address for its pronouns.
        characters: single characters; those that the vocabulary has already are ignored.
        texts: read once.
        merges: maximum number of merges; each occurs at least `MIN_COUNT` times in `texts`.

    Raises:
        UserError: a tokenizer of another kind.
    """
    if not isinstance(tokenizer, SentencePieceTokenizer) or (merges and tokenizer.kind != "bpe"):
        raise UserError(
            f"a vocabulary of kind {tokenizer.kind} cannot be extended{' by merges' * bool(merges)}; bpe can"
            + " and, by characters, unigram" * (not merges)
        )
    lacking = [tag for tag in dict.fromkeys(tags) if tag not in tokenizer.reserved]
    old = [_like_words(tokenizer, PRONOUNS.get(tag, ())) or _like_tags(tokenizer) for tag in lacking]
    old_size, tokenizer = tokenizer.padding, _with_tags(tokenizer, lacking)
    for each in characters:
        if len(each) != 1 or normalize(each) != each:
            raise UserError(f"{each!r} is not a single normalized character that a text can contain")
    known = set(tokenizer.pieces(range(tokenizer.padding)))
    single = [NewPiece(each, _bytes_of(tokenizer, each)) for each in dict.fromkeys(characters) if each not in known]
    larger = _with(tokenizer, [piece.text for piece in single])
    learned = _learn_merges(larger, texts, merges) if merges else []
    old += [piece.parts for piece in single]
    # Parts of merges that are new characters are the bytes these replace.
    parts = [tuple(each for part in piece.parts for each in _old_ids(part, old_size, old)) for piece in learned]
    return Extension(_with(larger, [piece.text for piece in learned]), old + parts)


def _like_tags(tokenizer: SentencePieceTokenizer) -> tuple[int, ...]:
    """The ids whose mean a new tag begins with: the tags of languages, or else the placeholders."""
    tags = [piece for piece in tokenizer.reserved if is_control(piece) and piece not in PLACEHOLDERS]
    return tuple(map(tokenizer.reserved_id, tags or tokenizer.reserved)) or (UNKNOWN,)


def _like_words(tokenizer: SentencePieceTokenizer, words: Sequence[str]) -> tuple[int, ...]:
    """The ids of those words that are one token."""
    rows = tokenizer.encode_batch(words)
    return tuple(row[0] for row in rows if len(row) == 1 and row[0] != UNKNOWN)


def _with_tags(tokenizer: SentencePieceTokenizer, tags: Sequence[str]) -> SentencePieceTokenizer:
    """The same vocabulary with these reserved tokens after its own."""
    model = add_pieces(tokenizer.serialized, ((tag, 0.0) for tag in tags), kind=CONTROL)
    return SentencePieceTokenizer(model, kind=tokenizer.kind, reserved=(*tokenizer.reserved, *tags))


def _old_ids(part: int, old_size: int, new: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return (part,) if part < old_size else new[part - old_size]


def _with(tokenizer: SentencePieceTokenizer, pieces: Sequence[str]) -> SentencePieceTokenizer:
    """The same vocabulary with these pieces after its own; each ranks below those before it."""
    model = tokenizer.serialized
    lowest = lowest_score(model)
    scored = [(piece, lowest - 1 - number) for number, piece in enumerate(pieces)]
    return SentencePieceTokenizer(add_pieces(model, scored), kind=tokenizer.kind, reserved=tokenizer.reserved)


def _bytes_of(tokenizer: Tokenizer, character: str) -> tuple[int, ...]:
    """The ids that spell a character now, without the space before it."""
    ids = tokenizer.encode(character)
    return tuple(each for each, piece in zip(ids, tokenizer.pieces(ids), strict=True) if piece != SPACE)


class _Words:
    """The words of a corpus as rows of pieces, with the count of each pair of adjacent pieces (Sennrich et al. 2016,
    "Neural Machine Translation of Rare Words with Subword Units", algorithm 1)."""

    def __init__(self, rows: Sequence[list[str]], counts: Sequence[int]) -> None:
        self.rows, self.counts = rows, counts
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for number in range(len(rows)):
            self._count(number, 1)
        self.heap = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.heap)

    def _count(self, number: int, sign: int) -> set[tuple[str, str]]:
        """Add or remove the pairs of a word; returns them."""
        row = self.rows[number]
        seen = {pair for pair in pairwise(row) if _is_mergeable(*pair)}
        for pair in pairwise(row):
            if pair in seen:
                self.pairs[pair] += sign * self.counts[number]
        for pair in seen:
            (self.places[pair].add if sign > 0 else self.places[pair].discard)(number)
        return seen

    def best(self) -> tuple[str, str] | None:
        """The most frequent pair; None if every pair is rarer than `MIN_COUNT`."""
        while self.heap:
            count, pair = heapq.heappop(self.heap)
            if -count < MIN_COUNT:
                return None
            if self.pairs[pair] == -count:  # else the entry is out of date
                return pair
        return None

    def merge(self, first: str, second: str) -> None:
        """Replace the pair by its concatenation in every word."""
        changed: set[tuple[str, str]] = set()
        for number in list(self.places[first, second]):
            changed |= self._count(number, -1)
            self.rows[number][:] = _merged(self.rows[number], first, second)
            changed |= self._count(number, 1)
        for pair in changed:
            if self.pairs[pair] >= MIN_COUNT:
                heapq.heappush(self.heap, (-self.pairs[pair], pair))


def _is_mergeable(first: str, second: str) -> bool:
    both = first + second
    return len(both) <= MAX_CHARACTERS and _MERGEABLE.fullmatch(both) is not None


def _merged(row: Sequence[str], first: str, second: str) -> Iterator[str]:
    place = 0
    while place < len(row):
        if tuple(row[place : place + 2]) == (first, second):
            yield first + second
            place += 2
        else:
            yield row[place]
            place += 1


def _learn_merges(tokenizer: Tokenizer, texts: Iterable[str], merges: int) -> list[NewPiece]:
    """The most frequent merges, the first one first, with the ids of `tokenizer` that each replaces."""
    counted = Counter(word for text in texts for word in normalize(text).split(" "))
    frequent = sorted(word for word in counted if word)
    rows = [tokenizer.pieces(ids) for ids in tokenizer.encode_batch(frequent)]
    words = _Words(rows, [counted[word] for word in frequent])
    number_of = {piece: number for number, piece in enumerate(tokenizer.pieces(range(tokenizer.padding)))}
    parts: dict[str, tuple[int, ...]] = {}
    for _ in range(merges):
        pair = words.best()
        if pair is None:
            break
        text = "".join(pair)
        if text not in number_of and text not in parts:
            parts[text] = tuple(each for part in pair for each in parts.get(part, (number_of.get(part, 0),)))
        words.merge(*pair)
    return [NewPiece(text, ids) for text, ids in parts.items()]
