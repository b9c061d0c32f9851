"""A source tokenizer that adds the language tag of one direction, and tags of side constraints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from limelight.tokens.stored import Tokenizers
from limelight.tokens.tokenizer import Tokenizer, language_tag


class TaggedTokenizer:
    """A tokenizer that puts tags before every text: that of the target language (Johnson et al. 2017), and those of
    side constraints (Sennrich et al. 2016).

    Tags are inserted as ids: the same characters in a text remain ordinary text.
    """

    def __init__(self, tokenizer: Tokenizer, *tags: str) -> None:
        """The tags follow those of `tokenizer`, if it has some. Raises `UserError` if the vocabulary lacks one."""
        inner, known = tokenizer, list[int]()
        if isinstance(tokenizer, TaggedTokenizer):
            inner, known = tokenizer.tokenizer, tokenizer.tags
        self.tokenizer: Tokenizer = inner
        self.tags: list[int] = [*known, *map(tokenizer.reserved_id, tags)]

    @property
    def kind(self) -> str:
        return self.tokenizer.kind

    @property
    def size(self) -> int:
        return self.tokenizer.size

    @property
    def padding(self) -> int:
        return self.tokenizer.padding

    @property
    def reserved(self) -> tuple[str, ...]:
        """Tokens that are never split."""
        return tuple(getattr(self.tokenizer, "reserved", ()))

    def reserved_id(self, piece: str) -> int:
        return self.tokenizer.reserved_id(piece)

    def encode(self, text: str) -> list[int]:
        """The tags, followed by the best segmentation of `text`, without an end id."""
        return [*self.tags, *self.tokenizer.encode(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*self.tags, *row] for row in self.tokenizer.encode_batch(texts)]

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """The tags, followed by a random segmentation, for each text; a pure function of the arguments."""
        return [[*self.tags, *row] for row in self.tokenizer.encode_sampled(texts, amount=amount, seed=seed)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, without tags."""
        return self.tokenizer.decode(ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.tokenizer.pieces(ids)

    def word_of(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word; each tag is a word."""
        return self.tokenizer.word_of(ids)

    def save(self, folder: Path) -> None:
        """Write the underlying tokenizer, without tags."""
        self.tokenizer.save(folder)


def tagged(tokenizers: Tokenizers, language: str, *further: str) -> Tokenizers:
    """The tokenizers of a model for translation into `language`, with further tags; without the tag of a language if it
    is empty. Raises `UserError` if the vocabulary lacks one of the tags."""
    tags = [language_tag(language)] if language else []
    return Tokenizers(TaggedTokenizer(tokenizers.source, *tags, *further), tokenizers.target)
