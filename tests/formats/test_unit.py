"""Codes in a unit, and splices."""

import random

import pytest

from limelight.formats.unit import (
    MAX_UNIT,
    Code,
    FormatError,
    Lines,
    Splice,
    code_protector,
    make_unit,
    parts_of,
    splice,
    with_codes,
    with_inner,
)  # fmt: skip
from limelight.text.protect import protect, restore


def test_codes_are_characters_and_come_back() -> None:
    codes = [Code("<b>", "open", "b"), Code("</b>", "close", "b"), Code("<br/>")]
    unit = make_unit(["a ", codes[0], "b", codes[1], codes[2]], lambda new: [], 1)
    assert len(unit.text) == 6
    assert list(parts_of(unit.text, unit.codes)) == ["a ", codes[0], "b", codes[1], codes[2]]
    assert with_codes(unit.text, unit.codes, str.upper) == "A <b>B</b><br/>"
    protected = protect(unit.text, [code_protector(unit.codes)])
    assert [span.role for span in protected.spans] == ["open", "close"]
    assert protected.suffix == unit.text[-1]
    assert restore(protected.text, protected).text == unit.text


def test_characters_that_look_like_codes_are_codes_of_themselves() -> None:
    text = "a \U000f1000 b \U000ffffd"
    unit = make_unit([text, Code("<x/>")], lambda new: [], 1)
    assert with_codes(unit.text, unit.codes, str.upper) == "A \U000f1000 B \U000ffffd<x/>"


def test_a_unit_that_is_too_large_is_refused() -> None:
    with pytest.raises(FormatError, match="the maximum is") as raised:
        make_unit(["x" * (MAX_UNIT + 1)], lambda new: [], 7)
    assert raised.value.line == 7


def test_splices_in_any_order(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices("abc\n", k=50))
    edges = sorted(draw.sample(range(51), 10))
    parts = [Splice(edges[place], edges[place + 1], str(place)) for place in range(0, 10, 2)]
    expected = text
    for begin, end, new in reversed(parts):
        expected = expected[:begin] + new + expected[end:]
    draw.shuffle(parts)
    assert splice(text, parts) == expected


def test_a_splice_within_another_belongs_to_it_and_an_overlap_is_a_fault() -> None:
    assert splice("abcdef", [Splice(0, 4, "X"), Splice(1, 2, "y")]) == "Xef"
    with pytest.raises(ValueError, match="overlap"):
        splice("abcdef", [Splice(0, 3, "X"), Splice(2, 5, "y")])
    codes = with_inner([Code("bcd", place=1), Code("z")], [Splice(2, 3, "YY"), Splice(4, 5, "no")])
    assert [code.raw for code in codes] == ["bYYd", "z"]


def test_lines_count_from_1() -> None:
    lines = Lines("a\nbc\n\nd")
    assert [lines.at(place) for place in (0, 1, 2, 5, 6)] == [1, 1, 2, 3, 4]
