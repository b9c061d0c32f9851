"""Held-out pairs with dates and placeholders."""

import pytest

from benchmarks.guard_cases import NEW_UNITS, with_addresses, with_amounts, with_dates, with_placeholders
from limelight.config import Direction
from limelight.text.checks import find_addresses
from limelight.text.measures import units_of
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
    assert [*with_placeholders(pairs, Direction("en", "de"))] == [
        ("{name} saw {other}.", "{other} wurde von {name} gesehen.")
    ]


def test_both_sides_get_the_same_address() -> None:
    pairs = [("Tom saw her.", "Tom sah sie."), ("Tom saw Mary.", "Tom sah Mary.")]
    [(source, target)] = with_addresses(pairs, Direction("en", "de"))
    assert find_addresses(source) == find_addresses(target) != []


def test_both_sides_get_the_same_amount() -> None:
    pairs = [("I stayed 5 days.", "Ich blieb fünf Tage."), ("I stayed three days.", "Ich blieb kurz.")]
    found = [*with_amounts(pairs, Direction("en", "de"))]
    assert len(found) == len(NEW_UNITS["en"])
    assert all(units_of(source) == units_of(target) != [] for source, target in found)
    assert len({units_of(source)[0] for source, _ in found}) > 5
