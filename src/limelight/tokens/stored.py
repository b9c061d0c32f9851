"""Train, save and load the tokenizers of a model.

The folder of a tokenizer has the model file in its library's own format, and `tokenizer.yaml`, which describes it.
Neither is executable, and both are validated: file sizes are bounded, no file name is taken from a file's content, and
the SHA-256 of the model file must match the description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from limelight.errors import UserError, shown
from limelight.tokens.characters import CharacterTokenizer, train_characters
from limelight.tokens.listed import ListedTokenizer
from limelight.tokens.sentencepiece import SentencePieceTokenizer, train_sentencepiece
from limelight.tokens.tokenizer import MAX_PIECES, Tokenizer, reserved_pieces
from limelight.tokens.vocabulary import training_sentences
from limelight.tokens.wordpiece import WordPieceTokenizer, train_wordpiece
from limelight.untrusted import MAX_YAML_BYTES, read_plain, read_yaml

METADATA_NAME = "tokenizer.yaml"
FORMAT = 1
MODEL_FILES = {
    "bpe": "spm.model",
    "unigram": "spm.model",
    "wordpiece": "tokenizer.json",
    "characters": "characters.txt",
    "listed": "listed.json",
}
"""Name of the model file for each kind of tokenizer."""

_MAX_MODEL_BYTES = 16_000_000
_KEYS = {"format": int, "kind": str, "pieces": int, "padding": int, "reserved": list, "sha256": str}


@dataclass(frozen=True)
class StoredTokenizer:
    """A tokenizer in stored form."""

    kind: str
    pieces: int
    """Number of tokens without padding; also the id of padding."""
    reserved: tuple[str, ...]
    """Tokens that are never split."""
    model: bytes


def write_stored(stored: StoredTokenizer, folder: Path) -> None:
    """Write both files. The description is written last: a folder that contains it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL_FILES[stored.kind]).write_bytes(stored.model)
    description = {
        "format": FORMAT,
        "kind": stored.kind,
        "pieces": stored.pieces,
        "padding": stored.pieces,
        "reserved": list(stored.reserved),
        "sha256": hashlib.sha256(stored.model).hexdigest(),
    }
    text = yaml.safe_dump(description, sort_keys=False, allow_unicode=True)
    (folder / METADATA_NAME).write_text(text, encoding="utf-8")


def read_stored(folder: Path) -> StoredTokenizer:
    """Read and validate both files.

    Raises:
        UserError: a file is missing, too large, damaged or of another format; the message names it.
    """
    path = folder / METADATA_NAME
    description = _describe(path)
    kind, pieces = description["kind"], description["pieces"]
    if kind not in MODEL_FILES:
        raise UserError(f"{path}: unknown kind of tokenizer {shown(kind)!r}; known are {', '.join(MODEL_FILES)}")
    if not 2 <= pieces <= MAX_PIECES:
        raise UserError(f"{path}: {pieces:,} pieces; a vocabulary has between 2 and {MAX_PIECES:,}")
    if description["padding"] != pieces:
        raise UserError(f"{path}: padding is {description['padding']}, it must be the last id, here {pieces}")
    if not all(isinstance(piece, str) for piece in description["reserved"]):
        raise UserError(f"{path}: reserved pieces must be text")
    model_path = folder / MODEL_FILES[kind]
    model = _read(model_path, _MAX_MODEL_BYTES)
    if hashlib.sha256(model).hexdigest() != description["sha256"]:
        raise UserError(f"{model_path}: damaged, or not the file that {METADATA_NAME} describes (SHA-256 differs)")
    return StoredTokenizer(kind, pieces, tuple(description["reserved"]), model)


def _describe(path: Path) -> dict[str, Any]:
    content = _read(path, MAX_YAML_BYTES)
    try:
        description = read_yaml(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{path}: damaged: not in UTF-8") from None
    except ValueError as error:
        raise UserError(f"{path}: damaged: not YAML: {error}") from None
    if not isinstance(description, dict):
        raise UserError(f"{path}: damaged: not a mapping of {', '.join(_KEYS)}")
    if description.get("format") != FORMAT:
        found = shown(repr(description.get("format")))
        raise UserError(f"{path}: format {found} of a tokenizer folder; this version reads format {FORMAT}")
    if set(description) != set(_KEYS):
        wrong = ", ".join(sorted(map(str, set(description) ^ set(_KEYS))))
        raise UserError(f"{path}: keys that are missing or unknown: {shown(wrong)}")
    for key, kind in _KEYS.items():
        # bool is an int in Python, not in a description
        if not isinstance(description[key], kind) or isinstance(description[key], bool):
            raise UserError(f"{path}: {key} must be {kind.__name__}, not {shown(repr(description[key]), 80)}")
    return description


def _read(path: Path, most: int) -> bytes:
    try:
        return read_plain(path, most)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); is this the folder of a tokenizer?") from None


KINDS = ("bpe", "unigram", "wordpiece", "characters")
"""Kinds of vocabularies that can be trained."""

_JOINT, _SOURCE, _TARGET = "joint", "source", "target"


class Tokenizers(NamedTuple):
    """The tokenizers of both sides; the same object twice if the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def one_vocabulary(self) -> bool:
        """Whether each id stands for the same token on both sides, even if they segment texts differently."""
        if self.source is self.target or self.source.size != self.target.size:
            return self.source is self.target
        return self.source.pieces(range(self.source.size)) == self.target.pieces(range(self.target.size))


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
        kind: `bpe`, `unigram`, `wordpiece` or `characters`.
        vocabulary_size: tokens without padding; default: `suggest_vocabulary_size(sentences)`, or fewer if the texts do
            not have as many. For `characters`, an upper bound.
        languages: each gets a tag (`language_tag`) among the reserved tokens.
        byte_fallback: encode unknown characters as bytes; not supported by WordPiece and characters, which ignore it.
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
    if kind == "wordpiece":
        return train_wordpiece(chosen, vocabulary_size=vocabulary_size, reserved=pieces, pairs=sentences)
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
    stored = read_stored(folder)
    try:
        if stored.kind == "wordpiece":
            tokenizer: Tokenizer = WordPieceTokenizer(stored.model, reserved=stored.reserved)
        elif stored.kind == "characters":
            tokenizer = CharacterTokenizer(stored.model, reserved=stored.reserved)
        elif stored.kind == "listed":
            tokenizer = ListedTokenizer(stored.model, reserved=stored.reserved)
        else:
            tokenizer = SentencePieceTokenizer(stored.model, kind=stored.kind, reserved=stored.reserved)
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


def tokenizer_files(folder: Path) -> list[Path]:
    """All files that `load_tokenizers` may open, whether they exist or not."""
    names = sorted({METADATA_NAME, *MODEL_FILES.values()})
    return [folder / side / name for side in (_JOINT, _SOURCE, _TARGET) for name in names]


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
    found = ", ".join(([_JOINT] if joint else []) + separate) or "none of them"
    raise UserError(f"{folder}: tokenizers are a folder {_JOINT}, or {_SOURCE} and {_TARGET}; found {found}")
