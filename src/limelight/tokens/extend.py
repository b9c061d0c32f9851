"""More tokens for an existing sentencepiece vocabulary: tags, single characters, and merges or words learned from
further text.

New tokens get ids after the existing ones. Merges of BPE rank below all existing merges. A unigram vocabulary gets
whole words, each as probable as the tokens that it replaces, and a little more. So a text that contains none of the new
characters and merges, and no word that begins with a new one, keeps its segmentation, and the weights of a trained
model stay valid (`storage/model.py` adds their rows).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
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

_LETTERS = re.compile(rf"{SPACE}|{SPACE}?[^\W\d_]+")
"""Only letters are merged: a number should be spelled in the same way everywhere."""
_WHOLE = re.compile(r"(?<![^ ])[^\W\d_]+(?!\w)")
_FIRST_SIGN = 0xE000

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
        characters: single normalized characters; those that the vocabulary has already are ignored.
        texts: of both sides, read once.
        merges: maximum number of merges or words; each occurs at least `MIN_COUNT` times in `texts`.

    Raises:
        UserError: tokenizers of another kind, or with two vocabularies.
    """
    sides, old_size = _sides(tokenizers, merges), tokenizers.target.padding
    lacking = [tag for tag in dict.fromkeys(tags) if tag not in sides[-1].reserved]
    old = [_like_tags(sides[-1]) for _ in lacking]
    known = set(sides[-1].pieces(range(old_size)))
    single = [NewPiece(each, _bytes_of(sides[-1], each)) for each in dict.fromkeys(characters) if each not in known]
    old += [piece.parts for piece in single]
    sides = [_ranked(_with_tags(side, lacking), single) for side in sides]
    learned = list[NewPiece]()
    if merges and _type_of(sides[-1]) == "bpe":
        learned = _learn_merges(sides[-1], texts, merges)
        sides = [_ranked(side, learned) for side in sides]
    elif merges:
        learned = _learn_words(sides, texts, merges)
        sides = [_with(side, [(each.text, each.scores[at]) for each in learned]) for at, side in enumerate(sides)]

    def old_ids(part: int) -> tuple[int, ...]:
        """A part of a merge that is a new character is the bytes that it replaces."""
        return (part,) if part < old_size else old[part - old_size]

    parts = [tuple(each for part in piece.parts for each in old_ids(part)) for piece in learned]
    return Extension(Tokenizers(sides[0], sides[-1]), old + parts)


def _sides(tokenizers: Tokenizers, merges: int) -> list[Side]:
    """The tokenizers, once if both sides have the same. Raises `UserError` if they cannot be extended."""
    found = list[Side]()
    for each in dict.fromkeys(tokenizers):
        if not isinstance(each, Side) or _type_of(each) not in ("bpe", "unigram"):
            raise UserError(f"a vocabulary of kind {each.kind} cannot be extended; bpe and unigram can")
        found.append(each)
    if not tokenizers.one_vocabulary:
        raise UserError("each side has a vocabulary of its own, and only a joint one can be extended")
    if merges and len(found) > 1 and any(_type_of(each) == "bpe" for each in found):
        raise UserError("each side has BPE merges of its own, and only joint ones can be extended")
    return found


def _model_of(side: Side) -> bytes:
    """Its sentencepiece model."""
    return side.model if isinstance(side, SentencePieceTokenizer) else side.sentencepiece


def _type_of(side: Side) -> str:
    return type_of(_model_of(side))


def _like_tags(tokenizer: Side) -> tuple[int, ...]:
    """The ids whose mean a new tag begins with: the tags of languages, or else the placeholders."""
    tags = [piece for piece in tokenizer.reserved if is_control(piece) and piece not in PLACEHOLDERS]
    return tuple(map(tokenizer.reserved_id, tags or tokenizer.reserved)) or (UNKNOWN,)


def _bytes_of(tokenizer: Tokenizer, character: str) -> tuple[int, ...]:
    """The ids that spell a character now, without the space before it."""
    ids = tokenizer.encode(character)
    return tuple(each for each, piece in zip(ids, tokenizer.pieces(ids), strict=True) if piece != SPACE)


def _with_tags(tokenizer: Side, tags: Sequence[str]) -> Side:
    """The same vocabulary with these reserved tokens after its own."""
    reserved = (*tokenizer.reserved, *tags)
    if isinstance(tokenizer, ListedTokenizer):
        return _relisted(tokenizer, tokenizer.sentencepiece, tags, reserved)
    model = add_pieces(tokenizer.model, ((tag, 0.0) for tag in tags), kind=CONTROL)
    return SentencePieceTokenizer(model, kind=tokenizer.kind, reserved=reserved)


def _ranked(tokenizer: Side, pieces: Sequence[NewPiece]) -> Side:
    """The same vocabulary with these pieces after its own; each ranks below those before it."""
    lowest = min(scores_in(_model_of(tokenizer)).values(), default=0.0)
    return _with(tokenizer, [(piece.text, lowest - 1 - number) for number, piece in enumerate(pieces)])


def _with(tokenizer: Side, scored: Sequence[tuple[str, float | None]]) -> Side:
    """The same vocabulary with pieces after its own. Those without a score are not in the sentencepiece model."""
    own = scores_in(_model_of(tokenizer)).keys()
    new = [(text, score) for text, score in scored if score is not None and text not in own]
    model = add_pieces(_model_of(tokenizer), new)
    if isinstance(tokenizer, ListedTokenizer):
        return _relisted(tokenizer, model, [text for text, _ in scored], tokenizer.reserved)
    return SentencePieceTokenizer(model, kind=tokenizer.kind, reserved=tokenizer.reserved)


def _relisted(old: ListedTokenizer, model: bytes, more: Sequence[str], reserved: Sequence[str]) -> ListedTokenizer:
    """A list with more tokens at its end."""
    return ListedTokenizer(listed_model(model, [*old.pieces(range(old.padding)), *more]), reserved=reserved)


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
    found = list[tuple[int, NewPiece]]()
    for word, *several in zip(frequent, *(side.encode_batch(frequent) for side in sides), strict=True):
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


def _learn_merges(tokenizer: Side, texts: Iterable[str], most: int) -> list[NewPiece]:
    """The most frequent merges, the first one first, with the ids that each replaces (Sennrich et al. 2016, algorithm
    1). Each token is one sign for the library, which merges signs."""
    from tokenizers import Tokenizer as Learner  # here: only this needs it, and it takes time to import
    from tokenizers import models, trainers

    pieces = tokenizer.pieces(range(tokenizer.padding))

    @cache
    def runs(word: str) -> list[str]:
        """The runs of letters in a word, as signs."""
        ids = tokenizer.encode(word)
        runs = groupby(ids, lambda number: _LETTERS.fullmatch(pieces[number]) is not None)
        return ["".join(chr(_FIRST_SIGN + number) for number in run) for are_letters, run in runs if are_letters]

    def words() -> Iterator[str]:
        for text in texts:
            for word in normalize(text).split(" "):
                yield from runs(word)

    learner = Learner(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=len(pieces) + most, min_frequency=MIN_COUNT, limit_alphabet=len(pieces), show_progress=False
    )
    learner.train_from_iterator(words(), trainer)
    found = dict[str, NewPiece]()
    for signs, _ in sorted(learner.get_vocab().items(), key=lambda each: each[1]):
        parts = tuple(ord(sign) - _FIRST_SIGN for sign in signs)
        text = "".join(pieces[part] for part in parts)
        if len(parts) > 1 and len(text) <= MAX_CHARACTERS and text not in pieces:
            found.setdefault(text, NewPiece(text, parts))
    return list(found.values())[:most]
