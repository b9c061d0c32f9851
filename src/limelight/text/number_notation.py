"""Numbers and dates in the notation of another language: 1,299.99 is 1.299,99 in German."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from limelight.text.languages import normal_code
from limelight.text.measures import CURRENCIES
from limelight.text.numbers import (
    HALF_DAY,
    MINUS,
    NOTATIONS,
    SPACES,
    UNIT_AFTER,
    Notation,
    Number,
    find_numbers,
    has_scale,
    is_grouped,
)

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
_LOWER_WORD = re.compile(r" [a-z]")
_SPACE = "[ \u00a0\u202f]"
_STOP = rf"(?:\.(?={_SPACE}?(?-i:[^\sA-ZÀ-ÖØ-Þ])))?"
"""The full stop of an abbreviated month, not that of a sentence."""


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
        if groups.get("day_b") and _is_in_month(text, match):
            yield WrittenDate(match.start(), match.end("b"), 0, month, 0)
        elif day <= 31:
            yield WrittenDate(match.start(), match.end(), day, month, year)


def _is_in_month(text: str, match: re.Match[str]) -> bool:
    """Whether the number after an English month is that of what follows: "In May 20 people came"."""
    return (
        text[max(0, match.start() - 3) : match.start()] in ("in ", "In ")
        and _LOWER_WORD.match(text, match.end()) is not None
    )


def find_reversed(text: str, language: str) -> Iterator[WrittenDate]:
    """The dates that are not as their language writes them: in the order of English, "Mai 5, 2027", in a language that
    writes the day first, with the full stop of German in others, "3. Janvier 1973", or without it or the capital of the
    month, "16 september 1997"; and dates with their month twice, "October 11. Oktober"."""
    if language not in _NAMES:
        return
    twice = [*_with_month_twice(text)] if language == "en" else []
    yield from twice
    found = [(each.begin, each.end) for each in (*find_dates(text, language), *twice) if each.day]
    for match in (match for pattern in _misplaced(language) for match in pattern.finditer(text)):
        begin, end = match.span()
        if int(match["day"]) <= 31 and not any(first < end and begin < last for first, last in found):
            month = _months(language)[match["month"].casefold()]
            yield WrittenDate(begin, end, int(match["day"]), month, int(match["year"] or 0))


def _with_month_twice(text: str) -> Iterator[WrittenDate]:
    """English dates that end as German ones do."""
    for match in _twice().finditer(text):
        month = _months("en")[match["month"].casefold()]
        if _months("de").get(match["again"].casefold(), _months("en").get(match["again"].casefold())) == month:
            yield WrittenDate(*match.span(), int(match["day"]), month, int(match["year"] or 0))


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
    first = rf"(?<![\d.,:])(?P<day_a>\d{{1,2}}){ordinal}{_SPACE}(?P<a>{month})(?!\w){_STOP}{year.format('a')}?"
    second = rf"(?<!\w)(?P<b>{month})\.?{_SPACE}(?P<day_b>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,]\d){year.format('b')}?"
    third = rf"(?<!\w)(?P<c>{month})\.?{year.format('c')}"
    return re.compile("|".join((first, second, third) if language == "en" else (first, third)))


@cache
def _misplaced(language: str) -> tuple[re.Pattern[str], ...]:
    """A month, a day and perhaps a year, but for English, and a day, perhaps with a full stop, and a month. What is
    right for the language is among it."""
    month = "(?P<month>" + "|".join(sorted(_months(language), key=len, reverse=True)) + ")"
    day = r"(?P<day>\d{1,2})(?:(?:st|nd|rd|th|er)(?!\w)|\.(?= ?\d{4}(?!\d)))?(?![\w:%°€$£]|[.,]\d)"
    year = rf"(?:,?{_SPACE}(?P<year>\d{{4}})(?![\d.,]\d))?"
    second = rf"(?<![\w.,])(?P<day>\d{{1,2}})\.?{_SPACE}{month}(?!\w){_STOP}{year}"
    first = rf"(?<!\w){month}\.?{_SPACE}{day}{year}"
    forms = (second,) if language == "en" else (first, second)
    return tuple(re.compile(each, re.IGNORECASE) for each in forms)


@cache
def _twice() -> re.Pattern[str]:
    """A month, a day with a full stop, another month, and perhaps a year."""
    names = [*_NAMES["en"].split(), *_NAMES["de"].split()]
    first, again = ("|".join(each.capitalize() for each in some) for some in (names[:12], names))
    year = rf"(?:,?{_SPACE}(?P<year>\d{{4}})(?![\d.,]\d))?"
    return re.compile(
        rf"(?<!\w)(?P<month>{first}){_SPACE}(?P<day>[12]?\d|3[01])\.{_SPACE}(?P<again>{again})(?!\w){year}"
    )


_CLOCKS = {"de": ("{} Uhr", "{}:{:02} Uhr"), "fr": ("{}\u00a0h", "{}\u00a0h\u00a0{:02}")}
"""How a language without a.m. and p.m. writes a full hour, and other times."""
_NBSP = "\u00a0"
_AMOUNTS = ("plain", "price")
"""Kinds of numbers that may have a currency and a unit."""
_TIMES = re.compile(rf"[{SPACES}]?[x×][{SPACES}]?")
_TO = re.compile(rf"[{SPACES}]?[-–—/][{SPACES}]?")
_BEFORE = re.compile(rf"(?:(?<!\w)[{MINUS}+±])?[{CURRENCIES}][{SPACES}]?$|(?<!\w)[+±]$")


def number_spans(text: str, language: str, *, every: bool) -> Iterator[tuple[int, int]]:
    """Where the numbers of a text are, each with its sign, currency and unit; a product such as 2.5 x 3.5 m and a range
    such as 2.5-3.5 kg is one.

    Args:
        every: all numbers; else only products, and those that have separators, of which a translation often loses one:
            decimals, groups of digits, dates in digits, telephone numbers and versions. A model often converts times,
            and dates with names.
    """
    language = normal_code(language)
    dates = [(each.begin, each.end) for each in find_dates(text, language) if each.day] if every else []
    yield from dates
    for several in _chains(text, find_numbers(text, language)):
        begin, end = _extent(text, several[0])[0], _extent(text, several[-1])[1]
        if not (every or _is_product(text, several) or any(map(_has_separator, several))):
            continue
        if not any(first <= begin < last for first, last in dates):
            yield begin, end


def _has_separator(number: Number) -> bool:
    is_separated = number.kind in ("plain", "code") and not number.text.lstrip(MINUS).isalnum()
    return is_separated or number.kind in ("identifier", "price", "date", "phone", "power")


def _chains(text: str, numbers: Sequence[Number]) -> Iterator[list[Number]]:
    """The numbers in order, those of a product or a range of decimals together."""
    found = list[list[Number]]()
    for number in numbers:
        is_next = bool(found) and _belongs(text, found[-1][-1], number)
        if is_next:
            found[-1].append(number)
        else:
            found.append([number])
    yield from found


def _belongs(text: str, one: Number, other: Number) -> bool:
    """Whether two numbers are factors, or two decimals the ends of a range."""
    if one.kind != "plain" or other.kind != "plain":
        return False
    begin, end = _extent(text, one)[1], _extent(text, other)[0]
    if _TIMES.fullmatch(text, begin, end):
        return True
    return _has_separator(one) and _has_separator(other) and _TO.fullmatch(text, begin, end) is not None


def _is_product(text: str, numbers: Sequence[Number]) -> bool:
    return len(numbers) > 1 and any(
        _TIMES.fullmatch(text, _extent(text, one)[1], _extent(text, other)[0]) for one, other in pairwise(numbers)
    )


def _extent(text: str, number: Number) -> tuple[int, int]:
    """Where a number is with its sign, currency and unit."""
    before = _BEFORE.search(text, max(0, number.begin - 4), number.begin) if number.kind in _AMOUNTS else None
    after = UNIT_AFTER.match(text, number.end) if number.kind in (*_AMOUNTS, "fraction") else None
    return before.start() if before else number.begin, after.end() if after else number.end


def localized_numbers(text: str, source: str, target: str) -> dict[str, str]:
    """The numbers of a text (`number_spans`) that another language writes differently, each with that notation.

    Separators change, the place of a currency's sign, times with a.m. or p.m., and dates with the name of a month. What
    has no value by the rules of the source language, such as a version or 12/05/2027, is unchanged, as is all with a
    language whose notation is unknown.
    """
    found = dict[str, str]()
    old, new = (NOTATIONS.get(normal_code(each)) for each in (source, target))
    if old is None or new is None:
        return found
    for date in find_dates(text, normal_code(source)):
        original = text[date.begin : date.end]
        found[original] = written_date(date, normal_code(target)) or original
    for several in _chains(text, find_numbers(text, normal_code(source))):
        written, place = "", _extent(text, several[0])[0]
        for number in several:
            begin, end = _extent(text, number)
            each = text[begin:end]
            if not number.exact:
                around = text[begin : number.begin], text[number.end : end]
                kept = new._replace(currency_first=old.currency_first) if has_scale(text, number, source) else new
                each = _clock(number, target) or _localized(around[0], number, around[1], old, kept)
            written, place = written + text[place:begin] + each, end
        original = text[_extent(text, several[0])[0] : place]
        if any(number.exact for number in several):
            found[original] = written
        else:
            found.setdefault(original, written)
    return found


def localized(number: Number, source: str, target: str) -> str:
    """The text of a number in the notation of another language."""
    old, new = (NOTATIONS.get(normal_code(each)) for each in (source, target))
    return number.text if old is None or new is None else _localized("", number, "", old, new)


def _clock(number: Number, target: str) -> str:
    """A time of day with a.m. or p.m. as a language without these writes it; empty for any other number, and for one
    with seconds."""
    forms = _CLOCKS.get(normal_code(target))
    if number.kind != "time" or forms is None or not HALF_DAY.search(number.text):
        return ""
    times = [each if isinstance(each, tuple) else (int(each), 0) for each in number.readings]
    hour, minutes, *seconds = min(times)
    if seconds:
        return ""
    return forms[1].format(hour, minutes) if minutes else forms[0].format(hour)


def _localized(before: str, number: Number, after: str, old: Notation, new: Notation) -> str:
    """A number with what belongs to it, in another notation."""
    digits = number.text.lstrip(MINUS)
    before += number.text[: len(number.text) - len(digits)]
    if number.kind == "price":  # as if it had decimals, without the dash for them
        digits = digits.rstrip(f".,{MINUS}")
        after = f"{_NBSP}{after}" if after[:1].isalpha() else after
    unsure = number.exact or number.kind not in _AMOUNTS or (" " in digits and old.currency_first)
    parts = None if unsure else _parts(digits, old)
    if parts is None:
        return _with_currency(before, digits, after, new) if number.kind == "price" else before + digits + after
    whole, decimals, grouped = parts
    if grouped:
        whole = f"{int(whole):,}".replace(",", new.group)
    return _with_currency(before, whole + (new.decimal + decimals if decimals else ""), after, new)


def _with_currency(before: str, number: str, after: str, new: Notation) -> str:
    """A number with a currency's sign on the side where a language has it."""
    sign = before.strip(SPACES).lstrip(MINUS + "+")
    if sign and sign in CURRENCIES and not new.currency_first:
        before, after = before[: before.index(sign)], f"{after}{_NBSP}{sign}"
    elif (sign := after.strip(SPACES)) and sign in CURRENCIES and new.currency_first:
        before, after = before + sign, ""
    return before + number + after


def _parts(digits: str, notation: Notation) -> tuple[str, str, bool] | None:
    """The whole part and the decimals of a number, and whether its digits are grouped; None if the notation is another
    one, or if there is nothing to convert."""
    whole, _, decimals = digits.partition(notation.decimal)
    groups = re.split(rf"[{re.escape(notation.group)}'’{SPACES}]", whole)
    if not "".join([*groups, decimals]).isdigit() or not is_grouped(groups):
        return None
    return ("".join(groups) or "0", decimals, len(groups) > 1) if len(groups) > 1 or decimals else None
