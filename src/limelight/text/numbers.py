"""Numbers of a text: carried through a translation in the notation of its language, and compared by value.

"1,299" is 1299 in English and 1.299 in German. A model easily loses a separator or the unit behind it, so a number with
one is a placeholder in its input (`carried_numbers`) and is written in the notation of the target language. Numbers
that the model writes itself are compared (`compare_numbers`): a number of the source needs one of the same value in the
translation. A small number may be a word there. Nothing here depends on a language but the separators, facts of the
Unicode CLDR.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import prod
from typing import NamedTuple
from unicodedata import numeric

from limelight.text.languages import normal_code, scripts_of
from limelight.text.marking import Found, has_marks
from limelight.text.words import UNSPACED

Reading = Fraction | tuple[int, ...] | str
"""What a number may mean: a value, the parts of a time or date, or the text itself for a code."""


class Notation(NamedTuple):
    """How a language writes numbers."""

    decimal: str
    group: str
    currency_first: bool = False
    """Whether the sign of a currency precedes the number."""


_POINT, _COMMA, SPACED = Notation(".", ",", True), Notation(",", "."), Notation(",", "\u00a0")
_ROWS = {
    "fr": Notation(",", "\u202f"),
    "ar fa": Notation(".", ","),
    "en ja zh ko th he hi": _POINT,
    "de it nl da id tr el hr sl ro pt es": _COMMA,
    "pl cs sk ru uk bg sv fi no hu et lv lt": SPACED,
}
NOTATIONS = {code: notation for codes, notation in _ROWS.items() for code in codes.split()}
"""The notation of each language. Numbers of other languages are read in every notation, and written as they are."""

BOTH = ("ar", "fa")
"""Languages that are also read in the other notation: Arabic of the Maghreb has a decimal comma."""

SMALL = 12
"""Maximum value that may be a word in a translation which has no other number instead."""
MAX_DIGITS = 40
"""Longer numbers are compared as text; Python does not read one of thousands of digits."""
SPACES = " \u00a0\u202f\u2009"
_CURRENCY, _MINUS, _FRACTION, _MARKS = "$¢£¥฿₣-₿", "-\u2212\u2013", "¼-¾⅐-⅞", "'’٬"
LETTERS = "A-Za-zÀ-ÖØ-öø-ɏ\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u03f5\u03f7-\u0481\u048a-\u052f"
"""Letters of codes: of Latin, Greek and Cyrillic script."""
_GROUPED = rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+(?!\d)|\d{{1,3}}(?:[.,{_MARKS}]\d{{2,3}}){{0,20}}[.,{_MARKS}]\d{{3}}(?!\d)"
_DIGITS = rf"(?:{_GROUPED})(?:[.,٫]\d+)?|\d+[.,٫]\d+|\d*[{_FRACTION}]|\d+|(?<!\w)\.\d+"
_UNIT = (
    rf"[{SPACES}]?(?:[{_CURRENCY}%‰٪]|°[CF]?|"
    r"(?:[kcmµ]?[gml]|[kMG]?[WVB]|[kMG]?Hz|kWh|km/h|[A-Z]{3})[²³]?(?![\w/]))"
)
_CODE = (
    rf"(?<![\w{_CURRENCY}])(?:[{LETTERS}]+[-_]?\d\w*(?:[./:-]\w+)*|(?!\d\d?h[0-5]\d\b)\d+[{LETTERS}]+\d\w*)"  # A4, 4x4
    rf"|(?<=ersion[ \u00a0])\d+(?:\.\d+)+"
    r"|(?<![\w.])(?!\d{1,3}(?>(?:\.\d{3})+)(?![.\d]*\d))\d+(?:[.:-]\d+){2,}(?!\w)"  # 1.2.3, 192.168.0.1, 555-123-4567
    r"|(?<!\w)\+\d[\d ./()-]{7,}\d|(?<!\w)\d{4}(?: \d{4}){2,}"  # telephone numbers, payment cards
)
_NUMBER = re.compile(
    rf"(?P<date>(?<![\d./-])\d{{1,4}}(?P<dash>[./-])\d{{1,2}}(?P=dash)\d{{2,4}}(?![\d/-]|\.\d))"
    rf"|(?P<code>{_CODE})"
    rf"|(?P<time>(?<![\d.,:])\d{{1,2}}(?::\d\d(?![\d:])|[.:]\d\d(?=[{SPACES}]?(?:[AaPp]\.?[Mm]\b|Uhr|h\b))"
    rf"|(?=[{SPACES}]?[AaPp]\.?[Mm]\b)|[{SPACES}]?h[{SPACES}]?\d\d(?!\d)))"
    rf"|(?P<plain>(?<!\d)(?<![\d.,][.,])(?:(?<![\w)])[{_MINUS}+±])?(?:(?<![{LETTERS}])[{_CURRENCY}][{SPACES}]?)?(?:{_DIGITS})(?:{_UNIT})?)"
)
_MAY_BE_NUMBER = re.compile(rf"[\d{_FRACTION}]")
_HALF_DAY = re.compile(rf"[{SPACES}]?([AaPp])(?:\.[Mm]\.(?=\s*[^\s.!?])|\.?[Mm](?!\w))")
_LARGE = "万萬亿億兆"
_SCALE = f"[十百千{_LARGE}]{{1,4}}"
_AFTER = re.compile(
    rf"(?:{_SCALE}((?:(?:\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{1,12}})(?:{_SCALE}|(?<=\d{{3}})(?![.,]?\d)))*))?"
)
"""What may be behind the 3 of 3万5千 or 3万5,000. The 3 of 500万3年 is a number of its own."""
_PARTS = re.compile(
    rf"(?P<sign>[{_MINUS}+±]?)(?P<currency>[{_CURRENCY}]?)[{SPACES}]?(?P<digits>[\d.,{_MARKS}٫{SPACES}{_FRACTION}]*"
    rf"[\d{_FRACTION}])(?P<unit>.*)"
)
_SEPARATED = re.compile(rf"\d[^\d{_FRACTION}]+\d|^\D?\.\d|^[{_MINUS}+±]|[{_FRACTION}]")


class Number(NamedTuple):
    """A number in a text."""

    begin: int
    end: int
    text: str
    kind: str
    """`plain`, `time`, `date`, `code`, or `sum` as 3万5千."""
    readings: frozenset[Reading]
    """What it may mean: two numbers are equal if they have a reading in common."""


class Changes(NamedTuple):
    """Numbers that only the source has, and numbers that only the translation has."""

    lost: tuple[str, ...]
    added: tuple[str, ...]


@lru_cache(maxsize=16)
def find_numbers(text: str, language: str) -> tuple[Number, ...]:
    """The numbers of a text in order, as its language means them."""
    if not _MAY_BE_NUMBER.search(text):
        return ()
    code, numbers, text = normal_code(language), list[Number](), text.replace("：", ":")
    for match in _NUMBER.finditer(text):
        if not numbers or match.start() >= numbers[-1].end:  # not within the `pm` or the 5千 of the one before
            numbers.append(_read(text, match, code))
    return tuple(numbers)


def _read(text: str, match: re.Match[str], language: str) -> Number:
    kind, digits, end = str(match.lastgroup), match[0], match.end()
    parts = _parts(digits)
    readings: set[Reading]
    if kind == "time":
        half = _HALF_DAY.match(text, end) if NOTATIONS.get(language, _POINT).currency_first else None
        hour, minute = parts[0] % 12 + 12 * (half[1] in "pP") if half else parts[0], (*parts[1:], 0)[0]
        end = half.end() if half else end
        readings = {(hour, minute)} if minute else {(hour, 0), Fraction(hour)}
    elif kind == "plain" and len(digits) <= MAX_DIGITS:
        after = _AFTER.match(text, end)
        assert after  # perhaps empty
        if after[1]:
            kind, end = "sum", after.end()
        words = range(0, 13 if after[0] else 1, 3)  # 200万 is also 2 of 2 million
        sign = -1 if digits[0] in _MINUS else 1
        readings = {
            sign * _scaled(value, after[0]) / 10**power for value in _values(digits, language) for power in words
        }
    else:
        readings = {digits.casefold(), tuple(sorted(parts))}
    return Number(match.start(), end, text[match.start() : end], kind, frozenset(readings or {digits.casefold()}))


def _parts(text: str) -> tuple[int, ...]:
    """The sequences of digits of a number."""
    return tuple(map(int, re.findall(rf"\d{{1,{MAX_DIGITS}}}", text)))


def _values(text: str, language: str) -> Iterator[Fraction]:
    """The values of a number without its sign, in the notation of its language; in every notation if that is not
    known."""
    match = _PARTS.fullmatch(text)
    is_known = language in NOTATIONS and language not in BOTH
    for notation in (NOTATIONS[language],) if is_known else (_POINT, _COMMA):
        if match and (value := _value(match["digits"], notation)) is not None:
            yield value


def _value(digits: str, notation: Notation) -> Fraction | None:
    """The value of digits; None if they are not in this notation."""
    if not digits[-1].isdecimal():  # ½
        return Fraction(int(digits[:-1] or 0)) + Fraction(numeric(digits[-1])).limit_denominator(16)
    digits = digits.replace("٫", notation.decimal)
    whole, point, decimals = digits.rpartition(notation.decimal)
    first, *groups = re.split(rf"[{re.escape(notation.group)}{_MARKS}{SPACES}]", whole if point else digits)
    is_grouped = all(len(group) in (2, 3) for group in groups) and (not groups or len(groups[-1]) == 3)
    whole = "".join([first or "0", *groups])
    decimals = decimals if point else "0"
    return Fraction(f"{whole}.{decimals}") if is_grouped and f"{whole}{decimals}".isdecimal() else None


def _scaled(first: Fraction, after: str) -> Fraction:
    """The value of a number with what is behind it, as in 3万5千 or 2千5百万, where 万 multiplies all before it."""
    total = part = Fraction()
    numbers = first, *map(Fraction, re.findall(r"\d+", after.replace(",", "")))
    for number, scale in zip(numbers, re.split(r"[\d,]+", after), strict=True):
        small = scale.rstrip(_LARGE)
        part += number * int(prod(map(numeric, small)))
        if small != scale:
            total, part = total + part * int(prod(map(numeric, scale[len(small) :]))), Fraction()
    return total + part


def carried_numbers(text: str, languages: tuple[str, str], *, every: bool = False) -> Iterator[Found]:
    """The numbers that become placeholders, with what the translation has instead: those with separators, or every
    number. A number with letters at its end, such as an ordinal, is left to the model, and so is a code with letters at
    first: it may be part of a compound; so is a unit where the target language has another script."""
    source, target = languages
    scripts = scripts_of(normal_code(target))
    for number in find_numbers(text, source):
        has_letters = number.kind == "code" and re.search(rf"[{LETTERS}]", number.text)
        is_fixed = number.kind in ("code", "date", "plain") and _SEPARATED.search(number.text) and not has_letters
        after, new = text[number.end : number.end + 1], localized(number, source, target)
        new = re.sub(r"\d", lambda digit: str(int(digit[0])), new).replace("٪", "%")
        # A unit in another script, and what is written without a space, are the model's.
        has_unit = scripts and "latin" not in scripts and re.search(f"(?<!°)[{LETTERS}]", new)
        is_unknown = number.kind == "sum" or (
            number.kind == "plain" and (has_unit or re.match(f"[{LETTERS}{UNSPACED}]", after))
        )
        if (is_fixed or every) and not is_unknown:
            yield Found(number.begin, number.end, text=new)


def localized(number: Number, source: str, target: str) -> str:
    """A number in the notation of another language; unchanged if it is a code or a notation is not known."""
    old, new = NOTATIONS.get(normal_code(source)), NOTATIONS.get(normal_code(target))
    if number.kind == "time" and re.search(f"[{LETTERS}]", number.text) and new is not None:
        hour, minute = next(reading for reading in number.readings if isinstance(reading, tuple))
        return f"{hour}:{minute:02}"
    parts = _PARTS.fullmatch(number.text)
    is_value = number.kind == "plain" and len(number.text) <= MAX_DIGITS
    if not is_value or parts is None or old is None or new is None or _value(parts["digits"], old) is None:
        return number.text
    # Maybe two numbers, as in "2 500 mg tablets".
    if old.group not in SPACES and re.fullmatch(r"\d{1,3} \d{3}", parts["digits"]):
        return number.text
    digits, sign, unit = parts["digits"].replace("٫", old.decimal), parts["sign"], parts["unit"]
    if digits[-1].isdecimal():
        whole, point, decimals = digits.partition(old.decimal)
        bare = re.sub(r"\D", "", whole) or "0"
        grouped = f"{int(bare):,}".replace(",", new.group) if bare != whole and whole else bare
        digits = grouped + new.decimal * bool(point) + decimals
    currency = parts["currency"]
    if not currency and re.fullmatch(f"[{_CURRENCY}]", unit.strip(SPACES)):
        currency, unit = unit.strip(SPACES), ""
    if new.currency_first or unit or not currency:
        return f"{sign}{currency}{digits}{unit}"
    return f"{sign}{digits}\u00a0{currency}"


def compare_numbers(source: str, output: str, languages: tuple[str, str]) -> Changes:
    """The numbers that an output lost and added, by value and as often as they occur.

    The parts of a time, date or code may be numbers of their own on the other side, where a month may be a word. A
    small number may be a word if the output has no other number instead, and only a source with numbers, or with
    placeholders for them, can have one added.
    """
    ours, theirs = find_numbers(source, languages[0]), list(find_numbers(output, languages[1]))
    left = list[Number]()
    for number in ours:
        same = next((other for other in theirs if number.readings & other.readings), None)
        if same is None:
            left.append(number)
        else:
            theirs.remove(same)
    left = [number for number in left if not _composed(number, theirs, output)]
    theirs = [number for number in theirs if not _composed(number, left, source)]
    lost = [number.text for number in left if theirs or not _is_small(number)]
    added = [number.text for number in theirs if (ours or has_marks(source)) and (left or not _is_small(number))]
    return Changes(tuple(lost), tuple(added))


def _composed(number: Number, others: list[Number], text: str) -> bool:
    """Whether the parts of a number are numbers of the other text, which are removed from `others`. A part of a date
    may be a word there. The parts of a time have words between them: 7 h 30."""
    parts = next((reading for reading in number.readings if isinstance(reading, tuple)), _parts(number.text))
    taken = list[Number]()
    for part in parts:
        same = (other for other in others if _parts(other.text) == (part,) and other not in taken)
        taken += islice(same, 1)
    if len(parts) < 2 or len(taken) < len(parts) - (number.kind == "date"):
        return False
    if number.kind == "time" and not any(map(str.isalpha, text[taken[0].end : taken[1].begin])):
        return False
    for counterpart in taken:
        others.remove(counterpart)
    return True


def _is_small(number: Number) -> bool:
    return any(isinstance(reading, Fraction) and abs(reading) <= SMALL for reading in number.readings)
