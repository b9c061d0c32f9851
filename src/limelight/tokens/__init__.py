"""Tokenizers: text to ids and back."""

from limelight.tokens.characters import CharacterTokenizer
from limelight.tokens.listed import ListedTokenizer
from limelight.tokens.sentencepiece import SentencePieceTokenizer
from limelight.tokens.stored import (
    TaggedTokenizer,
    Tokenizers,
    load_tokenizer,
    load_tokenizers,
    save_tokenizers,
    tagged,
    train_tokenizer,
)
from limelight.tokens.tokenizer import (
    BACK_TRANSLATED,
    END,
    FORMALITY_TAGS,
    LINE,
    MASK,
    PLACEHOLDERS,
    UNKNOWN,
    Tokenizer,
    language_tag,
    normalize,
    side_constraint_tag,
)
from limelight.tokens.vocabulary import suggest_vocabulary_size

__all__ = [
    "BACK_TRANSLATED",
    "END",
    "FORMALITY_TAGS",
    "LINE",
    "MASK",
    "PLACEHOLDERS",
    "UNKNOWN",
    "CharacterTokenizer",
    "ListedTokenizer",
    "SentencePieceTokenizer",
    "TaggedTokenizer",
    "Tokenizer",
    "Tokenizers",
    "language_tag",
    "load_tokenizer",
    "load_tokenizers",
    "normalize",
    "save_tokenizers",
    "side_constraint_tag",
    "suggest_vocabulary_size",
    "tagged",
    "train_tokenizer",
]
