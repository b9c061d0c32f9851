"""Fields of a message: read as they were written, and told where they break off."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens.sentencepiece_file import fields


def varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def written(number: int, value: int | bytes | float) -> bytes:
    """A field as protocol buffers have it: numbers, texts, and floats of four bytes."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


values = st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=300), st.floats(width=32, allow_nan=False))


@given(st.lists(st.tuples(st.integers(1, 2**20), values), max_size=9))
def test_what_is_written_is_read(content: list[tuple[int, int | bytes | float]]) -> None:
    raw = [written(number, value) for number, value in content]
    found = list(fields(b"".join(raw)))
    assert [field.number for field in found] == [number for number, _ in content]
    assert [field.raw for field in found] == raw
    for field, (_, value) in zip(found, content, strict=True):
        assert field.value == (struct.pack("<f", value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (b"\x0a", "there is no number at byte 1"),
        (b"\x0a\x05abcd", "it breaks off in the field at byte 0"),
        (b"\x08\x01\x15abc", "it breaks off in the field at byte 2"),
        (b"\x0a\x00\x0b", "a field of unknown type at byte 2"),
        (b"\x80" * 11, "there is no number at byte 0"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "it breaks off in the field at byte 0"),
    ],
)
def test_what_is_no_message_is_told_by_its_place(message: bytes, fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        list(fields(message))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    with suppress(UserError):
        assert b"".join(field.raw for field in fields(message)) == message


def test_a_number_is_no_text() -> None:
    (field,) = fields(b"\x08\x07")
    with pytest.raises(UserError, match="field 1 is a number"):
        field.bytes_value()
