"""Numbers of a list or a range that a translation has in the other order: "5 Äpfel und 3 Birnen" for "3 apples and 5
pears".

Translations keep the order of numbers with up to four words and an "and", an "or", a "to" or a comma between them.
Elsewhere order differs between languages ("684,330 in 2011", "im Jahr 2011 684.330"), so it is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from limelight.text.languages import normal_code
from limelight.text.number_words import LANGUAGES, small_values
from limelight.text.numbers import Reading, find_numbers, has_digits

_JOINTS = {"en": ("and|or", "to"), "de": ("und|oder", "bis|auf|zu"), "fr": ("et|ou", "à")}
"""What is between the numbers of a list, with words before it, and of a range."""
_WORD = r"(?:[ \u00a0\u202f]?[%€$£°])?(?:[ \u00a0\u202f-][^\W\d_]+(?:['’][^\W\d_]+)?)"
_KINDS = frozenset({"plain", "fraction", "money"})
_SPACE = "[ \u00a0]"

Pair = tuple[frozenset[Reading], frozenset[Reading]]
"""What two numbers may mean."""


def swapped_numbers(source: str, output: str, languages: tuple[str, str]) -> bool:
    """Whether two numbers of a list or range are in the other order in the output. False for languages without a table
    of words."""
    first, second = map(normal_code, languages)
    if first not in LANGUAGES or second not in LANGUAGES or not _second(first).search(source):
        return False
    ours = [*_joined(source, first)]
    theirs = [*_joined(output, second)] if ours else []
    return any(
        _has(theirs, (right, left)) and not _has(theirs, (left, right)) and not _has(ours, (right, left))
        for left, right in ours
        if not left & right
    )


def _has(pairs: list[Pair], wanted: Pair) -> bool:
    return any(left & wanted[0] and right & wanted[1] for left, right in pairs)


def _joined(text: str, language: str) -> Iterator[Pair]:
    """The pairs of adjacent numbers of a list or range, in digits or words."""
    values = small_values(language)
    found = [
        (*match.span(), frozenset[Reading]([values[match[0].lower()]])) for match in _words(language).finditer(text)
    ]
    for each in find_numbers(text, language) if has_digits(text) else ():
        found.append((each.begin, each.end, each.readings if each.kind in _KINDS else frozenset[Reading]()))
    found.sort(key=lambda number: number[0])
    for (_, end, left), (begin, _, right) in pairwise(found):
        if left and right and _between(language).fullmatch(text, end, begin):
            yield left, right


@cache
def _words(language: str) -> re.Pattern[str]:
    """Matches small numbers in words."""
    return re.compile(rf"(?<![\w-])(?:{'|'.join(small_values(language))})(?![\w-])", re.IGNORECASE)


@cache
def _between(language: str) -> re.Pattern[str]:
    """Matches what is between the numbers of a list or range."""
    of_list, of_range = _JOINTS[language]
    list_joint, range_joint = rf"(?:,|,?{_SPACE}(?:{of_list}))", rf"{_SPACE}(?:{of_range})"
    return re.compile(rf"(?:{_WORD}{{1,4}}{list_joint}|{_WORD}{{0,4}}{range_joint}){_SPACE}[€$£]?")


@cache
def _second(language: str) -> re.Pattern[str]:
    """Matches a number that may be the second one: most texts have none."""
    return re.compile(rf"{_SPACE}[€$£]?(?:\d|(?:{'|'.join(small_values(language))})(?!\w))")
