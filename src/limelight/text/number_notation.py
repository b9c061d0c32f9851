"""Numbers and dates in the notation of another language: 1,299.99 is 1.299,99 in German."""

from __future__ import annotations

import re
from collections.abc import Iterator

from limelight.text.dates import find_dates, written_date
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
    is_grouped,
)

_CLOCKS = {"de": ("{} Uhr", "{}:{:02} Uhr"), "fr": ("{}\u00a0h", "{}\u00a0h\u00a0{:02}")}
"""How a language without a.m. and p.m. writes a full hour, and other times."""
_NBSP = "\u00a0"
_BEFORE = re.compile(rf"(?:(?<!\w)[{MINUS}+±])?[{CURRENCIES}][{SPACES}]?$|(?<!\w)[+±]$")


def number_spans(text: str, language: str, *, every: bool) -> Iterator[tuple[int, int]]:
    """Where the numbers of a text are, each with its sign, currency and unit.

    Args:
        every: all numbers; else only those that have separators, of which a translation often loses one: decimals,
            groups of digits, dates in digits and versions. A model often converts times, and dates with names.
    """
    language = normal_code(language)
    dates = [(each.begin, each.end) for each in find_dates(text, language) if each.day] if every else []
    yield from dates
    for number in find_numbers(text, language):
        is_separated = number.kind in ("plain", "code") and not number.text.lstrip(MINUS).isalnum()
        if not every and not is_separated and number.kind not in ("date", "power"):
            continue
        if not any(begin <= number.begin < end for begin, end in dates):
            yield _extent(text, number)


def _extent(text: str, number: Number) -> tuple[int, int]:
    """Where a number is with its sign, currency and unit."""
    before = _BEFORE.search(text, max(0, number.begin - 4), number.begin) if number.kind == "plain" else None
    after = UNIT_AFTER.match(text, number.end) if number.kind in ("plain", "fraction") else None
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
    for number in find_numbers(text, normal_code(source)):
        begin, end = _extent(text, number)
        if number.exact:
            found[text[begin:end]] = text[begin:end]
        else:
            around = text[begin : number.begin], text[number.end : end]
            written = _clock(number, target) or _localized(around[0], number, around[1], old, new)
            found.setdefault(text[begin:end], written)
    return found


def localized(number: Number, source: str, target: str) -> str:
    """The text of a number in the notation of another language."""
    old, new = (NOTATIONS.get(normal_code(each)) for each in (source, target))
    return number.text if old is None or new is None else _localized("", number, "", old, new)


def _clock(number: Number, target: str) -> str:
    """A time of day with a.m. or p.m. as a language without these writes it; empty for any other number."""
    forms = _CLOCKS.get(normal_code(target))
    if number.kind != "time" or forms is None or not HALF_DAY.search(number.text):
        return ""
    times = [each if isinstance(each, tuple) else (int(each), 0) for each in number.readings]
    hour, minutes = min(times)[:2]
    return forms[1].format(hour, minutes) if minutes else forms[0].format(hour)


def _localized(before: str, number: Number, after: str, old: Notation, new: Notation) -> str:
    """A number with what belongs to it, in another notation."""
    digits = number.text.lstrip(MINUS)
    before += number.text[: len(number.text) - len(digits)]
    unsure = number.exact or number.kind != "plain" or (" " in digits and old.currency_first)
    parts = None if unsure else _parts(digits, old)
    if parts is None:
        return before + digits + after
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
    return ("".join(groups), decimals, len(groups) > 1) if len(groups) > 1 or decimals else None
