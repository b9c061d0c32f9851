"""WordPiece (Schuster & Nakajima 2012): the longest piece that fits, from left to right, through `tokenizers`.

Spaces are marked as in sentencepiece, so nothing is lost between words; there are no bytes to fall back on, so each
character the training text did not have becomes the unknown piece, and only that character.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from limelight.errors import UserError, shown
from limelight.tokens.metadata import StoredTokenizer, write_stored
from limelight.tokens.tokenizer import (
    END,
    END_PIECE,
    MAX_PIECES,
    SPACE,
    UNKNOWN,
    UNKNOWN_PIECE,
    UNKNOWN_TEXT,
    Pieces,
    is_control,
    normalize,
    require_count,
    require_ids,
)
from limelight.tokens.vocabulary import count_alphabet, require_size, suggest_vocabulary_size, too_large, too_small

# The search for the longest piece takes the square of a word's length, and some scripts write no spaces.
_MAX_WORD_LENGTH = 64


MAX_BRACKETS = 100_000
"""Ours has a hundred, and pieces with one in them; a file that is made of nothing else takes seconds and memory."""


class WordPieceTokenizer(Pieces):
    """A `Tokenizer` around a WordPiece model.

    `decode(encode(text)) == normalize(text)` where all characters are known; each other one reads as U+2047.
    """

    def __init__(self, model: bytes, *, reserved: Sequence[str]) -> None:
        """Wrap a `tokenizer.json` as `train_wordpiece` makes it.

        Only the vocabulary is taken from it: text is split by the rules of this module, and no regular expression of an
        untrusted file is ever run over a text.

        Raises:
            UserError: `model` is not such a file, has other special ids, or lacks a reserved piece.
        """
        pieces = _read_pieces(model)
        require_count(len(pieces))
        super().__init__(pieces, reserved)
        try:
            tokenizer = _assemble(pieces, reserved)
        except Exception as error:  # the library raises the bare class
            raise UserError(f"not a vocabulary: {shown(str(error))}") from None
        self._model = model
        self._tokenizer = tokenizer
        self._control = frozenset(self.reserved_id(piece) for piece in reserved if is_control(piece))

    @property
    def kind(self) -> str:
        """How it splits text."""
        return "wordpiece"

    def encode(self, text: str) -> list[int]:
        """The segmentation of `text`, without an end id."""
        return self._tokenizer.encode(normalize(text)).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text."""
        encodings = self._tokenizer.encode_batch_fast([normalize(text) for text in texts])
        return [encoding.ids for encoding in encodings]

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """`encode_batch` where `amount` is 0; WordPiece knows one segmentation only.

        Raises:
            UserError: `amount` is not 0.
        """
        if amount != 0:
            raise UserError(
                f"tokens.sampling is {amount}, but WordPiece cannot sample; set it to 0, "
                "or tokens.kind to bpe or unigram"
            )
        return self.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; end and padding are skipped, the unknown id reads as U+2047."""
        require_ids(ids, self.size)
        skipped = (END, self.padding, *self._control)
        parts = [UNKNOWN_TEXT if number == UNKNOWN else self._pieces[number] for number in ids if number not in skipped]
        return "".join(parts).replace(SPACE, " ").removeprefix(" ")

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json` and `tokenizer.yaml` into `folder`."""
        write_stored(StoredTokenizer("wordpiece", self.padding, self._reserved, self._model), folder)


def _read_pieces(model: bytes) -> list[str]:
    """The pieces of a `tokenizer.json` in the order of their ids."""
    if model.count(b"[") + model.count(b"{") > MAX_BRACKETS:
        raise UserError(f"not a tokenizer.json: more than {MAX_BRACKETS:,} lists and mappings")
    try:
        content = json.loads(model.decode("utf-8"))["model"]
        kind, vocabulary = content["type"], dict(content["vocab"])
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    except (ValueError, RecursionError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"not a tokenizer.json: {shown(repr(error))}") from None
    if kind != "WordPiece":
        raise UserError(f"a tokenizer.json of type {shown(repr(kind))}, not WordPiece")
    gaps = [vocabulary[piece] for piece in pieces] != list(range(len(pieces)))
    if gaps or "" in vocabulary or pieces[:2] != [END_PIECE, UNKNOWN_PIECE]:
        raise UserError(f"ids must have no gaps and begin with {END_PIECE} and {UNKNOWN_PIECE}")
    return pieces


def train_wordpiece(
    sentences: Sequence[str], *, vocabulary_size: int | None, reserved: Sequence[str], pairs: int
) -> WordPieceTokenizer:
    """Learn a vocabulary; the same sentences give the same bytes.

    Args:
        sentences: normalized, none empty.
        reserved: the pieces that are never split, which the vocabulary begins with.
        vocabulary_size: pieces without padding. Not given: what suits `pairs`, or as many as the text has.

    Raises:
        UserError: an explicit size that the text cannot fill, or that cannot hold its characters.
    """
    fixed = [END_PIECE, UNKNOWN_PIECE, *reserved]
    size = vocabulary_size or suggest_vocabulary_size(pairs, count_alphabet(sentences))
    require_size(size, len(reserved))
    learned = _learn_pieces(sentences, size - len(fixed))
    pieces = [*fixed, *(piece for piece in learned if piece not in fixed)]
    if vocabulary_size is not None and len(pieces) < size:
        raise too_large(size, len(pieces))
    if vocabulary_size is not None and len(pieces) > size:
        raise too_small(size, len(pieces))
    return WordPieceTokenizer(_assemble(pieces, reserved).to_str().encode("utf-8"), reserved=reserved)


def _learn_pieces(sentences: Sequence[str], size: int) -> list[str]:
    """At most `size` pieces, but all characters of the text."""
    learner = Tokenizer(models.WordPiece(unk_token=UNKNOWN_PIECE, continuing_subword_prefix=""))
    learner.pre_tokenizer = pre_tokenizers.Sequence(_splits())
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, continuing_subword_prefix="", limit_alphabet=MAX_PIECES, show_progress=False
    )
    learner.train_from_iterator(sentences, trainer)
    vocabulary = learner.get_vocab()
    return sorted(vocabulary, key=lambda piece: vocabulary[piece])


def _assemble(pieces: Sequence[str], reserved: Sequence[str]) -> Tokenizer:
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    model = models.WordPiece(
        vocab=vocabulary,
        unk_token=UNKNOWN_PIECE,
        continuing_subword_prefix="",
        max_input_chars_per_word=_MAX_WORD_LENGTH,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    known = _ranges(ord(piece) for piece in pieces if len(piece) == 1)
    # An unknown character makes its whole word unknown, so it has to be a word of its own.
    alone = pre_tokenizers.Split(Regex(f"[^{known}]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*_splits(), alone])
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in reserved if not is_control(piece)])
    return tokenizer


def _ranges(codes: Iterable[int]) -> str:
    """Characters for the brackets of a regular expression, which take no more than 10,000 ranges."""
    ranges: list[list[int]] = []
    for code in sorted(codes):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)


def _splits() -> list[pre_tokenizers.PreTokenizer]:
    """Words with their leading space, punctuation apart, and nothing longer than `_MAX_WORD_LENGTH`."""
    return [
        pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first"),
        pre_tokenizers.Punctuation("isolated"),
        pre_tokenizers.Split(Regex(f"[\\s\\S]{{{_MAX_WORD_LENGTH}}}"), "isolated"),
    ]
