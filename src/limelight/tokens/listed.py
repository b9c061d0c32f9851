"""Tokenizers of imported Marian models: a sentencepiece model segments, a list maps tokens to ids.

The ids do not come from the sentencepiece model: both sides may share one list while each has a model of its own. A
token that is not in the list is unknown, while a character that is unknown to the model may be in the list.
"""

import base64
import json
from collections.abc import Sequence

import sentencepiece
from pydantic import BaseModel, ConfigDict

from limelight.errors import UserError, shown
from limelight.tokens.metadata import FileTokenizer
from limelight.tokens.sentencepiece import count_pieces
from limelight.tokens.sentencepiece_file import type_of
from limelight.tokens.tokenizer import (
    END_PIECE,
    MAX_PIECES,
    PADDING_PIECE,
    UNKNOWN,
    UNKNOWN_PIECE,
    normalize,
    require_count,
)


class _Listed(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sentencepiece: str
    pieces: list[str]


class ListedTokenizer(FileTokenizer):
    """A `Tokenizer` with the ids of transformers' `MarianTokenizer`.

    A language code such as `>>fra<<` at the beginning of a text is one token. Text is normalized by `normalize`, then
    by the model's own rules, which may map several characters to one: `decode(encode(text))` may differ from the text.
    """

    def __init__(self, model: bytes, *, reserved: Sequence[str]) -> None:
        """Wrap the result of `listed_model`.

        Args:
            reserved: tokens of the list that are never split.

        Raises:
            UserError: `model` is invalid, or lacks a reserved token.
        """
        self.sentencepiece, pieces = _read(model)
        if count_pieces(self.sentencepiece) > MAX_PIECES:
            raise UserError(f"a sentencepiece model of more than {MAX_PIECES:,} pieces")
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(self.sentencepiece)
        except (RuntimeError, ValueError, TypeError) as error:
            raise UserError(f"not a sentencepiece model: {shown(str(error))}") from None
        super().__init__(f"listed ({type_of(self.sentencepiece)})", model, pieces, reserved)
        self._ids = {piece: number for number, piece in enumerate(pieces)}

    def encode(self, text: str) -> list[int]:
        """The best segmentation of `text`, after the token of its language code if it has one, without an end id."""
        text = normalize(text)
        pieces, code = list[str](), text.partition("<<")[0] + "<<"
        if code in self._ids and code.startswith(">>"):
            pieces, text = [code], text[len(code) :]
        pieces += self._processor.encode(text, out_type=str)
        return [self._ids.get(piece, UNKNOWN) for piece in pieces]


def listed_model(model: bytes, pieces: Sequence[str]) -> bytes:
    """The file content of a `ListedTokenizer`.

    Args:
        model: a serialized sentencepiece model.
        pieces: tokens in the order of their ids, beginning with the end and the unknown token, without padding.
    """
    listed = {"sentencepiece": base64.b64encode(model).decode("ascii"), "pieces": list(pieces)}
    return json.dumps(listed, ensure_ascii=False).encode("utf-8")


def _read(model: bytes) -> tuple[bytes, list[str]]:
    """The sentencepiece model and the tokens of the list."""
    try:
        listed = _Listed.model_validate_json(model)
        sentencepiece_model = base64.b64decode(listed.sentencepiece, validate=True)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise UserError(f"not a listed.json: {shown(reason)}") from None
    pieces = listed.pieces
    require_count(len(pieces))
    if pieces[:2] != [END_PIECE, UNKNOWN_PIECE] or len({*pieces, PADDING_PIECE}) <= len(pieces):
        raise UserError(f"pieces must begin with {END_PIECE} and {UNKNOWN_PIECE}, each once, and without padding")
    return sentencepiece_model, pieces
