"""Compare the numbers of a translation with those of its source by value, and put lost ones back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from limelight.text.languages import normal_code
from limelight.text.measures import CURRENCIES, SYMBOL
from limelight.text.number_notation import WrittenDate, find_dates, find_reversed, localized, months_of, written_date
from limelight.text.number_words import HALVES, LANGUAGES, QUARTERS, has_fraction, word_values
from limelight.text.numbers import (
    HOUR,
    LETTERS,
    Number,
    Reading,
    find_numbers,
    half_hours,
    has_digits,
    integers,
    is_decade,
    is_part_of_hour,
)
from limelight.text.ordinals import with_ordinals
from limelight.text.words import count_common

MAX_COMPARED = 100
"""With more numbers that have no counterpart of the same value, all of these are lost, and none is put back."""
SMALL = 12
"""Largest number that is not reported as lost where the words of the target language are unknown: it may be a word."""
_LATE = re.compile(
    r"(?<!\w)(?:p\.?m|afternoon|evening|night|noon|midnight|tonight|nachmittags?|abends?|nachts?|mittags?|mitternacht"
    r"|après-midi|soir|nuit|midi|minuit)(?!\w)",
    re.IGNORECASE,
)
"""Words with which 5 is 17 hours."""
_BELOW = re.compile(
    r"(?<!\w)(?:minus|moins|below|negative|unter|sous|au-dessous|en dessous)(?!\w)"
    rf"|(?<![{LETTERS}\d])[\u2212\u2013±][ \u00a0\u202f]?(?=[{CURRENCIES}\d])",
    re.IGNORECASE,
)
"""Words and signs with which 5 is -5."""
_BETWEEN = re.compile(
    r"[ \u00a0\u202f]*(?:Uhr|h|heures?|hours?|hrs?|Stunden?|o['’]clock|:|to|zu|bis|à|-|–)"
    r"[ \u00a0\u202f]*(?:(?:and|und|et)[ \u00a0\u202f])?"
)
"""What divides the parts of a time, of a duration in hours and minutes, or of a score."""
_BETWEEN_OF_DATE = re.compile(r"\.[ \u00a0]?")
_CLOCK_WORD = re.compile(
    r"(?<!\w)(?:(?:Uhr|heures?|hours?|Stunden?|o['’]clock|[ap]\.?m)(?!\w)|half|halb|quarter|viertel|quart|demie)",
    re.IGNORECASE,
)
_QUARTER_TO = re.compile(
    r"(?<!\w)(?:quarter (?:to|of|before|till)|viertel vor|drei ?viertel|moins (?:le |un )?quart)(?!\w)", re.IGNORECASE
)
_PAST = re.compile(r"(?<!\w)viertel nach(?!\w)", re.IGNORECASE)
_OF_DECADES = re.compile(r"decade|jahrzehnt|décennie", re.IGNORECASE)
_LONG_WORD = re.compile(rf"[{LETTERS}]{{4}}")
_PLAIN_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉,", "0123456789.")
_GLUED = re.compile(r"(?<![\w.,:/'’-])(\d+)[a-z\u00df-\u00ff]+(?!\w)")
_ENDINGS = re.compile(
    rf"\d+(?:{SYMBOL}|st|nde?s?|rd|th|s|er|ers|ern|ères?|es?|i?èmes?|s?te[mnrs]?|mal|fach\w*|h|min|x|am|pm|d|pp?|ff?|k|pt"
    r"|bit|res?|\w{3,}ig(?:e[mnrs]?)?)"
)
"""A number with an ending that numbers have."""
_OF_HOURS = re.compile(
    r"hour|hr|stund|stünd|heure|uhr|clock|\d[ \u00a0\u202f]?(?:h|[ap]\.?m)(?!\w)|\d ?h ?\d|\d[:.]\d"
    r"|(?<!\w)(?:at|um|à) ",
    re.IGNORECASE,
)
"""What a source has whose translation may write 1h."""
MIN_DIGITS = 4
"""Numbers with fewer digits are alike only if all of these are the same."""


_ON = {"en": "on", "de": "am", "fr": "le"}
"""The preposition of days."""
_ON_DAY = re.compile(r"(?<!\w)(?:on(?: the)?|am|le)[ \u00a0]$", re.IGNORECASE)
_OF_PLACE = re.compile(
    r"(?<!\w)(?:(?:in|an|auf|at|to|en|sur|dans)(?: the| dem| den| le)?|im|à|au|(?:on )?the)[ \u00a0]$", re.IGNORECASE
)
"""Other prepositions, and articles, that a search puts before a day."""


class Changes(NamedTuple):
    """How the numbers of a translation differ from those of its source."""

    lost: tuple[Number, ...] = ()
    added: tuple[Number, ...] = ()


UNCHANGED = Changes()


def compare_numbers(source: str, output: str, languages: tuple[str, str] = ("", "")) -> Changes:
    """The numbers that the output lost and added, compared by value and as often as they occur.

    A number may become a word where the words of the language are known; where they are not, a number up to `SMALL` is
    lost only if the output has another number instead.

    Args:
        languages: of the source and of the output; empty if unknown.
    """
    if not (has_digits(source) or has_digits(output)):
        return UNCHANGED
    first, second = map(normal_code, languages)
    of_output = find_numbers(output, second)
    ours, theirs = _unmatched(find_numbers(source, first), of_output, source, output)
    dates = _changed_dates(source, output, of_output, (first, second))
    if 0 < max(len(ours), len(theirs)) <= MAX_COMPARED:
        words = word_values(source, first), word_values(output, second)
        ours, theirs = _without_composed(ours, theirs, words[1] | Counter(months_of(output, second)), output, second)
        theirs, ours = _without_composed(theirs, ours, words[0] | Counter(months_of(source, first)), source, first)
        ours = _without_words(ours, output, words[1], second)
        theirs = _without_words(theirs, source, words[0], first)
    known = second in LANGUAGES
    if not (known or theirs):
        ours = [each for each in ours if not any(isinstance(one, int) and one <= SMALL for one in each.readings)]
    others = *_lost_decades(source, output, of_output, (first, second)), *_with_letters(source, output, first)
    return Changes((*ours, *dates, *others), tuple(theirs))


def put_back_numbers(source: str, output: str, languages: tuple[str, str] = ("", "")) -> str:
    """Replace added numbers by lost ones that plainly belong there, in the notation of the output's language: they have
    the same digits, or all but one of several. Dates of the source that are in the order of another language get that
    of the output's, and ordinals the form of its language."""
    on_days = _on_days(source, normal_code(languages[0]))
    for date in reversed(reversed_dates(source, output, languages)):
        before = output[: date.begin]
        if (date.day, date.month) in on_days:
            before = _on(output, date.begin, normal_code(languages[1]))
        output = before + written_date(date, normal_code(languages[1])) + output[date.end :]
    output = with_ordinals(source, output, languages)
    changes = compare_numbers(source, output, languages)
    added = list(changes.added)
    if max(len(changes.lost), len(added)) > MAX_COMPARED:
        return output
    replaced = list[tuple[Number, str]]()
    for number in changes.lost:
        likeness, place = max(((_likeness(number, each), -at) for at, each in enumerate(added)), default=(0, 0))
        if likeness:
            replaced.append((added.pop(-place), localized(number, *languages)))
    for number, text in sorted(replaced, key=lambda each: -each[0].begin):
        output = output[: number.begin] + text + output[number.end :]
    return output


def _on_days(text: str, language: str) -> set[tuple[int, int]]:
    """The days and months of the dates with the preposition of days before them."""
    dates = find_dates(text, language)
    return {(each.day, each.month) for each in dates if _ON_DAY.search(text, max(0, each.begin - 8), each.begin)}


def _of_place(text: str, begin: int) -> re.Match[str] | None:
    """The preposition or article of place before a date; "the 5th of May" is right."""
    match = _OF_PLACE.search(text, max(0, begin - 10), begin)
    return None if match and text[begin : begin + 1].isdigit() and "the" in match[0].casefold() else match


def _on(text: str, begin: int, language: str) -> str:
    """The text before a date, with the preposition of days if it ends with one of place."""
    match = _of_place(text, begin)
    if match is None or language not in _ON:
        return text[:begin]
    word = _ON[language]
    return f"{text[: match.start()]}{word.capitalize() if match[0][0].isupper() else word} "


def _likeness(lost: Number, added: Number) -> int:
    """How sure it is that a number was changed into another: 2 for the same digits, 1 for one other, additional or
    missing digit or another order of several. A time or a code may be something else."""
    was, now = (re.sub(r"\D", "", each.text) for each in (lost, added))
    if any(letter.isalpha() for letter in lost.text + added.text):
        return 0
    if was == now:
        return 2
    same = count_common(was, now) + count_common(was[::-1], now[::-1])
    alike = same >= max(len(was), len(now)) - 1 or sorted(was) == sorted(now)
    return int(alike and min(len(was), len(now)) >= MIN_DIGITS)


def reversed_dates(source: str, output: str, languages: tuple[str, str]) -> list[WrittenDate]:
    """The dates of the source that are in the output in the order of English, where its language has the other one, or
    with another preposition than that of days."""
    if not has_digits(source):
        return []
    first, second = map(normal_code, languages)
    days = {(each.day, each.month) for each in find_dates(source, first) if each.day}
    if not days:
        return []
    found = [each for each in find_reversed(output, second) if (each.day, each.month) in days]
    on_days = _on_days(source, first) if second in _ON else set()
    there = find_dates(output, second) if on_days else ()
    found += [each for each in there if (each.day, each.month) in on_days and _of_place(output, each.begin)]
    return sorted(found)


def _changed_dates(source: str, output: str, there: Sequence[Number], languages: tuple[str, str]) -> list[Number]:
    """Dates of the source whose month the output neither names nor has as a number."""
    dates = list(find_dates(source, languages[0])) if languages[1] in LANGUAGES else []
    if not dates:
        return []
    numbers = Counter(part for each in there for part in _whole_parts(each))
    months = {*months_of(output, languages[1])}
    return [
        Number(each.begin, each.end, source[each.begin : each.end], frozenset(), kind="date")
        for each in dates
        if each.month not in months and numbers[each.month] < 1 + (each.month == each.day)
    ]


def _lost_decades(source: str, output: str, there: Sequence[Number], languages: tuple[str, str]) -> list[Number]:
    """Decades of the source that are years in the output: 1990 for the 1990s."""
    if not {*languages} <= {*LANGUAGES} or _OF_DECADES.search(output):
        return []
    years = {each.text for each in there if len(each.text) in (2, 4) and not is_decade(output, each)}
    return [each for each in find_numbers(source, languages[0]) if each.text in years and is_decade(source, each)]


def _with_letters(source: str, output: str, language: str) -> list[Number]:
    """Numbers of the source that have letters behind them in the output which are no ending of a number: 2tou."""
    hours = _OF_HOURS.search(source) is not None
    glued = [
        match
        for match in _GLUED.finditer(output)
        if not _ENDINGS.fullmatch(match[0]) or (match[0].endswith("h") and not hours and match[0][:-1].isdigit())
    ]
    kept = {match[0] for match in _GLUED.finditer(source)} if glued else set()
    digits = {match[1] for match in glued if match[0] not in kept}
    numbers = find_numbers(source, language) if digits else []
    return [
        each
        for each in numbers
        if each.text in digits
        if not (there := _GLUED.match(source, each.begin)) or _ENDINGS.fullmatch(there[0])
    ]


def _whole_parts(number: Number) -> set[int]:
    """The integers that a number may be, or may have as a part."""
    parts = (one if isinstance(one, tuple) else (one,) for one in number.readings)
    return {part for several in parts for part in several if isinstance(part, int)}


def _unmatched(
    ours: Sequence[Number], theirs: Sequence[Number], source: str, output: str
) -> tuple[list[Number], list[Number]]:
    """The numbers of each side without one of the same value on the other."""
    by_meaning: dict[object, list[int]] = {}  # the places of each, the first one last
    for place in reversed(range(len(theirs))):
        number, text = theirs[place], _key(theirs[place].text)
        for each in (*number.readings, (False, text), *[(True, text)] * number.exact):
            by_meaning.setdefault(each, []).append(place)
    left, taken = list[Number](), set[int]()
    for number in ours:
        text = _key(number.text)
        found = len(theirs)
        for each in (*number.readings, (True, text), *[(False, text)] * number.exact):
            places = by_meaning.get(each, [])
            while places and places[-1] in taken:
                places.pop()  # each place once, however often a number occurs
            found = min(found, places[-1]) if places else found
        if found == len(theirs):
            left.append(number)
        else:
            taken.add(found)
    rest = [number for place, number in enumerate(theirs) if place not in taken]
    if not (left and rest) or max(len(left), len(rest)) > MAX_COMPARED:
        return left, rest
    return _unlike(left, rest, (source, output))


def _key(text: str) -> str:
    """A code or version as it is compared: without differences of case, of subscripts and of PM2.5 and PM2,5."""
    return text.casefold().translate(_PLAIN_DIGITS)


def _unlike(
    ours: Sequence[Number], theirs: Sequence[Number], texts: tuple[str, str]
) -> tuple[list[Number], list[Number]]:
    """The numbers of each side that are not the same with the words around them either."""
    left, rest = list[Number](), list(theirs)
    late = bool(_LATE.search(texts[0])), bool(_LATE.search(texts[1]))
    for number in ours:
        found = next((each for each in rest if _loosely(number, each, late, texts)), None)
        if found is None:
            left.append(number)
        else:
            rest.remove(found)
    return left, rest


def _loosely(one: Number, other: Number, late: tuple[bool, bool], texts: tuple[str, str]) -> bool:
    """Whether a number of the source and one of the output are the same with the words around them, such as a time of
    day or a sign."""
    if one.kind == other.kind == "code":  # the word in it may be translated: field2
        words = [_LONG_WORD.search(each.text) for each in (one, other)]
        return all(words) and integers(one.text) == integers(other.text)
    is_open = one.kind == "time" and one.text[-1].isdigit()  # neither a.m. nor p.m.
    if is_open and any(_later(each) in other.readings for each in one.readings):
        return True
    if (one.weak & other.readings and late[1]) or (one.readings & other.weak and late[0]):
        return True
    for number, there, text in ((one, other, texts[1]), (other, one, texts[0])):
        negative = {-each for each in number.readings if not isinstance(each, tuple) and each < 0}
        if negative & there.readings and _BELOW.search(text):
            return True
    return False


def _later(reading: Reading) -> Reading:
    """2:30 in the afternoon: an English source leaves open which half of the day it is."""
    return (reading[0] + 12, *reading[1:]) if isinstance(reading, tuple) and reading[0] <= 12 else -1


def _without_composed(
    some: list[Number], others: list[Number], words: Counter[int], text: str, language: str
) -> tuple[list[Number], list[Number]]:
    """Without times, dates, codes and other numbers of several parts whose parts the other side has, one by one."""
    left = list[Number]()
    for number in some:
        possible = [each for each in _compositions(number, text) if not _says_another(each, text, words, language)]
        every = ((parts, _taken(number.kind, parts, others, words, text)) for parts in possible)
        rest = next((found for parts, found in every if found is not None and _fits(number, parts, found, text)), None)
        if rest is None:
            left.append(number)
        else:
            others = [each for each in others if each not in rest]
    return left, others


def _compositions(number: Number, text: str) -> list[tuple[int, ...]]:
    """The parts of a number, in each of its readings that a text permits."""
    if number.kind == "code":
        return [integers(number.text)]
    weak = number.weak if number.weak and _LATE.search(text) else ()
    return [each for each in (*number.readings, *weak) if isinstance(each, tuple)]


def _taken(
    kind: str, parts: tuple[int, ...], others: Sequence[Number], words: Counter[int], text: str
) -> list[Number] | None:
    """The numbers that are these parts of a number; None if one is missing. A month and a part of an hour may be words,
    and a part of zero may be missing, but not that of 21 000."""
    taken = list[Number]()
    for part in parts:
        found = next((each for each in others if part in each.readings and each not in taken), None)
        if found is not None:
            taken.append(found)
        elif (part or kind == "plain") and not words[part] and not is_part_of_hour(part, text):
            return None
    return taken


def _fits(number: Number, parts: tuple[int, ...], taken: Sequence[Number], text: str) -> bool:
    """Whether numbers that are the parts of another one, as far as they are no words, stand as such parts do: `10 Uhr
    30` is 10:30, `10. 30` is not."""
    if number.kind != "time" and "." not in number.text:
        return True
    if len(taken) == len(parts):
        between = _BETWEEN if len(parts) == 2 else _BETWEEN_OF_DATE
        return all(between.fullmatch(text, one.end, other.begin) for one, other in pairwise(taken))
    return number.kind != "time" or not taken or _CLOCK_WORD.search(text) is not None


def _says_another(parts: tuple[int, ...], text: str, words: Counter[int], language: str) -> bool:
    """Whether a text with a word for the minutes of a time, such as "half", has them of another hour."""
    if len(parts) != 2 or words[parts[1]] or not is_part_of_hour(parts[1], text):
        return False
    hour, minutes = parts
    if minutes == 30:
        hours = set(half_hours(text, language)) if language in LANGUAGES else set[int]()
        return bool(hours) and hour % 12 not in hours
    return minutes == 45 or _QUARTER_TO.search(text) is not None


def _without_words(numbers: Sequence[Number], text: str, words: Counter[int], language: str) -> list[Number]:
    """The numbers that a text does not have as words."""
    left, words = list[Number](), words.copy()
    is_late, is_below = _LATE.search(text) is not None, _BELOW.search(text) is not None
    for number in numbers:
        readings = (*number.readings, *(number.weak if is_late else ()))
        if is_below:
            readings = (*readings, *(-each for each in number.readings if not isinstance(each, tuple) and each < 0))
        whole = next((each for each in readings if isinstance(each, int) and _decade(each, words)), None)
        if whole is not None:
            words[_decade(whole, words)] -= 1
        elif not any(_has_words(each, text, words, language) for each in readings):
            left.append(number)
    return left


def _is_part_of_scale(value: int, text: str, words: Counter[int]) -> bool:
    """Whether a text has a value as halves or quarters of a thousand or more: "half a million"."""
    for pattern, parts in ((HALVES, 2), (QUARTERS, 4)):
        if pattern.search(text) and any(each >= 1000 and not value % (each // parts) for each in words if words[each]):
            return True
    return False


def _decade(value: int, words: Counter[int]) -> int:
    """The value among those of words by which a number may be said, 70 for 1970; 0 if there is none."""
    said = (value, value - 1900) if 1910 <= value < 2000 and value % 10 == 0 else (value,)
    return next((each for each in said if words[each]), 0)


def _has_words(reading: Reading, text: str, words: Counter[int], language: str) -> bool:
    """Whether a text has words for zero, a fraction, half an hour, or a time such as half past two."""
    if isinstance(reading, Fraction):
        return has_fraction(reading, text)
    if isinstance(reading, int):
        return (
            bool(not reading and words[0])
            or _is_part_of_scale(reading, text, words)
            or (is_part_of_hour(reading, text) and HOUR.search(text) is not None)
        )
    if len(reading) != 2:
        return False
    hour, minutes = reading[0] % 12, reading[1]
    if not is_part_of_hour(minutes, text):  # ten to four
        return words[60 - minutes] > 0 and any((each - hour) % 12 == 1 for each in words if words[each] and each <= 24)
    if minutes == 30 and language in LANGUAGES and (hours := set(half_hours(text, language))):
        return hour in hours
    if minutes != 30 and (minutes == 45) != (_QUARTER_TO.search(text) is not None):
        return False
    possible = {minutes == 45, language == "de" and not _PAST.search(text)}  # Viertel acht is 7:15
    return any((each - hour) % 12 in possible for each in words if words[each] and each <= 24)
