"""Reading protocol buffers: validates a sentencepiece model before the library loads it.

A message is a run of fields, each with a number and one of four wire types. protobuf would be one more package.
"""

from collections.abc import Iterator
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
