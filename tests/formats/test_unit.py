"""Codes in a unit, and splices."""

import random

import pytest

from limelight.formats.unit import Code, Splice, make_unit, splice, with_codes


def test_characters_that_look_like_codes_are_codes_of_themselves() -> None:
    text = "a \U000f1000 b \U000ffffd"
    unit = make_unit([text, Code("<x/>")], lambda new: [], 1)
    assert with_codes(unit.text, unit.codes, str.upper) == "A \U000f1000 B \U000ffffd<x/>"


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
    nested = [Splice(2, 3, "YY"), Splice(4, 5, "no"), Splice(0, 6, (Code("z"), Code("bcd", begin=1), "!"))]
    assert splice("abcdef", nested) == "zbYYd!"
