"""Marks are single characters of a private-use area, and a text that has them is known."""

from limelight.text.marking import (
    MAX_PLACEHOLDERS,
    TERM_BEGIN,
    TERM_END,
    has_marks,
    mark_number,
    mark_of,
    placeholder,
)


def test_marks_are_32_private_use_characters() -> None:
    marks = [*map(placeholder, range(MAX_PLACEHOLDERS)), TERM_BEGIN, TERM_END]
    assert [mark_number(mark) for mark in marks] == list(range(32))
    assert [mark_of(number) for number in range(32)] == marks
    assert all(0xF0000 <= ord(mark) <= 0xFFFFD and has_marks(f"a{mark}") for mark in marks)
