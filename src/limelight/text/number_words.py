"""Numbers that are written as words, in English, German and French.

A translation may write 2 as "zwei", 12 as "a dozen", 19 as "XIXe", 0.5 as "half". These functions find such words, so
that they are not taken for lost or added numbers. Other languages have no table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice

LANGUAGES = ("en", "de", "fr")
"""The languages with a table of words."""

_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
}
_OTHERS = {
    "en": {
        "a": 1, "an": 1, "single": 1, "once": 1, "twice": 2, "double": 2, "both": 2, "pair": 2, "couple": 2, "first": 1,
        "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "noon": 12,
        "midday": 12, "midnight": 0, "nil": 0, "no": 0, "none": 0, "twentieth": 20, "thirtieth": 30,
    },
    "de": {
        "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "eines": 1, "einmal": 1, "einzige": 1, "zwo": 2,
        "zweimal": 2, "beide": 2, "beiden": 2, "paar": 2, "doppelt": 2, "dritte": 3, "dritten": 3, "siebte": 7,
        "siebten": 7, "siebtel": 7, "achte": 8, "achten": 8, "achtel": 8, "mittag": 12, "mittags": 12, "mitternacht": 0,
        "kein": 0, "keine": 0, "keinen": 0, "dreissig": 30, "hundertste": 100, "erste": 1, "ersten": 1, "erstem": 1,
        "erster": 1, "erstes": 1, "drittem": 3, "dritter": 3, "drittes": 3,
    },
    "fr": {
        "une": 1, "premier": 1, "première": 1, "second": 2, "seconde": 2, "paire": 2, "double": 2, "dizaine": 10,
        "quinzaine": 15, "vingtaine": 20, "trentaine": 30, "cinquantaine": 50, "soixantaine": 60, "centaine": 100,
        "midi": 12, "minuit": 0, "quatrième": 4, "cinquième": 5, "neuvième": 9, "aucun": 0, "aucune": 0,
        "septante": 70, "huitante": 80, "nonante": 90,
    },
}  # fmt: skip
"""Further words with a value."""

_ENDINGS = {
    "en": "th ths",
    "de": "te ten tem ter tes ste sten stem ster stes tel stel mal er ern en",
    "fr": "ième ièmes",
}
"""Endings of ordinals and of decades."""
_SCALES = {
    "en": {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    "de": {"dutzend": 12, "hundert": 100, "tausend": 1000, "million": 10**6, "milliarde": 10**9, "billion": 10**12},
    "fr": {
        "douzaine": 12, "cent": 100, "mille": 1000, "millier": 1000, "million": 10**6, "milliard": 10**9,
        "billion": 10**12,
    },
}  # fmt: skip
"""Words that multiply the number before them."""
_NO_SCALES = {"fr": {"cent", "cents", "milles"}}
"""Words after digits that are units: cents, miles."""
_SCALE_OF_OTHERS = {
    "mil": 1000, "duizend": 1000, "tusen": 1000, "tusind": 1000, "millón": 10**6, "millones": 10**6, "milione": 10**6,
    "milioni": 10**6, "miljoen": 10**6, "miljon": 10**6, "milhão": 10**6, "milhões": 10**6, "milion": 10**6,
    "miliony": 10**6, "milionów": 10**6, "miliardi": 10**9, "miljard": 10**9, "miliard": 10**9, "miliardów": 10**9,
}  # fmt: skip
_SHORT_SCALES = {
    "en": {"m": 10**6, "mn": 10**6, "bn": 10**9, "k": 1000},
    "de": {"mio": 10**6, "mill": 10**6, "mrd": 10**9, "bn": 10**9, "tsd": 1000, "k": 1000},
    "fr": {"m": 10**6, "mds": 10**9, "md": 10**9, "bn": 10**9, "k": 1000},
}
"""Abbreviations, only after digits."""

HALVES = re.compile(r"(?<!\w)(?:half|halb\w*|demie?s?|anderthalb\w*|\w*einhalb|moitié)(?!\w)", re.IGNORECASE)
QUARTERS = re.compile(r"(?<!\w)(?:quarters?|viertel\w*|dreiviertel\w*|quarts?)(?!\w)", re.IGNORECASE)
THIRDS = re.compile(r"(?<!\w)(?:thirds?|drittel\w*|tiers)(?!\w)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_AND = {"and", "und", "et"}
_JOINTS = " -\u00a0\u202f\u2010\u2011"
"""What is between the words of a number."""
MAX_RUN = 8
"""Maximum number of words of a composed number."""
MAX_LETTERS = 100
"""Maximum number of letters of a German compound; the longest ones below a million have 65."""
_KIND = re.compile(
    r"(?:jährig|minütig|stündig|tägig|wöchig|monatig|köpfig|prozentig|stöckig|stellig|sitzig|fach|einhalb)\w*$"
)
"""Endings of German words such as "zehnminütig"."""
_ROMAN = re.compile(r"(?<!\w)(X{0,3})(IX|IV|V?I{0,3})(?:e|ème|er|re|ère)?(?!\w)")
_LARGE_ROMAN = re.compile(
    r"(?<![\w-])(?=[MDC]\w{3}|[XL]\w{2})(?!X*(?:IX|IV|V?I*)(?!\w))"
    r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)"
)
"""Those from 40 on, of four letters or more, or of three with tens at the beginning."""
_ROMAN_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_OF_ROMAN = "IVX"
"""One of these is in each Roman numeral."""
_ROMAN_VALUES = dict(zip(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"), range(10), strict=True))


def word_values(text: str, language: str) -> Counter[int]:
    """The values of the number words of a text, with how often each occurs; of all languages with a table if that of
    the text has none. The parts of a composed number count too."""
    found = Counter[int]()
    for each in (language,) if language in LANGUAGES else LANGUAGES:
        found |= _values_in(text, each)
    for tens, ones in _ROMAN.findall(text) if any(map(text.__contains__, _OF_ROMAN)) else ():
        if tens or ones:
            found[10 * len(tens) + _ROMAN_VALUES[ones]] += 1
    return found


@cache
def small_values(language: str) -> dict[str, int]:
    """The words of a language for the numbers from 2 to 19 that are one word, with their values."""
    return {word: value for value, word in enumerate(_ONES[language].split()) if value > 1 and "-" not in word}


def roman_values(text: str) -> list[int]:
    """The values of the Roman numerals of two letters or more up to 39, and of larger ones, which are no abbreviations
    or words, such as CLI or MIX."""
    small = (match for match in _ROMAN.finditer(text) if len(match[1] + match[2]) > 1)
    large = (_roman_value(match[0]) for match in _LARGE_ROMAN.finditer(text))
    return [*(10 * len(match[1]) + _ROMAN_VALUES[match[2]] for match in small), *large]


def _roman_value(numeral: str) -> int:
    values = [_ROMAN_LETTERS[letter] for letter in numeral]
    return sum(one if one >= after else -one for one, after in zip(values, [*values[1:], 0], strict=True))


def number_runs(text: str, language: str) -> list[tuple[int, int]]:
    """The values of the numbers that are written as words, each with the number of its words."""
    found = list[tuple[int, int]]()
    for run in _runs(text, language):
        place = 0
        while place < len(run):
            sums = list(_sums(run[place : place + MAX_RUN]))
            found.append((sums[-1], len(sums)))
            place += len(sums)
    return found


def scale_of(word: str, language: str) -> int:
    """What a word after digits multiplies them by, such as 1,000,000 for "Mio."; 1 if it is another word."""
    word = word.casefold()
    for each in (language,) if language in LANGUAGES else LANGUAGES:
        scales = {} if word in _NO_SCALES.get(each, ()) else _SCALES[each]
        stem = next((stem for stem in (word, word.removesuffix("s"), word.removesuffix("en")) if stem in scales), "")
        stem = stem or (word[:-1] if word[:-1] in scales and word.endswith("n") else "")
        if stem:
            return scales[stem]
        if word in _SHORT_SCALES[each]:
            return _SHORT_SCALES[each][word]
    return 1 if language in LANGUAGES else _SCALE_OF_OTHERS.get(word, 1)


def has_fraction(value: Fraction, text: str) -> bool:
    """Whether a text has a word for the fractional part of a value: half, a third, a quarter."""
    part = {2: HALVES, 3: THIRDS, 4: QUARTERS}.get(value.denominator)
    return part is not None and part.search(text) is not None


def _values_in(text: str, language: str) -> Counter[int]:
    """The values of words of one language: of each word, and of each sequence of number words."""
    found = Counter[int]()
    for run in _runs(text, language):
        found.update(run)
        found.update(each for start in range(len(run)) for each in islice(_sums(run[start : start + MAX_RUN]), 1, None))
    return found


def _runs(text: str, language: str) -> Iterator[list[int]]:
    """The values of the words of each sequence of number words, with spaces, hyphens or an "and" between them."""
    table, run, end, is_and = _table(language), list[int](), 0, False
    lower = text.casefold()
    for match in _WORD.finditer(lower):
        is_apart = bool(lower[end : match.start()].strip(_JOINTS))
        if run and match[0] in _AND and not is_apart:
            end, is_and = match.end(), True
            continue
        value = table.get(match[0])
        if value is None and language == "de":
            value = _composed(match[0])
        if run and (value is None or is_apart or (is_and and not _follows_and(run[-1], value))):
            yield run
            run = []
        run += [] if value is None else [value]
        end, is_and = match.end(), False
    if run:
        yield run


def _follows_and(before: int, value: int) -> bool:
    """Whether a value with an "and" before it can belong to the same number: "hundred and five", "vingt et un"."""
    return before >= 100 or (before >= 20 and value in (1, 11))


def _sums(run: Sequence[int]) -> Iterator[int]:
    """The values of the beginnings of a sequence of number words, up to where another number begins: "two thousand and
    five" is 2 * 1000 + 5."""
    total, current = 0, 0
    for value in run:
        joined = _joined(total, current, value)
        if joined is None:
            return
        total, current = joined
        yield total + current


def _joined(total: int, current: int, value: int) -> tuple[int, int] | None:
    """A number, which is the sum of thousands and what follows them, with the value of the next word; None if that is
    of another number."""
    rest = current % 100
    if value >= 1000:
        return None if total % (1000 * value) else (total + max(1, current) * value, 0)
    if value == 100:
        return (total, max(1, current) * value) if current < 100 else None
    if value == 20 and rest == 4:  # quatre-vingts
        return total, current + 76
    if value == 12 and 0 < current < 10:  # two dozen
        return total, current * value
    if not total and 13 <= current <= 20 and value >= 10:  # nineteen eighty
        return total, 100 * current + value
    is_next = value < 10 and rest >= 20 and not rest % 10
    is_french = (rest in (60, 80) and value < 20) or (rest == 10 and 7 <= value < 10)
    return (total, current + value) if is_next or is_french or not rest else None


@cache
def _table(language: str) -> dict[str, int]:
    """Words of a language with their values."""
    ones, tens = _ONES[language].split(), _TENS[language].split()
    table = {word: value for value, word in enumerate(ones) if "-" not in word}
    table |= {word: 20 + 10 * place for place, word in enumerate(tens)}
    for word, value in list(table.items()):
        stem = word.removesuffix("e") if language == "fr" else word
        table |= {stem + ending: value for ending in _ENDINGS[language].split() if stem + ending not in table}
        if language == "en" and value >= 20:
            table |= {f"{word[:-1]}{ending}": value for ending in ("ies", "ieth")}  # the nineties
    for word, value in _SCALES[language].items():
        table |= {word + ending: value for ending in ("", "s", "e", "en", "n", "ste", "th", "ième")}
    if language == "fr":
        table |= {"vingts": 20}
        del table["milles"]
    return {word.casefold(): value for word, value in (table | _OTHERS[language]).items()}


@lru_cache(10_000)
def _composed(word: str) -> int | None:
    """The value of a German compound such as "zweihundertfünfundzwanzig"; None if it is none."""
    if len(word) > MAX_LETTERS:
        return None
    table = _table("de")
    word = _KIND.sub("", word) or word
    if word in table:
        return table[word]
    for name, scale in (("tausend", 1000), ("hundert", 100)):
        head, found, tail = word.partition(name)
        if found:
            times = 1 if not head else _composed(head)
            rest = 0 if not tail else _composed(tail.removeprefix("und"))
            return None if times is None or rest is None else times * scale + rest
    one, _, ten = word.partition("und")
    values = table.get(one), table.get(ten)
    if values[0] is not None and values[1] is not None and values[0] < 10 <= values[1]:
        return values[0] + values[1]
    return None
