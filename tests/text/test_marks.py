"""Marks are single characters of a private-use area, and a text that has them is known."""

import pytest

from limelight.text.marking import (
    MAX_PLACEHOLDERS,
    TERM_BEGIN,
    TERM_END,
    annotated,
    has_marks,
    has_private_use,
    mark_number,
    mark_of,
    placeholder,
    show_marks,
)


def test_marks_are_32_private_use_characters() -> None:
    marks = [*map(placeholder, range(MAX_PLACEHOLDERS)), TERM_BEGIN, TERM_END]
    assert [mark_number(mark) for mark in marks] == list(range(32))
    assert [mark_of(number) for number in range(32)] == marks
    assert all(0xF0000 <= ord(mark) <= 0xFFFFD and has_marks(f"a{mark}") for mark in marks)


@pytest.mark.parametrize("number", [-1, 30, 32])
def test_there_are_30_placeholders(number: int) -> None:
    with pytest.raises(ValueError, match=f"placeholder {number}: must be 0 to 29"):
        placeholder(number)


def test_what_is_read_as_a_mark() -> None:
    assert not has_marks("<ph0> and \ue000 and \U000f0200 and \U00100000")
    assert has_private_use("\U000f0200")
    assert not has_private_use("<ph0> and \ue000 and \U00100000")


def test_marks_are_shown_by_their_names() -> None:
    assert show_marks(f"{placeholder(7)}x{annotated('cat', 'Katze')}") == "<ph7>xcat <ph30> Katze <ph31>"
