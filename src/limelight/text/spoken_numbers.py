"""Numbers that are written as words and that a translation lacks: "twenty-one" without 21 or "einundzwanzig".

English, German and French are compared, without the words that mean other things, too ("one", "second", "neuf"), or
only "many" ("a hundred"). The check only compares values, so it can warn, but not repair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from limelight.text.languages import normal_code
from limelight.text.number_words import LANGUAGES, has_fraction, number_runs, word_values
from limelight.text.numbers import find_numbers

MIN_VALUE = 13
"""Smallest value of any words that is compared."""
_SMALL = {
    "en": "three four five six seven eight nine ten eleven twelve",
    "de": "drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "trois - cinq six sept huit - dix onze douze",
}
"""The words from 3 to 12 that mean nothing else."""
_SCALES = {100, 1000, 10**6, 10**9, 10**12}
"""Values of words that often mean "many"."""
_STEMS = {
    "en": "teen|(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ie)|hundred|thousand|illion",
    "de": "zehn|zig|[ßs]ig|hundert|tausend|illi",
    "fr": "treiz|quatorz|quinz|seiz|dix|vingt|ant[eai]|trent|cent|mill",
}
_SPOKEN = {
    language: re.compile(rf"{stems}|\b(?:{'|'.join(_SMALL[language].split())})\b", re.IGNORECASE)
    for language, stems in _STEMS.items()
}
"""What a text with such a number contains."""
_HALF_PAST = {
    "en": re.compile(r"\bhalf past (\w+)", re.IGNORECASE),
    "de": re.compile(r"\bhalb (\w+)", re.IGNORECASE),
    "fr": re.compile(r"\b(\w+) heures? et demie", re.IGNORECASE),
}
"""Half an hour after an hour; German names the next one."""


def lost_number_words(source: str, output: str, languages: tuple[str, str]) -> tuple[int, ...]:
    """The values of number words of a source that its translation has neither as words nor in digits, and hours that
    are other ones in times such as half past five."""
    first, second = map(normal_code, languages)
    if first not in LANGUAGES or second not in LANGUAGES:
        return ()
    hours = set(_hours(source, first))
    lost = hours - others if hours and (others := set(_hours(output, second))) else set[int]()
    if _SPOKEN[first].search(source):
        text = _HALF_PAST[first].sub(" ", source)
        wanted = {value for value, size in number_runs(text, first) if _is_compared(value, size, text, first)}
        lost |= {each for each in wanted if not _has(each, output, second)}
    return tuple(sorted(lost))


def _is_compared(value: int, size: int, text: str, language: str) -> bool:
    """Whether a number of so many words cannot mean anything else."""
    if value >= MIN_VALUE:
        return value not in _SCALES
    words = _SMALL[language].split()
    return size == 1 and value >= 3 and re.search(rf"\b{words[value - 3]}\b", text, re.IGNORECASE) is not None


def _has(value: int, output: str, language: str) -> bool:
    """Whether a text has a value as words, in digits, or as a part of words, such as 90 of "neunziger"."""
    if word_values(output, language)[value]:
        return True
    readings = [each for number in find_numbers(output, language) for each in (*number.readings, *number.weak)]
    parts = {part for each in readings for part in (each if isinstance(each, tuple) else (each,))}
    return bool(parts & {value, 1900 + value}) or any(
        isinstance(each, Fraction) and has_fraction(each, output) for each in readings
    )


def _hours(text: str, language: str) -> Iterator[int]:
    """The hours, from 0 to 11, after which half an hour has passed."""
    for word in _HALF_PAST[language].findall(text):
        values = {int(word)} if word.isdecimal() else {each for each in word_values(word, language) if each <= 12}
        for hour in values:
            yield (hour - (language == "de")) % 12
