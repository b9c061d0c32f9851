"""More tokens for an existing sentencepiece vocabulary: tags, single characters, and merges or words learned from
further text.

New tokens get ids after the existing ones. Merges of BPE rank below all existing merges. A unigram vocabulary gets
whole words, each as probable as the tokens that it replaces, and a little more. So a text that contains none of the new
characters and merges, and no word that begins with a new one, keeps its segmentation, and the weights of a trained
model stay valid (`storage/model.py` adds their rows).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from limelight.errors import UserError
from limelight.tokens.listed import ListedTokenizer, listed_model
from limelight.tokens.sentencepiece import SentencePieceTokenizer
from limelight.tokens.sentencepiece_file import CONTROL, add_pieces, scores_in, type_of
from limelight.tokens.stored import Tokenizers
from limelight.tokens.tokenizer import PLACEHOLDERS, SPACE, UNKNOWN, Tokenizer, is_control, normalize

MIN_COUNT = 20
"""Minimum number of occurrences of a merge or a word: a rarer token would hardly be trained."""
MAX_CHARACTERS = 16
"""Maximum number of characters of a merge or a word, the default of sentencepiece."""
MARGIN = 0.01
"""What the log-probability of a word gains for each of its characters, so that longer words are preferred."""

_MERGEABLE = re.compile(rf"{SPACE}?[^\W\d_]+|{SPACE}[^\w\s{SPACE}]")
"""Letters, or one sign after a space. Digits are not merged: a number should be spelled in the same way everywhere."""
_WHOLE = re.compile(r"(?<![^ ])[^\W\d_]+(?!\w)")

Side = SentencePieceTokenizer | ListedTokenizer


class NewPiece(NamedTuple):
    """A token to be added, and the existing ids that it replaces."""

    text: str
    parts: tuple[int, ...]
    scores: tuple[float | None, ...] = ()
    """Its log-probability in the model of each side; None where that has no use for it."""


class Extension(NamedTuple):
    """Larger tokenizers."""

    tokenizers: Tokenizers
    parts: list[tuple[int, ...]]
    """For each new id, in order, the ids of the old vocabulary that stood for it."""


def extend_tokenizers(
    tokenizers: Tokenizers,
    *,
    tags: Sequence[str] = (),
    characters: Sequence[str] = (),
    texts: Iterable[str] = (),
    merges: int = 0,
) -> Extension:
    """Add the tags and the characters that the vocabulary lacks, then up to `merges` merges or words learned from
    `texts`.

    Args:
        tokenizers: sentencepiece tokenizers with one vocabulary. Each side of an imported model may have a
            sentencepiece model of its own; these get merges only if they are of type unigram.
        tags: reserved tokens that are inserted as ids. A new one stands for all tags of languages at first.
        characters: single characters; those that the vocabulary has already are ignored.
        texts: of both sides, read once.
        merges: maximum number of merges or words; each occurs at least `MIN_COUNT` times in `texts`.

    Raises:
        UserError: tokenizers of another kind, or with two vocabularies.
    """
    sides, target = _sides(tokenizers, merges), tokenizers.target
    lacking = [tag for tag in dict.fromkeys(tags) if tag not in sides[-1].reserved]
    old = [_like_tags(sides[-1]) for tag in lacking]
    old_size, sides = target.padding, [_with_tags(side, lacking) for side in sides]
    for each in characters:
        if len(each) != 1 or normalize(each) != each:
            raise UserError(f"{each!r} is not a single normalized character that a text can contain")
    known = set(target.pieces(range(target.padding)))
    single = [NewPiece(each, _bytes_of(sides[-1], each)) for each in dict.fromkeys(characters) if each not in known]
    sides = [_ranked(side, single) for side in sides]
    learned = list[NewPiece]()
    if merges and type_of(_model_of(sides[-1])) == "bpe":
        learned = _learn_merges(sides[-1], texts, merges)
        sides = [_ranked(side, learned) for side in sides]
    elif merges:
        learned = _learn_words(sides, texts, merges)
        sides = [_with(side, [(each.text, each.scores[at]) for each in learned]) for at, side in enumerate(sides)]
    old += [piece.parts for piece in single]
    # Parts of merges that are new characters are the bytes these replace.
    parts = [tuple(each for part in piece.parts for each in _old_ids(part, old_size, old)) for piece in learned]
    return Extension(Tokenizers(sides[0], sides[-1]), old + parts)


def _sides(tokenizers: Tokenizers, merges: int) -> list[Side]:
    """The tokenizers, once if both sides have the same. Raises `UserError` if they cannot be extended."""
    found = list[Side]()
    for each in dict.fromkeys(tokenizers):
        if not isinstance(each, Side) or type_of(_model_of(each)) not in ("bpe", "unigram"):
            raise UserError(f"a vocabulary of kind {each.kind} cannot be extended; bpe and unigram can")
        found.append(each)
    if not tokenizers.one_vocabulary:
        raise UserError("each side has a vocabulary of its own, and only a joint one can be extended")
    if merges and len(found) > 1 and any(type_of(_model_of(each)) == "bpe" for each in found):
        raise UserError("each side has BPE merges of its own, and only joint ones can be extended")
    return found


def _model_of(side: Side) -> bytes:
    """Its sentencepiece model."""
    return side.model if isinstance(side, SentencePieceTokenizer) else side.sentencepiece


def _like_tags(tokenizer: Side) -> tuple[int, ...]:
    """The ids whose mean a new tag begins with: the tags of languages, or else the placeholders."""
    tags = [piece for piece in tokenizer.reserved if is_control(piece) and piece not in PLACEHOLDERS]
    return tuple(map(tokenizer.reserved_id, tags or tokenizer.reserved)) or (UNKNOWN,)


def _with_tags(tokenizer: Side, tags: Sequence[str]) -> Side:
    """The same vocabulary with these reserved tokens after its own."""
    reserved = (*tokenizer.reserved, *tags)
    if isinstance(tokenizer, ListedTokenizer):
        return ListedTokenizer(listed_model(tokenizer.sentencepiece, [*_listed(tokenizer), *tags]), reserved=reserved)
    model = add_pieces(tokenizer.model, ((tag, 0.0) for tag in tags), kind=CONTROL)
    return SentencePieceTokenizer(model, kind=tokenizer.kind, reserved=reserved)


def _old_ids(part: int, old_size: int, new: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return (part,) if part < old_size else new[part - old_size]


def _ranked(tokenizer: Side, pieces: Sequence[NewPiece]) -> Side:
    """The same vocabulary with these pieces after its own; each ranks below those before it."""
    lowest = min(scores_in(_model_of(tokenizer)).values(), default=0.0)
    return _with(tokenizer, [(piece.text, lowest - 1 - number) for number, piece in enumerate(pieces)])


def _with(tokenizer: Side, scored: Sequence[tuple[str, float | None]]) -> Side:
    """The same vocabulary with pieces after its own. Those without a score are not in the sentencepiece model."""
    own = scores_in(_model_of(tokenizer)).keys()
    model = add_pieces(
        _model_of(tokenizer), ((text, score) for text, score in scored if score is not None and text not in own)
    )
    if isinstance(tokenizer, ListedTokenizer):
        pieces = [*_listed(tokenizer), *(text for text, _ in scored)]
        return ListedTokenizer(listed_model(model, pieces), reserved=tokenizer.reserved)
    return SentencePieceTokenizer(model, kind=tokenizer.kind, reserved=tokenizer.reserved)


def _listed(tokenizer: ListedTokenizer) -> list[str]:
    """All tokens, without padding."""
    return tokenizer.pieces(range(tokenizer.padding))


def _bytes_of(tokenizer: Tokenizer, character: str) -> tuple[int, ...]:
    """The ids that spell a character now, without the space before it."""
    ids = tokenizer.encode(character)
    return tuple(each for each, piece in zip(ids, tokenizer.pieces(ids), strict=True) if piece != SPACE)


def _learn_words(sides: Sequence[Side], texts: Iterable[str], most: int) -> list[NewPiece]:
    """The words that save most tokens, with the ids that each replaces: those of the side that divides it least."""
    counted = Counter(word for text in texts for word in _WHOLE.findall(normalize(text)))
    known = set(sides[-1].pieces(range(sides[-1].padding)))
    frequent = sorted(
        word
        for word, count in counted.items()
        if count >= MIN_COUNT and len(word) < MAX_CHARACTERS and SPACE + word not in known
    )
    tables = [scores_in(_model_of(side)) for side in sides]
    rows = zip(frequent, *(side.encode_batch(frequent) for side in sides), strict=True)
    found = list[tuple[int, NewPiece]]()
    for word, *several in rows:
        scores = tuple(_score(*each, word) for each in zip(sides, several, tables, strict=True))
        usable = [ids for ids, score in zip(several, scores, strict=True) if score is not None]
        if usable:
            parts = min(usable, key=len)
            found.append((counted[word] * (len(parts) - 1), NewPiece(SPACE + word, tuple(parts), scores)))
    return [piece for _, piece in sorted(found, key=lambda each: (-each[0], each[1].text))[:most]]


def _score(side: Side, ids: Sequence[int], table: Mapping[str, float], word: str) -> float | None:
    """The log-probability of a word that replaces these tokens; None if they are not the word after a space, or have
    characters that the model does not know."""
    pieces = side.pieces(ids)
    if UNKNOWN in ids or not pieces[0].startswith(SPACE) or side.decode(ids) != word or not {*pieces} <= table.keys():
        return None
    return sum(table[piece] for piece in pieces) + MARGIN * len(word)


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
