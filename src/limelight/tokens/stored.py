"""Train, save and load the tokenizers of a model, and add the tags of a direction."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.errors import UserError
from limelight.tokens.characters import CharacterTokenizer, train_characters
from limelight.tokens.listed import ListedTokenizer
from limelight.tokens.metadata import METADATA_NAME, MODEL_FILES, read_stored
from limelight.tokens.sentencepiece import SentencePieceTokenizer, train_sentencepiece
from limelight.tokens.tokenizer import Tokenizer, language_tag, reserved_pieces
from limelight.tokens.vocabulary import training_sentences

KINDS = ("bpe", "unigram", "characters")
"""Kinds of vocabularies that can be trained."""

_JOINT, _SOURCE, _TARGET = "joint", "source", "target"


class Tokenizers(NamedTuple):
    """The tokenizers of both sides; the same object twice if the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def one_vocabulary(self) -> bool:
        """Whether each id stands for the same token on both sides, even if they segment texts differently."""
        if self.source is self.target:
            return True
        source, target = (tokenizer.pieces(range(tokenizer.size)) for tokenizer in self)
        return source == target


def train_tokenizer(
    texts: Iterable[str],
    *,
    kind: str,
    vocabulary_size: int | None,
    languages: Sequence[str],
    byte_fallback: bool,
    seed: int,
    sentences: int,
    reserved: Sequence[str] = (),
) -> Tokenizer:
    """Learn a vocabulary from texts (of both sides, if it is joint).

    Args:
        texts: read once; of more than a million texts, a random million is used. `characters` counts all of them.
        kind: `bpe`, `unigram` or `characters`.
        vocabulary_size: tokens without padding; default: `suggest_vocabulary_size(sentences)`, or fewer if the texts do
            not have as many. For `characters`, an upper bound.
        languages: each gets a tag (`language_tag`) among the reserved tokens.
        byte_fallback: encode unknown characters as bytes; `characters` ignores it.
        seed: seed of the random selection from more than a million texts.
        sentences: number of pairs in the corpus.
        reserved: tokens that are never split, besides tags and placeholders.

    Raises:
        UserError: unknown kind, no text, a size that is impossible for this text, an invalid language name.
    """
    if kind not in KINDS:
        raise UserError(f"tokens.kind is {kind!r}; choose from {', '.join(KINDS)}")
    pieces = reserved_pieces(languages, reserved)
    if kind == "characters":
        return train_characters(texts, vocabulary_size=vocabulary_size, reserved=pieces)
    chosen = training_sentences(texts, seed)
    return train_sentencepiece(
        chosen,
        kind=kind,
        vocabulary_size=vocabulary_size,
        reserved=pieces,
        byte_fallback=byte_fallback,
        pairs=sentences,
    )


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Load a tokenizer written by `Tokenizer.save`.

    Raises:
        UserError: a file is missing, damaged, too large or of an unknown format; the message names it.
    """
    folder = Path(folder)
    stored, model = read_stored(folder)
    kinds: dict[str, Callable[..., Tokenizer]] = {"characters": CharacterTokenizer, "listed": ListedTokenizer}
    try:
        tokenizer = kinds.get(stored.kind, SentencePieceTokenizer)(model, reserved=stored.reserved)
    except UserError as error:
        raise UserError(f"{folder / MODEL_FILES[stored.kind]}: {error}") from None
    if tokenizer.padding != stored.pieces:
        raise UserError(f"{folder / METADATA_NAME}: {stored.pieces} pieces, but the model file has {tokenizer.padding}")
    return tokenizer


def save_tokenizers(tokenizers: Tokenizers, folder: str | Path) -> None:
    """Write `folder/joint`, or `folder/source` and `folder/target`."""
    folder = Path(folder)
    if tokenizers.source is tokenizers.target:
        tokenizers.source.save(folder / _JOINT)
    else:
        tokenizers.source.save(folder / _SOURCE)
        tokenizers.target.save(folder / _TARGET)


def load_tokenizers(folder: str | Path) -> Tokenizers:
    """Load tokenizers written by `save_tokenizers`.

    Raises:
        UserError: there are no tokenizers, or both joint and separate ones, or one of them cannot be loaded.
    """
    folder = Path(folder)
    joint = (folder / _JOINT).is_dir()
    separate = [name for name in (_SOURCE, _TARGET) if (folder / name).is_dir()]
    if joint and not separate:
        tokenizer = load_tokenizer(folder / _JOINT)
        return Tokenizers(tokenizer, tokenizer)
    if len(separate) == 2 and not joint:
        return Tokenizers(load_tokenizer(folder / _SOURCE), load_tokenizer(folder / _TARGET))
    folders = ", ".join(([_JOINT] if joint else []) + separate) or "none of them"
    raise UserError(f"{folder}: tokenizers are a folder {_JOINT}, or {_SOURCE} and {_TARGET}; found {folders}")


class TaggedTokenizer:
    """A tokenizer that puts tags before every text: the tag of the target language (Johnson et al. 2017), and the tags
    of side constraints (Sennrich et al. 2016).

    Tags are inserted as ids: the same characters in a text remain ordinary text.
    """

    def __init__(self, tokenizer: Tokenizer, *tags: str) -> None:
        """Raises `UserError` if the vocabulary lacks one of the tags."""
        self.tokenizer = tokenizer
        self.kind, self.size, self.padding = tokenizer.kind, tokenizer.size, tokenizer.padding
        self.tags = list(map(tokenizer.reserved_id, tags))

    def reserved_id(self, piece: str) -> int:
        return self.tokenizer.reserved_id(piece)

    def encode(self, text: str) -> list[int]:
        """The tags, followed by the best segmentation of `text`, without an end id."""
        return [*self.tags, *self.tokenizer.encode(text)]

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
