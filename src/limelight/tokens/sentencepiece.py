"""Unigram (Kudo 2018) and BPE (Sennrich et al. 2016) vocabularies with the sentencepiece library.

The model file is a standard sentencepiece model that other tools can read. Padding is not part of it: its id follows
the last token.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

import sentencepiece

from limelight.errors import UserError, shown
from limelight.tokens.metadata import FileTokenizer
from limelight.tokens.sampling import BpeDropout, sample_rows
from limelight.tokens.sentencepiece_file import parsed, type_of
from limelight.tokens.tokenizer import (
    END,
    END_PIECE,
    SPACE,
    UNKNOWN,
    UNKNOWN_PIECE,
    UNKNOWN_TEXT,
    is_control,
    normalize,
    require_count,
)
from limelight.tokens.vocabulary import (
    count_alphabet,
    require_size,
    required_characters,
    suggest_vocabulary_size,
)

# With byte fallback, the rarest characters (one in 10,000) need no token of their own.
_COVERAGE_WITH_BYTES = 0.9999

MAX_REPLACEMENT_LENGTH = 64
"""Maximum bytes of the replacement of a character in normalization rules; the longest in NFKC has 33."""

_TOO_LARGE = re.compile(r"Vocabulary size too high.*<= (\d+)")
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


class SentencePieceTokenizer(FileTokenizer):
    """A `Tokenizer` with a sentencepiece model.

    With byte fallback `decode(encode(text)) == normalize(text)` for every text; without it, characters outside the
    training text become the unknown token.
    """

    def __init__(self, model: bytes, *, reserved: Sequence[str]) -> None:
        """Wrap a serialized model with end id 0 and unknown id 1, as made by `train_sentencepiece`.

        Args:
            reserved: tokens of the model that are never split.

        Raises:
            UserError: `model` is not a sentencepiece model, has other special ids, or lacks a reserved token.
        """
        count = count_pieces(model)
        require_count(count)
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(model)
            pieces = [processor.id_to_piece(number) for number in range(count)]
        except (RuntimeError, ValueError, TypeError, IndexError) as error:  # a ValueError: a piece is not UTF-8
            raise UserError(f"not a sentencepiece model: {shown(str(error))}") from None
        if (processor.eos_id(), processor.unk_id()) != (END, UNKNOWN):
            raise UserError(
                f"the end of a sentence has id {processor.eos_id()} and the unknown piece id {processor.unk_id()}; "
                f"they must be {END} and {UNKNOWN}"
            )
        self._processor = processor
        super().__init__(type_of(model), model, pieces, reserved)
        self._begins = [piece.startswith(SPACE) for piece in self._pieces]
        fixed = [
            is_alone or number == UNKNOWN or processor.is_byte(number) for number, is_alone in enumerate(self._alone)
        ]
        self._dropout = BpeDropout(self._pieces, fixed)

    def encode(self, text: str) -> list[int]:
        """The best segmentation of `text`, without an end id. Texts are encoded one by one: for a list, the library
        takes some milliseconds to start threads, even for a single text."""
        return self._processor.encode(normalize(text))

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """A random segmentation of each text; a pure function of its arguments, in any process.

        Args:
            amount: the probability with which each merge is dropped (BPE-dropout, Provilkov et al. 2020; 0.1 in the
                paper); 0 is `encode`.
            seed: any integer.

        Raises:
            UserError: another amount than 0 for a unigram vocabulary.
        """
        if amount == 0 or self.kind != "bpe":
            return super().encode_sampled(texts, amount=amount, seed=seed)
        rows = [self.encode(text) for text in texts]
        return sample_rows(rows, self._begins, self._alone, self._dropout.draws(amount, seed))


def count_pieces(model: bytes) -> int:
    """The number of tokens in a serialized model, without loading it into the library.

    Raises `UserError` for invalid bytes, and for normalization rules that expand a character excessively.
    """
    proto = parsed(model)
    _require_short(proto.normalizer_spec.precompiled_charsmap)
    if proto.denormalizer_spec.precompiled_charsmap:
        raise UserError("a sentencepiece model with denormalization rules, which are not supported")
    return len(proto.pieces)


def _require_short(rules: bytes) -> None:
    """Compiled rules consist of the size of a search tree, the tree, and null-terminated replacements."""
    tree = int.from_bytes(rules[:4], "little")
    longest = max(map(len, rules[4 + tree :].split(b"\0")))
    if longest > MAX_REPLACEMENT_LENGTH:
        raise UserError(f"a sentencepiece model with normalization rules that replace a character by {longest:,} bytes")


def train_sentencepiece(
    sentences: Sequence[str],
    *,
    kind: str,
    vocabulary_size: int | None,
    reserved: Sequence[str],
    byte_fallback: bool,
    pairs: int,
) -> SentencePieceTokenizer:
    """Learn a vocabulary, deterministically. It contains `required_characters`.

    Args:
        sentences: normalized, none empty.
        kind: `bpe` or `unigram`.
        reserved: tokens that are never split; they get the first ids.
        vocabulary_size: tokens without padding; default: suitable for `pairs`, or as many as the text allows.

    Raises:
        UserError: an explicit size that the text cannot fill, or that is too small for its characters.
    """
    coverage = _COVERAGE_WITH_BYTES if byte_fallback else 1.0
    size = vocabulary_size or suggest_vocabulary_size(pairs, count_alphabet(sentences, coverage))
    require_size(size, len(reserved))
    settings = {
        "model_type": kind,
        "control_symbols": [piece for piece in reserved if is_control(piece)],
        "user_defined_symbols": [piece for piece in reserved if not is_control(piece)],
        "byte_fallback": byte_fallback,
        "character_coverage": coverage,
        "required_chars": required_characters(sentences, size),
    }
    try:
        model = _train(sentences, size, exact=vocabulary_size is not None, **settings)
    except RuntimeError as error:
        if match := _TOO_LARGE.search(str(error)):
            raise UserError(
                f"tokens.vocabulary_size is {size:,}, but this corpus fills about {int(match[1]):,} pieces at most; "
                "choose a smaller size, or none for the default"
            ) from None
        match = _TOO_SMALL.search(str(error))
        if match is None:
            raise
        smallest = int(match[1])
        if vocabulary_size is not None:
            raise UserError(
                f"tokens.vocabulary_size is {size:,}, but the characters of this corpus, with bytes and reserved "
                f"pieces, take {smallest:,} already; choose a larger size, or none for the default"
            ) from None
        # The library requires characters that the suggestion does not count: add the suggested size to them.
        model = _train(sentences, smallest + size, exact=False, **settings)
    return SentencePieceTokenizer(model, reserved=reserved)


def _train(sentences: Sequence[str], size: int, *, exact: bool, **settings: Any) -> bytes:
    """A model of `size` tokens, or of fewer unless it is `exact`; with further settings of the library's trainer."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=exact,
        eos_id=END,
        unk_id=UNKNOWN,
        bos_id=-1,
        pad_id=-1,
        eos_piece=END_PIECE,
        unk_piece=UNKNOWN_PIECE,
        unk_surface=UNKNOWN_TEXT,
        normalization_rule_name="identity",
        max_sentence_length=1_000_000,
        minloglevel=2,
        **settings,
    )
    return model.getvalue()
