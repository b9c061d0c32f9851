"""WordPiece (Schuster & Nakajima 2012): greedy longest match from left to right, with the `tokenizers` library.

Spaces are marked as in sentencepiece, so that spacing is preserved. There is no byte fallback: each character outside
the training text becomes the unknown token, without its neighbors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from limelight.errors import UserError, shown
from limelight.tokens.metadata import FileTokenizer
from limelight.tokens.tokenizer import (
    END,
    END_PIECE,
    MAX_PIECES,
    SPACE,
    UNKNOWN,
    UNKNOWN_PIECE,
    UNKNOWN_TEXT,
    is_control,
    normalize,
    require_count,
    require_ids,
)
from limelight.tokens.vocabulary import count_alphabet, require_size, suggest_vocabulary_size, too_large, too_small

# Longest-match search is quadratic in the length of a word, and some scripts have no spaces.
_MAX_WORD_LENGTH = 64


MAX_BRACKETS = 100_000
"""Maximum number of brackets in a file. Ours have a hundred, and tokens that contain one; a file full of them takes
seconds and memory."""


class WordPieceTokenizer(FileTokenizer):
    """A `Tokenizer` with a WordPiece model.

    `decode(encode(text)) == normalize(text)` if all characters are known; each unknown one is decoded as U+2047.
    """

    def __init__(self, model: bytes, *, reserved: Sequence[str]) -> None:
        """Wrap a `tokenizer.json` as made by `train_wordpiece`.

        Only the vocabulary is used: text is segmented by the rules of this module, and regular expressions of an
        untrusted file are never run.

        Raises:
            UserError: `model` is invalid, has other special ids, or lacks a reserved token.
        """
        pieces = _read_pieces(model)
        require_count(len(pieces))
        super().__init__("wordpiece", model, pieces, reserved)
        try:
            tokenizer = _assemble(pieces, reserved)
        except Exception as error:  # the library raises the bare class
            raise UserError(f"not a vocabulary: {shown(str(error))}") from None
        self._tokenizer = tokenizer
        self._control = frozenset(self.reserved_id(piece) for piece in reserved if is_control(piece))

    def encode(self, text: str) -> list[int]:
        """The segmentation of `text`, without an end id."""
        return self._tokenizer.encode(normalize(text)).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast([normalize(text) for text in texts])
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; end and padding are skipped, the unknown id is decoded as U+2047."""
        require_ids(ids, self.size)
        skipped = (END, self.padding, *self._control)
        parts = [UNKNOWN_TEXT if number == UNKNOWN else self._pieces[number] for number in ids if number not in skipped]
        return "".join(parts).replace(SPACE, " ").removeprefix(" ")


def _read_pieces(model: bytes) -> list[str]:
    """The tokens of a `tokenizer.json` in the order of their ids."""
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
    """Learn a vocabulary, deterministically.

    Args:
        sentences: normalized, none empty.
        reserved: tokens that are never split; they get the first ids.
        vocabulary_size: tokens without padding; default: suitable for `pairs`, or as many as the text allows.

    Raises:
        UserError: an explicit size that the text cannot fill, or that is too small for its characters.
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
    """At most `size` tokens, but always all characters of the text."""
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
    """A character class for a regular expression as ranges; at most 10,000 are allowed."""
    ranges: list[list[int]] = []
    for code in sorted(codes):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)


def _splits() -> list[pre_tokenizers.PreTokenizer]:
    """Split into words with their leading space, separate punctuation, and limit words to `_MAX_WORD_LENGTH`."""
    return [
        pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first"),
        pre_tokenizers.Punctuation("isolated"),
        pre_tokenizers.Split(Regex(f"[\\s\\S]{{{_MAX_WORD_LENGTH}}}"), "isolated"),
    ]
