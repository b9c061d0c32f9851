"""Tokenizers of files. Their folder has the model file in its library's own format, and `tokenizer.yaml`, which
describes it.

Neither is executable, and both are validated: file sizes are bounded, no file name is taken from a file's content, and
the SHA-256 of the model file must match the description.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.errors import UserError, shown
from limelight.tokens.tokenizer import (
    END_PIECE,
    MAX_PIECES,
    PADDING_PIECE,
    SPACE,
    UNKNOWN,
    UNKNOWN_TEXT,
    byte_of,
    group_words,
    is_control,
    require_ids,
)
from limelight.untrusted import MAX_YAML_BYTES, read_plain, read_yaml, write_yaml

METADATA_NAME = "tokenizer.yaml"
MODEL_FILES = {
    "bpe": "spm.model",
    "unigram": "spm.model",
    "characters": "characters.txt",
    "listed": "listed.json",
}
"""Name of the model file for each kind of tokenizer."""

_MAX_MODEL_BYTES = 16_000_000


class Description(BaseModel):
    """The content of `tokenizer.yaml`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal[1]
    kind: Literal["bpe", "unigram", "characters", "listed"]
    pieces: Annotated[int, Field(ge=2, le=MAX_PIECES)]
    """Number of tokens without padding; also the id of padding."""
    padding: int
    reserved: list[str]
    """Tokens that are never split."""
    sha256: str


class FileTokenizer(ABC):
    """Base class of tokenizers whose model is the content of a file; their tokens are 0, 1, ..., and padding after the
    last one."""

    def __init__(self, kind: str, model: bytes, pieces: Sequence[str], reserved: Sequence[str]) -> None:
        """Set the tokens without padding, and the reserved tokens.

        Raises:
            UserError: a reserved token is not among the tokens.
        """
        self.kind = kind
        self.model = model
        """The content of the model file."""
        missing = sorted(set(reserved) - set(pieces))
        if missing:
            raise UserError(f"the model has no reserved piece {shown(', '.join(missing))}")
        self._pieces = [*pieces, PADDING_PIECE]
        self.padding, self.size = len(pieces), len(self._pieces)
        self.reserved = tuple(reserved)
        """Tokens that are never split."""
        alone = {*reserved, END_PIECE, PADDING_PIECE}
        self._alone = [piece in alone for piece in self._pieces]
        silent = {"<s>", END_PIECE, PADDING_PIECE, *filter(is_control, pieces)}
        self._spelled = [
            b"" if piece in silent else byte_of(piece) or piece.replace(SPACE, " ").encode() for piece in self._pieces
        ]
        """The text of each token in UTF-8; a byte may be a part of a character."""
        self._spelled[UNKNOWN] = UNKNOWN_TEXT.encode()

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of a text."""

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """`encode` of each text if `amount` is 0. Raises `UserError` for another amount: only BPE is sampled."""
        if amount != 0:
            raise UserError(
                f"tokens.sampling is {amount}, but tokens.kind={self.kind} is not sampled; set it to 0, or tokens.kind "
                "to bpe"
            )
        return [self.encode(text) for text in texts]

    def reserved_id(self, piece: str) -> int:
        """The id of a reserved token. Raises `UserError` if the vocabulary lacks it."""
        if piece not in self.reserved:
            raise UserError(f"this vocabulary has no reserved token {shown(piece)}")
        return self._pieces.index(piece)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, without spaces at its ends. End, padding, tags and placeholders are skipped, the unknown
        id is decoded as U+2047, and incomplete characters, as at the end of truncated text, are dropped."""
        require_ids(ids, self.size)
        return b"".join([self._spelled[number] for number in ids]).decode(errors="ignore").strip(" ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """A readable token for each id; bytes are shown as `<0xE2>`."""
        require_ids(ids, self.size)
        return [self._pieces[number] for number in ids]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        return group_words(self.pieces(ids), [self._alone[number] for number in ids])

    def save(self, folder: Path) -> None:
        """Write the model file and `tokenizer.yaml` into `folder`."""
        kind = self.kind.partition(" ")[0]  # of `listed (unigram)`
        write_stored(folder, kind, self.padding, self.reserved, self.model)


def write_stored(folder: Path, kind: str, pieces: int, reserved: Sequence[str], model: bytes) -> None:
    """Write both files. The description is written last: a folder that contains it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL_FILES[kind]).write_bytes(model)
    description = {"format": 1, "kind": kind, "pieces": pieces, "padding": pieces, "reserved": list(reserved)}
    description["sha256"] = hashlib.sha256(model).hexdigest()
    (folder / METADATA_NAME).write_text(write_yaml(description), encoding="utf-8")


def read_stored(folder: Path) -> tuple[Description, bytes]:
    """Read and validate both files: the description, and the content of the model file.

    Raises:
        UserError: a file is missing, too large, damaged or of another format; the message names it.
    """
    path = folder / METADATA_NAME
    content = _read(path, MAX_YAML_BYTES)
    try:
        description = Description.model_validate(read_yaml(content.decode("utf-8")))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path}: not a description of a tokenizer: {shown(reason)}") from None
    if description.padding != description.pieces:
        raise UserError(f"{path}: padding is {description.padding}, it must be the last id, here {description.pieces}")
    model_path = folder / MODEL_FILES[description.kind]
    model = _read(model_path, _MAX_MODEL_BYTES)
    if hashlib.sha256(model).hexdigest() != description.sha256:
        raise UserError(f"{model_path}: damaged, or not the file that {METADATA_NAME} describes (SHA-256 differs)")
    return description, model


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        return read_plain(path, max_bytes)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); is this the folder of a tokenizer?") from None
