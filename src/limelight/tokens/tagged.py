"""A source tokenizer that adds the language tag of one direction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from limelight.tokens.stored import Tokenizers
from limelight.tokens.tokenizer import Tokenizer, language_tag


class TaggedTokenizer:
    """A tokenizer that puts the tag of the target language before every text (Johnson et al. 2017).

    The tag is inserted as an id: the same characters in a text remain ordinary text.
    """

    def __init__(self, tokenizer: Tokenizer, language: str) -> None:
        """Raises `UserError` if the vocabulary has no tag for the language."""
        self.tokenizer = tokenizer
        self.tag = tokenizer.reserved_id(language_tag(language))

    @property
    def kind(self) -> str:
        return self.tokenizer.kind

    @property
    def size(self) -> int:
        return self.tokenizer.size

    @property
    def padding(self) -> int:
        return self.tokenizer.padding

    def reserved_id(self, piece: str) -> int:
        return self.tokenizer.reserved_id(piece)

    def encode(self, text: str) -> list[int]:
        """The tag, followed by the best segmentation of `text`, without an end id."""
        return [self.tag, *self.tokenizer.encode(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.tag, *row] for row in self.tokenizer.encode_batch(texts)]

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """The tag, followed by a random segmentation, for each text; a pure function of the arguments."""
        return [[self.tag, *row] for row in self.tokenizer.encode_sampled(texts, amount=amount, seed=seed)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, without the tag."""
        return self.tokenizer.decode(ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.tokenizer.pieces(ids)

    def word_of(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word; the tag is a word."""
        return self.tokenizer.word_of(ids)

    def save(self, folder: Path) -> None:
        """Write the underlying tokenizer, without the tag."""
        self.tokenizer.save(folder)


def tagged(tokenizers: Tokenizers, language: str) -> Tokenizers:
    """The tokenizers of a model for translation into `language`. Raises `UserError` if there is no tag for it."""
    return Tokenizers(TaggedTokenizer(tokenizers.source, language), tokenizers.target)
