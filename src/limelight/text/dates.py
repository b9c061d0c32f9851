"""Dates with the name of a month, in English, German and French: "5 December 2027", "December 5", "le 1er mai"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_NAMES = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_SHORT = {
    "en": "jan:1 feb:2 mar:3 apr:4 jun:6 jul:7 aug:8 sep:9 sept:9 oct:10 nov:11 dec:12",
    "de": "jan:1 feb:2 jänner:1 mär:3 apr:4 jun:6 jul:7 aug:8 sep:9 sept:9 okt:10 nov:11 dez:12",
    "fr": "janv:1 févr:2 avr:4 juil:7 sept:9 oct:10 nov:11 déc:12 fevrier:2 aout:8 decembre:12",
}
_WORD = re.compile(r"[^\W\d_]+")
_SPACE = "[ \u00a0\u202f]"


class WrittenDate(NamedTuple):
    """A date in a text."""

    begin: int
    end: int
    day: int
    """0 for a month and a year."""
    month: int
    year: int
    """0 if it has none."""


def months_of(text: str, language: str) -> list[int]:
    """The numbers of the months that a text names; in any of the languages with names if that of the text has none."""
    words = _WORD.findall(text.casefold())
    tables = [_months(each) for each in ((language,) if language in _NAMES else _NAMES)]
    return [found for word in words for found in {table[word] for table in tables if word in table}]


def find_dates(text: str, language: str) -> Iterator[WrittenDate]:
    """The dates with the name of a month, in order; none in a language without a table of names."""
    if language not in _NAMES:
        return
    for match in _pattern(language).finditer(text):
        groups = {name: value for name, value in match.groupdict().items() if value}
        day, year = (next((int(groups[each]) for each in names if each in groups), 0) for names in _GROUPS)
        month = _months(language)[next(groups[each] for each in ("a", "b", "c") if each in groups).casefold()]
        if day <= 31:
            yield WrittenDate(match.start(), match.end(), day, month, year)


def find_reversed(text: str, language: str) -> Iterator[WrittenDate]:
    """The dates in the order of English, "Mai 5, 2027", in a language that writes the day first."""
    if language not in _NAMES or language == "en":
        return
    found = [(each.begin, each.end) for each in find_dates(text, language) if each.day]
    for match in _reversed(language).finditer(text):
        begin, end = match.span()
        if int(match["day"]) <= 31 and not any(first < end and begin < last for first, last in found):
            month = _months(language)[match["month"].casefold()]
            yield WrittenDate(begin, end, int(match["day"]), month, int(match["year"] or 0))


def written_date(date: WrittenDate, language: str) -> str:
    """A date as a language writes it; empty for a language without names."""
    if language not in _NAMES:
        return ""
    name = _NAMES[language].split()[date.month - 1]
    name = name if language == "fr" else name.capitalize()
    year = f" {date.year}" if date.year else ""
    if not date.day:
        return name + year
    if language == "en":
        return f"{name} {date.day}" + ("," + year if year else "")
    day = f"{date.day}." if language == "de" else "1er" if date.day == 1 else str(date.day)
    return f"{day} {name}{year}"


_GROUPS = (("day_a", "day_b"), ("year_a", "year_b", "year_c"))


@cache
def _months(language: str) -> dict[str, int]:
    """The names of the months with their numbers."""
    table = {word: number for number, word in enumerate(_NAMES[language].split(), start=1)}
    return table | {word: int(number) for word, _, number in (each.partition(":") for each in _SHORT[language].split())}


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """A day and a month, a month and a day (English only), or a month, each perhaps with a year."""
    names = sorted(_months(language), key=len, reverse=True)
    if language != "fr":
        names = [each.capitalize() for each in names]
    month = "|".join(names)
    ordinal = {"en": r"(?:st|nd|rd|th)?(?: of)?", "de": r"\.", "fr": "(?:er)?"}[language]
    year = rf"(?:,?{_SPACE}(?P<year_{{}}>\d{{{{4}}}})(?![\d.,]\d))"
    first = rf"(?<![\d.,:])(?P<day_a>\d{{1,2}}){ordinal}{_SPACE}(?P<a>{month})(?!\w)\.?{year.format('a')}?"
    second = rf"(?<!\w)(?P<b>{month})\.?{_SPACE}(?P<day_b>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,]\d){year.format('b')}?"
    third = rf"(?<!\w)(?P<c>{month})\.?{year.format('c')}"
    return re.compile("|".join((first, second, third) if language == "en" else (first, third)))


@cache
def _reversed(language: str) -> re.Pattern[str]:
    """A month, a day and perhaps a year."""
    month = "|".join(sorted(_months(language), key=len, reverse=True))
    day = r"(?P<day>\d{1,2})(?:(?:st|nd|rd|th|er)(?!\w)|\.(?= ?\d{4}(?!\d)))?(?![\w:%°€$£]|[.,]\d)"
    year = rf"(?:,?{_SPACE}(?P<year>\d{{4}})(?![\d.,]\d))?"
    return re.compile(rf"(?<!\w)(?P<month>{month})\.?{_SPACE}{day}{year}", re.IGNORECASE)
