"""Low-level access to sentencepiece model files: read fields, replace normalization rules, add tokens.

Field numbers are those of sentencepiece_model.proto; sentencepiece's library can read such files but not modify them.

A message of protocol buffers is a run of fields, each with a number and one of four wire types. protobuf would be one
more package.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from limelight.errors import UserError

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message."""

    number: int
    value: int | bytes
    raw: bytes
    """The encoded field, including its number."""

    def bytes_value(self) -> bytes:
        """Text, bytes or a message. Raises `UserError` for a number."""
        if isinstance(self.value, int):
            raise UserError(f"not a sentencepiece model: field {self.number} is a number")
        return self.value


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message. Raises `UserError` if it is truncated."""
    place = 0
    while place < len(message):
        begin = place
        key, place = _read_varint(message, place)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if wire == _VARINT:
            value, place = _read_varint(message, place)
        else:
            size, place = (8, place) if wire == _EIGHT_BYTES else (4, place)
            if wire == _BYTES:
                size, place = _read_varint(message, place)
            elif wire not in (_EIGHT_BYTES, _FOUR_BYTES):
                raise UserError(f"not a sentencepiece model: a field of unknown type at byte {begin:,}")
            value, place = message[place : place + size], place + size
        if place > len(message):
            raise UserError(f"not a sentencepiece model: it breaks off in the field at byte {begin:,}")
        yield Field(number, value, message[begin:place])


def _read_varint(message: bytes, place: int) -> tuple[int, int]:
    """A whole number, seven bits to a byte, and the place after it."""
    number = 0
    for count, byte in enumerate(message[place : place + 10]):
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return number, place + count + 1
    raise UserError(f"not a sentencepiece model: there is no number at byte {place:,}")


PIECE, TRAINER, NORMALIZER = 1, 2, 3  # fields of the whole
PIECE_TEXT, PIECE_SCORE, PIECE_KIND = 1, 2, 3  # fields of a piece
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # kinds of pieces
MODEL_TYPE = 3  # of the trainer
RULE_NAME, RULES = 1, 2  # of the normalizer
TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


def type_of(model: bytes) -> str:
    """`unigram`, `bpe`, `word` or `char`. Raises `UserError` for an invalid model."""
    found = [field.value for field in fields(_message(model, TRAINER)) if field.number == MODEL_TYPE]
    number = found[-1] if found else 1
    if number not in list(TYPES):
        raise UserError(f"not a sentencepiece model: its type is {number!r}")
    return TYPES[int(number)]


def pieces_in(model: bytes) -> dict[str, bool]:
    """The tokens in the order of their ids, and whether each is never split."""
    return {text: PIECE_KIND in piece and piece[PIECE_KIND].value == USER_DEFINED for text, piece in _pieces_of(model)}


def scores_in(model: bytes) -> dict[str, float]:
    """The score of each token: in unigram models its log-probability, in BPE models its rank, first merges highest."""
    return {
        text: struct.unpack("<f", piece[PIECE_SCORE].raw[-4:])[0] if PIECE_SCORE in piece else 0.0
        for text, piece in _pieces_of(model)
    }


def _pieces_of(model: bytes) -> Iterator[tuple[str, dict[int, Field]]]:
    """The text of each token, and its fields by number."""
    for field in fields(model):
        if field.number == PIECE:
            piece = {each.number: each for each in fields(field.bytes_value())}
            text = piece[PIECE_TEXT].bytes_value() if PIECE_TEXT in piece else b""
            yield text.decode("utf-8", errors="replace"), piece


def add_pieces(model: bytes, scored: Iterable[tuple[str, float]], *, kind: int = NORMAL) -> bytes:
    """The model with tokens of these texts and scores added at the end."""
    added = (
        _field(PIECE_TEXT, text.encode())
        + _varint(PIECE_SCORE << 3 | _FOUR_BYTES)
        + struct.pack("<f", score)
        + _varint(PIECE_KIND << 3)
        + _varint(kind)
        for text, score in scored
    )
    return model + b"".join(_field(PIECE, piece) for piece in added)


def rules_of(model: bytes) -> tuple[str, bytes]:
    """The name and the compiled normalization rules; empty rules leave text unchanged."""
    found = {field.number: field.bytes_value() for field in fields(_message(model, NORMALIZER)) if field.number < 3}
    return found.get(RULE_NAME, b"").decode("utf-8", errors="replace"), found.get(RULES, b"")


def with_rules(model: bytes, name: str, rules: bytes) -> bytes:
    """The model with other normalization rules."""
    normalizer = with_fields(_message(model, NORMALIZER), {RULE_NAME: name.encode(), RULES: rules})
    return with_fields(model, {NORMALIZER: normalizer})


def _message(model: bytes, number: int) -> bytes:
    found = [field.bytes_value() for field in fields(model) if field.number == number]
    return found[-1] if found else b""


def with_fields(message: bytes, changed: Mapping[int, bytes]) -> bytes:
    """A message with some of its fields replaced."""
    kept = b"".join(field.raw for field in fields(message) if field.number not in changed)
    return kept + b"".join(_field(number, value) for number, value in changed.items())


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value
