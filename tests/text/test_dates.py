"""Dates with the names of months."""

import pytest

from limelight.text.number_notation import WrittenDate, find_dates, find_reversed, months_of, written_date


@pytest.mark.parametrize(
    ("text", "language", "date"),
    [
        ("on 5 December 2027.", "en", (5, 12, 2027)),
        ("the 5th of December", "en", (5, 12, 0)),
        ("on December 5th, 2027,", "en", (5, 12, 2027)),
        ("on Dec. 5", "en", (5, 12, 0)),
        ("in August 2016", "en", (0, 8, 2016)),
        ("am 5. Dezember 2027", "de", (5, 12, 2027)),
        ("im August 2016", "de", (0, 8, 2016)),
        ("le 1er mai", "fr", (1, 5, 0)),
        ("le 5 décembre 2027", "fr", (5, 12, 2027)),
    ],
)
def test_dates_are_found(text: str, language: str, date: tuple[int, int, int]) -> None:
    assert [each[2:] for each in find_dates(text, language)] == [date]


@pytest.mark.parametrize(
    "text", ["you may 5 times", "March on", "In May, 5 dogs", "May 5.5", "32 May is none", "12:30 May"]
)
def test_what_is_no_date_is_not_found(text: str) -> None:
    assert [each for each in find_dates(text, "en") if each.day] == []


@pytest.mark.parametrize(
    ("text", "language", "dates"),
    [
        ("auf Februar 5, 1987 in Rom", "de", [(5, 2, 1987)]),
        ("am Juni 26. 2021", "de", [(26, 6, 2021)]),
        ("auf September 22nd geboren", "de", [(22, 9, 0)]),
        ("en octobre 15.", "fr", [(15, 10, 0)]),
        ("le 5 mai 2021", "fr", []),
        ("am 9. Juni 15 Leute", "de", []),
        ("im Mai 5 Uhr 30", "de", [(5, 5, 0)]),
        ("im Mai 5,5 kg", "de", []),
        ("im Mai 2021", "de", []),
        ("on October 15", "en", []),
        ("de 3. Janvier 1973", "fr", [(3, 1, 1973)]),
        ("on 3. January 1973", "en", [(3, 1, 1973)]),
        ("am 3. Januar 1973", "de", []),
        ("des 16 september 1997", "de", [(16, 9, 1997)]),
        ("am 16. september", "de", [(16, 9, 0)]),
        ("le 16 Septembre 1997", "fr", [(16, 9, 1997)]),
        ("of the 16 september 1997", "en", [(16, 9, 1997)]),
        ("on 16 September 1997", "en", []),
    ],
)
def test_dates_in_the_order_of_another_language_are_found(
    text: str, language: str, dates: list[tuple[int, int, int]]
) -> None:
    assert [each[2:] for each in find_reversed(text, language)] == dates


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_a_date_is_read_as_it_was_written(language: str) -> None:
    for date in ((5, 12, 2027), (1, 5, 1999), (31, 3, 0), (0, 8, 2016)):
        text = written_date(WrittenDate(0, 0, *date), language)
        assert [each[2:] for each in find_dates(text, language)] == [date], text


def test_other_languages_have_no_names() -> None:
    assert list(find_dates("5 diciembre 2027", "es")) == []
    assert written_date(WrittenDate(0, 0, 5, 12, 2027), "es") == ""
    assert set(months_of("im Mai", "")) == {5}
    assert months_of("im Dezember", "en") == []
