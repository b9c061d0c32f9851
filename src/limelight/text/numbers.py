"""Numbers in text: their values, which depend on the language, and their notation.

"1,299" is 1299 in English and 1.299 in German. `find_numbers` reads the numbers of a text. A version or a code has no
value, and is compared and kept as it is written. `text/number_notation.py` writes numbers.

Numbers that are written as words and that a translation lacks ("twenty-one" without 21 or "einundzwanzig") are compared
in English, German and French, without the words that mean other things, too ("one", "second", "neuf"), or only "many"
("a hundred"). That check only compares values, so it can warn, but not repair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple
from unicodedata import numeric

from limelight.text.languages import normal_code
from limelight.text.measures import CURRENCIES, SYMBOL
from limelight.text.number_words import (
    HALVES,
    LANGUAGES,
    QUARTERS,
    number_runs,
    roman_values,
    scale_of,
    small_values,
    word_values,
)

Reading = int | Fraction | tuple[int, ...]
"""What a number may mean: a quantity, or the parts of a time, a date or a score."""


class Notation(NamedTuple):
    """How a language writes numbers."""

    decimal: str
    group: str
    currency_first: bool = False
    """Whether the sign of a currency precedes the number."""


_NNBSP, _NBSP = "\u202f", "\u00a0"
_POINT, _COMMA, _SPACED = Notation(".", ",", True), Notation(",", "."), Notation(",", _NBSP)
NOTATIONS = {
    "fr": Notation(",", _NNBSP),
    **dict.fromkeys(("en", "ja", "zh", "ko", "th", "he", "hi"), _POINT),
    **dict.fromkeys(("de", "it", "nl", "da", "id", "tr", "el", "hr", "sl", "ro", "pt", "es"), _COMMA),
    **dict.fromkeys(("pl", "cs", "sk", "ru", "uk", "bg", "sv", "fi", "no", "hu", "et", "lv", "lt"), _SPACED),
}
"""The notation of each language; others are read in every notation, and keep that of the source."""
_MIXED = {"es", "pt"}
"""Languages whose countries differ: a separator that may divide groups is read both ways."""

MAX_DIGITS = 40
"""Longer numbers have no value, and are compared as they are written."""

LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u052f"
SPACES = " \u00a0\u202f\u2009"
_FRACTION = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
MINUS = "-\u2212\u2013\u2010\u2011"
_DIGIT = re.compile(rf"[\d{_FRACTION}₀-₉]")
_MAY_BE_DIGIT = re.compile("[0-9¼-¾\u0660-\U0010ffff]")
"""What every digit is, and few other characters of European languages: it is found in half the time."""
_PLAIN = rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+(?![{SPACES}]?\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*"
_NO_WHOLE = rf"(?<![^{MINUS}{CURRENCIES}\s(<>=~±+])\.\d{{1,4}}(?!\w|[.,]\d)"
"""A decimal without its whole part: .5 mg."""
_DATE = r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}(?P<dash>[./-])\d{1,2}(?P=dash)(?:\d{4}|\d{2})"
_PHONE = (
    rf"(?=\+(?:[{SPACES}./()-]{{0,2}}\d){{9}})\+\d[\d{SPACES}./()-]{{7,30}}\d|\d{{3}}-\d{{3}}-\d{{4}}"
    rf"|(?=0(?:[{SPACES}/-]?\d){{6}})0\d{{1,4}}(?:[{SPACES}/-]\d{{2,8}}){{1,5}}"
)
"""Numbers of telephones: international ones, and those that begin with a zero or are divided in the American way."""
_LIST = r" (?:und|oder|bis|sowie|and|or|to|et|ou|à)\b"
_MONEY = "(?:[$€£]|euros?|Euros?|EUR|dollars?|Dollars?|francs?|Franken|livres|Pfund|m|mètres?)"
"""What a number has between its whole part and two decimals: 3 euros 50, 1 m 80."""
_PRICE = rf"\d{{1,3}}(?:[.'’{SPACES}]\d{{3}})+|\d+"
_DASH_OF_PRICE = (
    r"(?:,[-\u2013\u2212]{1,2}(?=EUR|Euro|CHF|DM|[€$£]|[^\w-]|$)"
    rf"|(?<!\b[12]\d\d\d)\.(?:--|[\u2013\u2212]|-(?!{_LIST}))(?=[\s.,;:!?)€$£]|$))(?![{SPACES}]?\d)"
)
"""What stands for no cents: 3,- Euro, 15.– Fr.; not a range, nor a part of words, as in "am 3.- und 4. Mai"."""
_IDENTIFIERS = {
    "UUID": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "MAC address": r"[0-9A-Fa-f]{2}(?P<pair>[:-])(?:[0-9A-Fa-f]{2}(?P=pair)){4}[0-9A-Fa-f]{2}",
    "IBAN": r"[A-Z]{2}\d{2}[ \u00a0]?[A-Z\d]{4}(?:[ \u00a0]?\d{4}){2,6}(?:[ \u00a0]?\d{1,3})?",
    "payment card": r"\d{4}(?:[ \u00a0]\d{4}){3,}(?:[ \u00a0]\d{1,3})?",
    "ISBN": r"(?=(?:-?\d){9})(?:97[89]-)?\d{1,5}-\d{1,7}-\d{1,7}-[\dX]",
    "license plate": r"[A-Z]{1,3}-[A-Z]{1,2}[ \u00a0]\d{1,4}[EH]?",
    "serial number": r"(?=[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d]{2,}(?:-[A-Z\d]{2,}){2,}",
    "hash or key": (  # not 5ft11in, 9x16, bin2hex
        r"(?!(?:\d{1,4}[a-z]{1,3}\d{1,3}[a-z]{0,3}|\d+x\d+|[A-Za-z]+\d[A-Za-z]+)(?!\w))"
        r"(?=\d*[A-Za-z]+\d+[A-Za-z]|\d+[A-Za-z]+\d)[A-Za-z\d]{7,}"
    ),
}
"""Notations that are kept as they are written."""
_NUMBER = re.compile(
    rf"(?P<identifier>(?<![\w-])(?:{'|'.join(_IDENTIFIERS.values())})(?!\w))"
    rf"|(?P<code>(?<!\w)(?:0[xX][0-9A-Fa-f]+|[{LETTERS}][{LETTERS}_]*[\d₀-₉]\w*(?:[.,]\d+)*)(?!\w))"
    r"|(?P<lettered>(?<![\w.,:/-])\d{1,4}[a-cA-C](?![\w²³/'’-]|\.\w))"  # a house, a flat: 22b
    rf"|(?P<date>(?<![\d./-])(?:{_DATE})(?!\d|[./,-]\d))"
    rf"|(?P<phone>(?<![\w.,:/-])(?:{_PHONE})(?!\w|[./-]\d))"
    rf"|(?P<time>(?<!\d)(?:\d+(?::\d+)+|\d{{1,2}}[{SPACES}]?h[{SPACES}]?\d{{2}})(?!\w))"
    rf"|(?P<fraction>(?<![\d/.,])(?:(?:\d+[{SPACES}])?\d{{1,4}}/\d{{1,4}}(?![\d/])|(?:\d+[{SPACES}]?)?[{_FRACTION}]))"
    rf"|(?P<power>(?<!\d)\d+(?:[.,]\d+)?[eE][-+\u2212]?\d+(?!\w))"
    rf"|(?P<money>(?<!\d)\d+[{SPACES}]?{_MONEY}[{SPACES}]?\d{{2}}(?!\d|[.,]\d))"
    rf"|(?P<price>(?<!\d)(?:{_PRICE}){_DASH_OF_PRICE})"
    rf"|(?P<plain>(?<!\d)(?:{_PLAIN})|{_NO_WHOLE})"
)
HALF_DAY = re.compile(rf"[{SPACES}]?([ap])(?:\.m\.(?=\s*[^\s.!?])|\.?m(?!\w))", re.IGNORECASE)
_CLOCK = re.compile(
    rf"(?:[{SPACES}]?(?:[-–,/]|und|oder|bis|and|or|to|et|ou|à)[{SPACES}]?\d{{1,2}}(?:[.:]\d\d)?){{0,3}}"
    rf"[{SPACES}]?(?:Uhr|h|heures?|o['’]clock)(?!\w)"
)
"""What follows a time, perhaps after further times: 8.30 bis 17 Uhr."""
_DECADE = re.compile(r"['’]?s(?!\w)|ern?(?!\w)")
_YEARS = re.compile(r"(?<!\w)ann[ée]es[ \u00a0]$", re.IGNORECASE)
_TO_YEAR = re.compile(rf"[{SPACES}]?(?:[-–,]|à|et|ou)[{SPACES}]?(?:et[ \u00a0])?\d{{4}}(?!\d)")
_BROKEN = re.compile(rf",[{SPACES}]%")
"""What a search makes of the space before a sign: `24, %`."""
_PAIR = re.compile(r"\d{1,2}\.\d{1,2}")
_SCORE = re.compile(r"\d+:\d")
_ARTICLE = re.compile(r"(?<!\w)[Aa]n? $")
"""What precedes the caliber of a weapon: a .22 rifle."""
_AT = re.compile(r"(?<!\w)(?:at|by|until|till|before|after|since)[ \u00a0]$")
_FIRST_WORDS = (
    "A|About|Add|After|All|Almost|An|And|Another|Approximately|Around|As|At|Before|Between|But|Buy|By|Cut|Drink|Drive"
    "|During|Each|Every|Exactly|Fewer|For|From|Get|Give|Have|He|Her|His|I|In|Is|It|Its|Just|Less|Like|Measure|Mix|More"
    "|My|Nearly|No|Not|Of|On|Only|Or|Our|Over|Pay|Per|Pour|Put|Roughly|Run|Set|She|So|Some|Take|Than|That|The|Their"
    "|They|These|This|Those|To|Under|Until|Up|Use|Walk|Was|We|With|Within|You|Your"
)
"""Words at the beginning of a sentence that are not names."""
_NAMED = re.compile(
    r"(?:(?<!\w)(?:[Vv]ersions?|[Vv]er\.?|[Rr]eleases?|[Uu]pdates?|[Cc]hapters?|[Ss]ections?|[Ff]igures?|[Tt]ables?|§)"
    rf"|(?<=[\w,;] )[A-Z][\w+#]*|^(?!(?:{_FIRST_WORDS})\b)[A-Z][\w+#]*)[ \u00a0]$"
)
"""What precedes a version or the number of a section: such a word, or a name within a sentence."""
_CODE_OF_CURRENCY = re.compile(r"(?:EUR|USD|GBP|JPY|CHF|I)[ \u00a0]$")
UNIT_AFTER = re.compile(rf"[{SPACES}]?(?:{SYMBOL})")
_WORD_AFTER = re.compile(rf"[{SPACES}-]?([{LETTERS}]+)")


class Number(NamedTuple):
    """A number in a text."""

    begin: int
    end: int
    text: str
    readings: frozenset[Reading]
    weak: frozenset[Reading] = frozenset()
    """Readings that need a time of day on the other side: 5 for "5 pm", and for "17 Uhr"."""
    exact: bool = False
    """Whether it may only be kept as it is written."""
    kind: str = "plain"


def find_numbers(text: str, language: str = "") -> list[Number]:
    """The numbers of a text, in order, with their possible meanings in a language."""
    return list(_numbers(text, language))


@lru_cache(maxsize=16)
def _numbers(text: str, language: str) -> tuple[Number, ...]:
    """The same. Several checks ask for the numbers of the same two texts."""
    return tuple(_read(text, match, language) for match in _NUMBER.finditer(text))


@lru_cache(maxsize=16)
def has_digits(text: str) -> bool:
    """Whether a text can have a number. Several checks ask this of the same two texts."""
    may = _MAY_BE_DIGIT.search(text) is not None
    return may and (text.isascii() or _DIGIT.search(text) is not None)


def is_decade(text: str, number: Number) -> bool:
    """Whether a number is a decade: 1990s, 90er, années 1990; "années 1990 à 1995" are years."""
    if not number.text.isdigit() or number.text[-1] != "0":
        return False
    if _DECADE.match(text, number.end):
        return True
    is_first = _TO_YEAR.match(text, number.end) is not None
    return not is_first and _YEARS.search(text, max(0, number.begin - 9), number.begin) is not None


def is_grouped(groups: Sequence[str]) -> bool:
    """Whether these are groups of three digits, or of two and at last three as in India; one group always is."""
    if len(groups) == 1:
        return True
    first, *middle, last = groups
    sizes = {len(each) for each in middle}
    return len(last) == 3 and 1 <= len(first) <= 3 and first[0] != "0" and (sizes <= {3} or sizes == {2})


def _read(text: str, match: re.Match[str], language: str) -> Number:
    kind, found, (begin, end) = str(match.lastgroup), match[0], match.span()
    number = Number(begin, end, found, frozenset(), kind=kind)
    if kind in ("identifier", "code", "lettered", "power") or len(found) > MAX_DIGITS:
        return number._replace(exact=True)
    if kind == "phone":
        return number._replace(readings=frozenset([tuple(int(each) for each in found if each.isdigit())]), exact=True)
    if kind == "date":
        return number._replace(readings=frozenset([_date(found)]), exact=True)
    if kind == "fraction":
        return number._replace(readings=_fraction(found))
    if kind == "time" and _SCORE.fullmatch(found):  # 1:0 is not one o'clock
        return number._replace(readings=frozenset([integers(found)]))
    if kind == "money":  # 3 euros 50
        whole, cents = integers(found)
        return number._replace(readings=frozenset([_whole(Fraction(100 * whole + cents, 100)), (whole, cents)]))
    if kind == "time":
        return _time(text, number, integers(found), language)
    if kind == "price":  # 3,-
        return number._replace(readings=frozenset([int("".join(filter(str.isdigit, found)))]))
    return _plain(text, number, language)


def _plain(text: str, number: Number, language: str) -> Number:
    """A number with or without separators, and with its sign."""
    digits, begin, end = number.text, number.begin, number.end
    if _BROKEN.match(text, end):
        return number._replace(text=digits + ",", end=end + 1, exact=True)
    if digits[0] == ".":
        values: set[Reading] = {Fraction(f"0{digits}")}
        is_caliber = _ARTICLE.search(text, max(0, begin - 3), begin) and not UNIT_AFTER.match(text, end)
        number = number._replace(exact=bool(is_caliber))
    elif digits.isdigit():
        if len(digits) > 2 and digits[0] == "0":  # a code
            return number._replace(exact=True)
        if _after_clock(text, end):
            return _time(text, number, (int(digits),), language)
        values = {int(digits)}
        if _DECADE.match(text, end) and 1900 < int(digits) < 2000:
            values.add(int(digits) - 1900)
    else:
        values, exact = _values(digits, language)
        number = number._replace(exact=exact)
        if _PAIR.fullmatch(digits):
            has_minutes = digits[-3] == "."
            if has_minutes and _after_clock(text, end):  # 17.30 Uhr
                return _time(text, number, integers(digits), language)
            unit = UNIT_AFTER.match(text, end)
            if text.startswith(".", end) and language != "en":  # am 5.12.
                values.add(tuple(sorted(integers(digits))))
            if has_minutes and not unit and _AT.search(text, max(0, begin - 9), begin):
                values |= _time(text, number, integers(digits), language).readings
        if _is_named(text, number, language):
            values, number = set() if digits.endswith("0") else values, number._replace(exact=True)
    sign, values = _signed(text, begin, values)
    scaled = _scaled(text, number, values, language)
    return number._replace(begin=begin - sign, text=text[begin - sign : end], readings=scaled)


def _is_named(text: str, number: Number, language: str) -> bool:
    """Whether a decimal point is one of a version or a section: Python 3.12, chapter 2.10."""
    if language not in ("", "en") or number.text.count(".") != 1 or not number.text.replace(".", "").isdigit():
        return False
    before = text[max(0, number.begin - 30) : number.begin]
    if not _NAMED.search(before) or _CODE_OF_CURRENCY.search(before):
        return False
    return not UNIT_AFTER.match(text, number.end)


def _after_clock(text: str, end: int) -> bool:
    return bool(HALF_DAY.match(text, end) or _CLOCK.match(text, end))


def _values(digits: str, language: str) -> tuple[set[Reading], bool]:
    """What digits with separators may be worth in a language, and whether they may be a version."""
    signs = re.findall(r"\D", digits)
    kinds = list(dict.fromkeys(signs))
    groups, notation = re.split(r"\D", digits), NOTATIONS.get(language)
    found: set[Reading] = set()
    if len(kinds) == 1:
        [sign] = kinds
        whole, many = is_grouped(groups), len(signs) > 1
        if sign not in ".,":
            found |= {int("".join(groups))} if whole else set()
            return found | {tuple(map(int, groups))} if sign in SPACES or not whole else found, False
        if many:
            several: set[Reading] = {tuple(map(int, groups))} if sign == "," else set()
            one: set[Reading] = {int("".join(groups))} if whole else several
            return one, not whole or notation is None or sign != notation.group
        decimal = _value(digits, sign)
        if not whole or (notation and sign == notation.decimal and language not in _MIXED):
            return {decimal}, False
        grouped = int("".join(groups))
        both = notation is None or sign != notation.group or language in _MIXED
        return {grouped, decimal} if both else {grouped}, False
    if len(kinds) == 2 and kinds[1] in ".," and signs.count(kinds[1]) == 1 and is_grouped(groups[:-1]):
        return {Fraction(f"{''.join(groups[:-1])}.{groups[-1]}")}, False
    return set(), True


def _value(digits: str, sign: str) -> Reading:
    value = Fraction(digits.replace(sign, "."))
    return int(value) if value.denominator == 1 else value


def _signed(text: str, begin: int, values: set[Reading]) -> tuple[int, set[Reading]]:
    """The length of the sign before a number, 0 if that is uncertain, and the values with the sign."""
    place = len(text[max(0, begin - 3) : begin].rstrip(CURRENCIES + SPACES)) + max(0, begin - 3)
    if not place or text[place - 1] not in MINUS:
        return 0, values
    before = text[max(0, place - 3) : place - 1]
    if text[place] in SPACES or (before and (before[-1].isalnum() or before[-1] in f"){MINUS}.,%°€$")):
        return 0, values
    negative: set[Reading] = {-each for each in values if not isinstance(each, tuple)}
    if re.search(rf"\d[{SPACES}]$", before):  # "10 -5" is also a range
        return 0, negative | values
    return int(place == begin), negative or values


def _scaled(text: str, number: Number, values: set[Reading], language: str) -> frozenset[Reading]:
    """The values multiplied by a word after the number, such as "million"."""
    match = _WORD_AFTER.match(text, number.end)
    scale = scale_of(match[1], language) if match else 1
    if scale == 1 or match is None:
        return frozenset(values)
    products: set[Reading] = {_whole(each * scale) for each in values if not isinstance(each, tuple)}
    sure = len(match[1]) > 1 or text[number.begin - 1 : number.begin] in tuple(CURRENCIES)  # "5 m" may be meters
    sure &= scale > 12  # "2 dozen" may stay so in a language whose words are not known
    return frozenset(products if sure else products | values)


def has_scale(text: str, number: Number, language: str) -> bool:
    """Whether a number is multiplied by the word after it; a currency's sign before it then stays there, as its place
    in other languages is after that word."""
    match = _WORD_AFTER.match(text, number.end)
    return match is not None and scale_of(match[1], normal_code(language)) > 1


def _whole(value: int | Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def integers(text: str) -> tuple[int, ...]:
    """The runs of digits in a text, as integers."""
    return tuple(map(int, re.findall(r"\d+", text)))


def _date(text: str) -> Reading:
    """The parts of a date; in ascending order if the order is not known."""
    parts = integers(text)
    return tuple(sorted(parts)) if max(parts) > 31 or "/" in text else parts


def _fraction(text: str) -> frozenset[Reading]:
    """The value of a fraction, and its two numbers, which may be a date."""
    if not text[-1].isdigit() or "/" not in text:
        return frozenset([sum(integers(text)) + Fraction(numeric(text[-1])).limit_denominator(10)])
    *whole, upper, lower = integers(text)
    found: set[Reading] = set() if whole else {tuple(sorted((upper, lower)))}
    if lower:
        found.add(_whole(Fraction(upper, lower) + sum(whole)))
    return frozenset(found)


def _time(text: str, number: Number, parts: tuple[int, ...], language: str) -> Number:
    """A time of day in 24 hours; also anything else with a colon, such as a score."""
    half = HALF_DAY.match(text, number.end)
    hour, *rest = parts
    strong, weak = {parts}, set[tuple[int, ...]]()
    if half is not None and hour <= 12:
        later = half[1] in "pP"
        strong = {(hour % 12 + 12 * later, *rest)}
        strong |= {(24,)} if strong == {(0,)} else set()
        weak = {parts}
    elif 12 < hour <= 24:
        weak = {(hour - 12, *rest)}
        strong |= {(0, *rest)} if hour == 24 else set()
    end = half.end() if half else number.end
    return number._replace(
        end=end, text=text[number.begin : end], readings=_hours(strong), weak=_hours(weak), kind="time"
    )


def _hours(times: Iterable[tuple[int, ...]]) -> frozenset[Reading]:
    """Times; a full hour is also a number."""
    found = set[Reading]()
    for each in times:
        bare = each[0] if not any(each[1:]) else None
        found |= {each} if len(each) > 1 or bare is None else set()
        found |= {bare} if bare is not None else set()
    return frozenset(found)


HOUR = re.compile(r"hour|stunde|heure", re.IGNORECASE)
MIN_VALUE = 13
"""Smallest value of any words that is compared."""
_SMALL = {
    "en": "two three four five six seven eight nine ten eleven twelve",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "- trois - cinq six sept huit - dix onze douze",
}
"""The words from 2 to 12 that mean nothing else; French has both and the colon with "deux"."""
_SCALES = {100, 1000}
"""Values of words that often mean "many"."""
_STEMS = {
    "en": ("doz", "teen", "nty", "rty", "fty", "xty", "hty", "tie", "hundred", "thousand", "illion"),
    "de": ("dutz", "zehn", "zig", "sig", "hundert", "tausend", "illi"),
    "fr": (
        "douz", "treiz", "quatorz", "quinz", "seiz", "dix", "vingt", "ante", "anta", "anti", "trent", "cent", "mill",
    ),
}  # fmt: skip
"""What a text with larger numbers in words contains."""
_ANY_WORD = re.compile(r"\w+")
_SMALL_WORDS = {language: frozenset(words.split()) for language, words in _SMALL.items()}
_PARTS = {language: (*_STEMS[language], *sorted(words)) for language, words in _SMALL_WORDS.items()}
"""What a text with numbers in words contains: most texts have none of these."""
_HALF = {"en": "half past", "de": "halb", "fr": "demi"}
"""What a text with half an hour contains."""
_HALF_PAST = {
    "en": re.compile(r"\bhalf past (\w+)", re.IGNORECASE),
    "de": re.compile(r"\bhalb (?!eine?[mnr]?\b)(\w+)", re.IGNORECASE),
    "fr": re.compile(r"\b(midi|minuit|\w+(?= heures?))(?: heures?)? et demie?\b", re.IGNORECASE),
}
"""Half an hour after an hour; German names the next one."""
_CLOCK_HOURS = {
    "en": rf"(?:\d+|one|two|{_SMALL['en'].replace(' ', '|')}|noon|midnight)\b",
    "de": rf"(?:\d+|eins|zwei|{_SMALL['de'].replace(' ', '|')}|Mitternacht)\b",
}
_AND_A_HALF = {
    "en": re.compile(r"\band a half\b"),
    "de": re.compile(r"\b(?:\w*einhalb|anderthalb)"),
    "fr": re.compile(r"\bet demie?\b"),
}
"""A half beside a whole number, in lower case."""
_MINUS = {
    "en": re.compile(r"\bminus (\w+)"),
    "de": re.compile(r"\bminus (\w+)"),
    "fr": re.compile(r"\b(?:moins|minus) (\w+)(?:[- ]\w+){0,3} degrés?\b"),  # not five to ten
}
"""A number below zero in words, in lower case."""
_BELOW_ZERO = re.compile(r"minus|moins|n[eé]gati|below|under|unter|sous|dessous|[-\u2212\u2013] ?\d", re.IGNORECASE)
_WITH_MINUS = re.compile(r"[-\u2212\u2013] ?\d")
_HALVES = ("half", "halb", "demi")
"""What such a half contains."""
_PART_OF_ROMAN = re.compile("[XVI]{2}|[MDCLXVI]{3}")
"""What a Roman numeral contains that is compared."""
_HALF_IN_DIGITS = re.compile(r"\d[.,]5|[39]0|½|1/2|(?<!\w)(?:thirty|dreißig|trente)", re.IGNORECASE)
_QUARTER_OF_HOUR = {
    "en": re.compile(rf"\bquarter (?:(?P<to>to|of|before|till)|past|after) {_CLOCK_HOURS['en']}", re.IGNORECASE),
    "de": re.compile(rf"\bviertel (?:(?P<to>vor)|nach) {_CLOCK_HOURS['de']}", re.IGNORECASE),
    "fr": re.compile(r"\b(?:\w+ heures?|midi|minuit) (?:(?P<to>moins (?:le |un )?)|et )quart\b", re.IGNORECASE),
}
"""A quarter before or after an hour."""
_THIRTY = {
    "en": re.compile(r"\b(\w+)[- ]thirty\b", re.IGNORECASE),
    "de": re.compile(r"\b(\w+) Uhr dreißig\b", re.IGNORECASE),
    "fr": re.compile(r"\b(\w+) heures? trente\b", re.IGNORECASE),
}


def lost_number_words(source: str, output: str, languages: tuple[str, str]) -> tuple[int | Fraction, ...]:
    """The values of number words and Roman numerals of a source that its translation has neither as words nor in
    digits, hours that are other ones in times such as half past five, and a half, as of one and a half."""
    first, second = map(normal_code, languages)
    if first not in LANGUAGES or second not in LANGUAGES:
        return ()
    lost: set[int | Fraction] = {*_lost_half_hours(source, output, (first, second))}
    lower = source.casefold()
    has_quarter = "quart" in lower or "viertel" in lower
    if has_quarter:
        lost |= _lost_quarters(source, output, (first, second))
    if _PART_OF_ROMAN.search(source):
        there = {*roman_values(output)}
        lost |= {each for each in roman_values(source) if each not in there and not _has(each, output, second)}
    if any(map(lower.__contains__, _HALVES)) and _AND_A_HALF[first].search(lower) and not _says_half(source, output):
        lost.add(Fraction(1, 2))
    if "minus" in lower or "moins" in lower:
        lost |= _lost_below_zero(source, output, first)
    if any(map(lower.__contains__, _PARTS[first])) and not _says_small_ones(lower, output, (first, second)):
        text = _HALF_PAST[first].sub(" ", source)
        if has_quarter and _has(45, output, second):  # nine is 8:45 then
            text = _QUARTER_OF_HOUR[first].sub(lambda match: " " if match["to"] else match[0], text)
        text = _THIRTY[first].sub(
            lambda match: " " if _is_half_hour(match[1], output, (first, second)) else match[0], text
        )
        wanted = {value for value, size in number_runs(text, first) if _is_compared(value, size, text, first)}
        lost |= {each for each in wanted if not _has(each, output, second)}
    return tuple(sorted(lost))


def _says_half(source: str, output: str) -> bool:
    """Whether an output has a half as a word, or in digits that its source does not have already."""
    if HALVES.search(output):
        return True
    return len(_HALF_IN_DIGITS.findall(output)) > len(_HALF_IN_DIGITS.findall(source))


def _lost_below_zero(source: str, output: str, language: str) -> set[int]:
    """The values below zero that a source has in words, if too little in the output says that they are."""
    words = _MINUS[language].findall(source.lower())
    if not words or len(_BELOW_ZERO.findall(output)) >= len(words) + len(_WITH_MINUS.findall(source)):
        return set()
    return {-max(values) for word in words if (values := word_values(word, language))}


def _says_small_ones(lower: str, output: str, languages: tuple[str, str]) -> bool:
    """Whether a lower-cased text has no larger number in words, and the output the word for each smaller one: then none
    is lost, and the text needs not be read word by word."""
    if any(map(lower.__contains__, _STEMS[languages[0]])):
        return False
    wanted = _SMALL_WORDS[languages[0]].intersection(_ANY_WORD.findall(lower))
    if not wanted:
        return True
    values, there = small_values(languages[0]), small_values(languages[1])
    said = {there.get(word) for word in _ANY_WORD.findall(output.casefold())}
    return all(values[word] in said for word in wanted)


def _lost_half_hours(source: str, output: str, languages: tuple[str, str]) -> set[int]:
    """The hours of half hours such as half past five that the output has not, or of another hour."""
    hours = set(half_hours(source, languages[0]))
    if not hours:
        return hours
    there = _hours_and_half(output, languages[1])
    if not there and languages[0] == "fr" and HALVES.search(output):  # they may last: "deux heures et demie"
        return set()
    return hours - there


def _lost_quarters(source: str, output: str, languages: tuple[str, str]) -> set[int]:
    """The minutes of times such as a quarter to five for which the output has no word and no number."""
    if QUARTERS.search(output):
        return set()
    found = _QUARTER_OF_HOUR[languages[0]].finditer(source)
    return {each for each in (45 if match["to"] else 15 for match in found) if not _has(each, output, languages[1])}


def _hours_and_half(text: str, language: str) -> set[int]:
    """The hours, from 0 to 11, after which half an hour has passed, in words or digits."""
    found = set(half_hours(text, language))
    for word in _THIRTY[language].findall(text):
        found |= {each % 12 for each in word_values(word, language)}
    readings = (each for number in find_numbers(text, language) for each in number.readings | number.weak)
    return found | {int(each[0]) % 12 for each in readings if isinstance(each, tuple) and each[1:] == (30,)}


def _is_half_hour(hour: str, output: str, languages: tuple[str, str]) -> bool:
    """Whether an output has half an hour after an hour that is a word of its source."""
    hours = {each % 12 for each in word_values(hour, languages[0])}
    return not hours.isdisjoint(_hours_and_half(output, languages[1]))


def _is_compared(value: int, size: int, text: str, language: str) -> bool:
    """Whether a number of so many words cannot mean anything else."""
    if value >= MIN_VALUE or ((value, size) == (12, 2) and not HALVES.search(text)):  # a dozen
        return value not in _SCALES
    if size > 1 or value < 2:
        return False
    word = _SMALL[language].split()[value - 2]
    alone = rf"\b{word}\b" if value > 2 else rf"(?<![\w-]){word}(?![\w-])"  # not two-tailed
    return word != "-" and re.search(alone, text, re.IGNORECASE) is not None


def _has(value: int, output: str, language: str) -> bool:
    """Whether a text has a value as words, in digits, as a part of words, such as 90 of "neunziger", or as a part of an
    hour, such as half of one."""
    if word_values(output, language)[value] or (is_part_of_hour(value, output) and HOUR.search(output)):
        return True
    if language == "de" and 2 <= value < MIN_VALUE:  # Dreizimmerwohnung
        word = _SMALL["de"].split()[value - 2]
        if re.search(rf"\b{word}\w", output, re.IGNORECASE):
            return True
    readings = [each for number in find_numbers(output, language) for each in (*number.readings, *number.weak)]
    parts = {int(part) for each in readings for part in (each if isinstance(each, tuple) else (each,))}
    return bool(parts & {value, 1900 + value, -value})


def is_part_of_hour(minutes: int, text: str) -> bool:
    """Whether a text has a word such as "half" for these minutes."""
    part = {30: HALVES, 15: QUARTERS, 45: QUARTERS}.get(minutes)
    return part is not None and part.search(text) is not None


def half_hours(text: str, language: str) -> Iterator[int]:
    """The hours, from 0 to 11, after which half an hour has passed."""
    if _HALF[language] not in text.casefold():
        return
    for word in _HALF_PAST[language].findall(text):
        values = {int(word)} if word.isdecimal() else {each for each in word_values(word, language) if each <= 12}
        for hour in values:
            yield (hour - (language == "de")) % 12
