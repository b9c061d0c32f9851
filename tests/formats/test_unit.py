"""Codes in a unit, and splices."""

import random

import pytest

from limelight.formats.unit import Code, Splice, make_unit, splice, with_codes
from tests.formats.helpers import units_of, upper


def test_characters_that_look_like_codes_are_codes_of_themselves() -> None:
    text = "a \U000f1000 b \U000ffffd"
    unit = make_unit([text, Code("<x/>")], lambda new: [], 1)
    assert with_codes(unit.text, unit.codes, str.upper) == "A \U000f1000 B \U000ffffd<x/>"


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (".html", '<html lang="en"><title>OK</title><p>a dog</p>', '<html lang="de"><title>OK</title><p>A DOG</p>'),
        (".json", '{"en": {"app": "OK", "x": "a dog"}}', '{"de": {"app": "OK", "x": "A DOG"}}'),
    ],
)
def test_the_language_of_a_file_is_changed_where_its_first_segment_is_not(
    suffix: str, text: str, expected: str
) -> None:
    first, *others = units_of(text, suffix)
    assert first.text == "OK"
    assert splice(text, [each for unit in others for each in unit.write(upper(unit.text))]) == expected


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
