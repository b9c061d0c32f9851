"""Held-out pairs with dates and placeholders."""

import pytest

from benchmarks.guard_cases import with_dates, with_placeholders
from limelight.config import Direction
from limelight.text.number_notation import find_dates


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("I'll call you tomorrow.", "Ich rufe dich morgen an.", ("en", "de")),
        ("Demain il pleut.", "Tomorrow it rains.", ("fr", "en")),
    ],
)
def test_both_sides_get_the_same_date(source: str, target: str, languages: tuple[str, str]) -> None:
    [pair] = with_dates([(source, target)], Direction(*languages))
    found = [[each[2:] for each in find_dates(*both)] for both in zip(pair, languages, strict=True)]
    assert found[0] == found[1] != []
    assert [*with_dates([(source, target)], Direction(*languages))] == [pair]


def test_a_morning_and_a_day_of_one_side_are_no_dates() -> None:
    pairs = [("Tomorrow morning", "Morgen am Morgen"), ("Every morning", "Jeden Morgen"), ("It was tomorrow", "Er")]
    assert len([*with_dates(pairs, Direction("en", "de"))]) == 1


def test_names_become_the_same_placeholders() -> None:
    pairs = [
        ("Tom saw Mary.", "Tom sah Mary."),
        ("Tom saw Mary.", "Mary wurde von Tom gesehen."),
        ("Tom sees Mary.", "Er sieht Mary."),
        ("Tom knows Tom.", "Tom kennt Tom."),
        ("He saw her.", "Er sah sie."),
    ]
    assert [*with_placeholders(pairs)] == [("{name} saw {other}.", "{other} wurde von {name} gesehen.")]
