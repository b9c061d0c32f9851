"""More tokens for an existing sentencepiece vocabulary: tags, single characters, and merges learned from further text.

New tokens get ids after the existing ones, and rank below all existing ones. So a text that contains none of the new
characters and merges keeps its segmentation, and the weights of a trained model stay valid (`storage/model.py` adds
their rows).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, islice
from typing import NamedTuple

from limelight.errors import UserError
from limelight.text.words import LETTER
from limelight.tokens.listed import ListedTokenizer, listed_model
from limelight.tokens.sentencepiece import SentencePieceTokenizer
from limelight.tokens.sentencepiece_file import CONTROL, add_pieces, scores_in, type_of
from limelight.tokens.stored import Tokenizers
from limelight.tokens.tokenizer import PLACEHOLDERS, SPACE, UNKNOWN, Tokenizer, is_control, normalize

MIN_COUNT = 20
"""Minimum number of occurrences of a merge: a rarer token would hardly be trained."""
MAX_CHARACTERS = 16
"""Maximum number of characters of a merge, the default of sentencepiece."""

_LETTERS = re.compile(rf"{SPACE}|{SPACE}?(?:(?!\d){LETTER})+")
"""Only letters are merged: a number should be spelled in the same way everywhere."""
_FIRST_SIGN = 0xE000

Side = SentencePieceTokenizer | ListedTokenizer


Parts = tuple[int, ...]
"""The existing ids that a new token replaces."""


class Extension(NamedTuple):
    """Larger tokenizers."""

    tokenizers: Tokenizers
    parts: list[Parts]
    """For each new id, in order, the ids of the old vocabulary that stood for it."""


def extend_tokenizers(
    tokenizers: Tokenizers,
    *,
    tags: Sequence[str] = (),
    characters: Sequence[str] = (),
    texts: Iterable[str] = (),
    merges: int = 0,
) -> Extension:
    """Add the tags and the characters that the vocabulary lacks, and to a BPE vocabulary up to `merges` merges learned
    from `texts`.

    Args:
        tokenizers: sentencepiece tokenizers with one vocabulary. Each side of an imported model may have a
            sentencepiece model of its own; these get no merges.
        tags: reserved tokens that are inserted as ids. A new one stands for all tags of languages at first.
        characters: single normalized characters; those that the vocabulary has already, or that a model's rules
            remove, are ignored.
        texts: of both sides, read once.
        merges: maximum number of merges; each occurs at least `MIN_COUNT` times in `texts`.

    Raises:
        UserError: tokenizers of another kind, or with two vocabularies.
    """
    sides, old_size = _sides(tokenizers), tokenizers.target.padding
    lacking = [tag for tag in dict.fromkeys(tags) if tag not in sides[-1].reserved]
    old = [_like_tags(sides[-1]) for _ in lacking]
    known = set(sides[-1].pieces(range(old_size)))
    # Without those that the rules of a model remove, such as zero-width ones.
    single = {each: ids for each in characters if each not in known and (ids := _bytes_of(sides[-1], each))}
    old += single.values()
    sides = [_ranked(_with_tags(side, lacking), [*single]) for side in sides]
    learned = dict[str, Parts]()
    if merges and len(sides) == 1 and type_of(_model_of(sides[0])) == "bpe":
        learned = _learn_merges(sides[0], texts, merges)
        sides = [_ranked(sides[0], [*learned])]

    # A part of a merge that is a new character is the bytes that it replaces.
    parts = [
        tuple(old_id for part in replaced for old_id in ((part,) if part < old_size else old[part - old_size]))
        for replaced in learned.values()
    ]
    return Extension(Tokenizers(sides[0], sides[-1]), old + parts)


def _sides(tokenizers: Tokenizers) -> list[Side]:
    """The tokenizers, once if both sides have the same. Raises `UserError` if they cannot be extended."""
    sides = list[Side]()
    for tokenizer in dict.fromkeys(tokenizers):
        if not isinstance(tokenizer, Side) or type_of(_model_of(tokenizer)) not in ("bpe", "unigram"):
            raise UserError(f"a vocabulary of kind {tokenizer.kind} cannot be extended; bpe and unigram can")
        sides.append(tokenizer)
    if not tokenizers.one_vocabulary:
        raise UserError("each side has a vocabulary of its own, and only a joint one can be extended")
    return sides


def _model_of(side: Side) -> bytes:
    """Its sentencepiece model."""
    return side.model if isinstance(side, SentencePieceTokenizer) else side.sentencepiece


def _like_tags(tokenizer: Side) -> Parts:
    """The ids whose mean a new tag begins with: the tags of languages, or else the placeholders."""
    tags = [piece for piece in tokenizer.reserved if is_control(piece) and piece not in PLACEHOLDERS]
    return tuple(map(tokenizer.reserved_id, tags or tokenizer.reserved)) or (UNKNOWN,)


def _bytes_of(tokenizer: Tokenizer, character: str) -> Parts:
    """The ids that spell a character now, without the space before it."""
    ids = tokenizer.encode(character)
    return tuple(identifier for identifier, piece in zip(ids, tokenizer.pieces(ids), strict=True) if piece != SPACE)


def _with_tags(tokenizer: Side, tags: Sequence[str]) -> Side:
    """The same vocabulary with these reserved tokens after its own."""
    model = _model_of(tokenizer)
    if isinstance(tokenizer, SentencePieceTokenizer):
        model = add_pieces(model, ((tag, 0.0) for tag in tags), kind=CONTROL)
    return _extended(tokenizer, model, tags, (*tokenizer.reserved, *tags))


def _ranked(tokenizer: Side, pieces: Sequence[str]) -> Side:
    """The same vocabulary with these pieces after its own; each ranks below those before it."""
    scores = scores_in(_model_of(tokenizer))
    lowest = min(scores.values(), default=0.0)
    new = [(piece, lowest - 1 - number) for number, piece in enumerate(pieces) if piece not in scores]
    return _extended(tokenizer, add_pieces(_model_of(tokenizer), new), pieces, tokenizer.reserved)


def _extended(old: Side, model: bytes, more: Sequence[str], reserved: Sequence[str]) -> Side:
    """A tokenizer with a larger sentencepiece model, or with more tokens at the end of its list."""
    if isinstance(old, SentencePieceTokenizer):
        return SentencePieceTokenizer(model, reserved=reserved)
    return ListedTokenizer(listed_model(model, [*old.pieces(range(old.padding)), *more]), reserved=reserved)


def _learn_merges(tokenizer: Side, texts: Iterable[str], count: int) -> dict[str, Parts]:
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
        vocab_size=len(pieces) + count, min_frequency=MIN_COUNT, limit_alphabet=len(pieces), show_progress=False
    )
    learner.train_from_iterator(words(), trainer)
    learned, known = dict[str, Parts](), set(pieces)
    for signs, _ in sorted(learner.get_vocab().items(), key=lambda each: each[1]):
        parts = tuple(ord(sign) - _FIRST_SIGN for sign in signs)
        text = "".join(pieces[part] for part in parts)
        if len(parts) > 1 and len(text) <= MAX_CHARACTERS and text not in known:
            learned.setdefault(text, parts)
    return dict(islice(learned.items(), count))
