"""Numbers that are written as words, in English, German and French.

A translation may write 2 as "zwei", 12 as "a dozen", 19 as "XIXe", 0.5 as "half". These functions find such words, so
that they are not taken for lost or added numbers. Other languages have no table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

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
        "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "dozen": 12, "dozens": 12,
        "noon": 12, "midday": 12, "midnight": 0, "nil": 0, "no": 0, "none": 0, "twentieth": 20, "thirtieth": 30,
    },
    "de": {
        "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "eines": 1, "einmal": 1, "einzige": 1, "zwo": 2,
        "zweimal": 2, "beide": 2, "beiden": 2, "paar": 2, "doppelt": 2, "dritte": 3, "dritten": 3, "siebte": 7,
        "siebten": 7, "achte": 8, "achten": 8, "dutzend": 12, "mittag": 12, "mittags": 12, "mitternacht": 0,
        "kein": 0, "keine": 0, "keinen": 0, "dreissig": 30, "jahrhundert": 100, "hundertste": 100,
    },
    "fr": {
        "une": 1, "premier": 1, "première": 1, "second": 2, "seconde": 2, "paire": 2, "double": 2, "dizaine": 10,
        "douzaine": 12, "quinzaine": 15, "vingtaine": 20, "trentaine": 30, "centaine": 100, "millier": 1000,
        "midi": 12, "minuit": 0, "quatrième": 4, "cinquième": 5, "neuvième": 9, "aucun": 0, "aucune": 0, "septante": 70,
        "huitante": 80, "nonante": 90,
    },
}  # fmt: skip
"""Further words with a value."""

_ENDINGS = {"en": "th ths", "de": "te ten ter tes ste sten ster mal er ern", "fr": "ième ièmes"}
"""Endings of ordinals and of decades."""
_SCALES = {
    "en": {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    "de": {"hundert": 100, "tausend": 1000, "million": 10**6, "milliarde": 10**9, "billion": 10**12},
    "fr": {"cent": 100, "mille": 1000, "million": 10**6, "milliard": 10**9, "billion": 10**12},
}
"""Words that multiply the number before them."""
_SCALE_OF_OTHERS = {
    "mil": 1000, "duizend": 1000, "tusen": 1000, "tusind": 1000, "millón": 10**6, "millones": 10**6, "milione": 10**6,
    "milioni": 10**6, "miljoen": 10**6, "miljon": 10**6, "milhão": 10**6, "milhões": 10**6, "milion": 10**6,
    "miliony": 10**6, "milionów": 10**6, "miliardi": 10**9, "miljard": 10**9, "miliard": 10**9, "miliardów": 10**9,
}  # fmt: skip
_SHORT_SCALES = {
    "en": {"m": 10**6, "mn": 10**6, "bn": 10**9, "k": 1000},
    "de": {"mio": 10**6, "mill": 10**6, "mrd": 10**9, "tsd": 1000, "k": 1000},
    "fr": {"mds": 10**9, "md": 10**9, "k": 1000},
}
"""Abbreviations, only after digits."""

HALVES = re.compile(r"(?<!\w)(?:half|halb\w*|demie?s?|anderthalb\w*|\w*einhalb|moitié)(?!\w)", re.IGNORECASE)
QUARTERS = re.compile(r"(?<!\w)(?:quarters?|viertel\w*|dreiviertel\w*|quarts?)(?!\w)", re.IGNORECASE)
THIRDS = re.compile(r"(?<!\w)(?:thirds?|drittel\w*|tiers)(?!\w)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_AND = {"and", "und", "et"}
MAX_RUN = 8
"""Maximum number of words of a composed number."""
_KIND = re.compile(r"(?:jährig|minütig|stündig|tägig|wöchig|monatig|köpfig|prozentig|stöckig|stellig|sitzig|fach)\w*$")
"""Endings of German adjectives such as "zehnminütig"."""
_ROMAN = re.compile(r"(?<!\w)(X{0,3})(IX|IV|V?I{0,3})(?:e|ème|er|re|ère)?(?!\w)")
_ROMAN_VALUES = dict(zip(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"), range(10), strict=True))


def word_values(text: str, language: str) -> Counter[int]:
    """The values of the number words of a text, with how often each occurs; of all languages with a table if that of
    the text has none. The parts of a composed number count too."""
    found = Counter[int]()
    for each in (language,) if language in LANGUAGES else LANGUAGES:
        found |= _values_in(text, each)
    for tens, ones in _ROMAN.findall(text):
        if tens or ones:
            found[10 * len(tens) + _ROMAN_VALUES[ones]] += 1
    return found


def number_runs(text: str, language: str) -> list[tuple[int, int]]:
    """The values of the numbers that are written as words, each with the number of its words."""
    found = list[tuple[int, int]]()
    for run in _runs(text, language):
        sums = list(_sums(run[:MAX_RUN]))
        found.append((sums[-1] if sums else run[0], len(run)))
    return found


def scale_of(word: str, language: str) -> int:
    """What a word after digits multiplies them by, such as 1,000,000 for "Mio."; 1 if it is another word."""
    word = word.casefold()
    for each in (language,) if language in LANGUAGES else LANGUAGES:
        scales = _SCALES[each]
        stem = next((stem for stem in (word, word.removesuffix("s"), word.removesuffix("en")) if stem in scales), "")
        stem = stem or (word[:-1] if word[:-1] in scales and word.endswith("n") else "")
        if stem and (scales[stem] >= 1000 or each != "fr"):  # 5 cents are not hundreds
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
        found.update(each for start in range(len(run)) for each in _sums(run[start : start + MAX_RUN]))
    return found


def _runs(text: str, language: str) -> Iterator[list[int]]:
    """The values of the words of each sequence of number words."""
    table, run = _table(language), list[int]()
    for word in [*_WORD.findall(text.casefold()), ""]:
        value = table.get(word)
        if value is None and language == "de":
            value = _composed(word)
        if value is not None:
            run.append(value)
        elif run and word not in _AND:
            yield run
            run = []


def _sums(run: Sequence[int]) -> Iterator[int]:
    """The values of the beginnings of a sequence of number words: "two thousand and five" is 2 * 1000 + 5."""
    total, current = 0, 0
    for place, value in enumerate(run):
        if value == 20 and current == 4:  # quatre-vingts
            current = 80
        elif value == 100 or value >= 1000:
            current = max(1, current) * value
            if value > 100:
                total, current = total + current, 0
        else:
            current += value
        if place:
            yield total + current


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
        table |= {word + ending: value for ending in ("", "s", "en", "n", "ste", "th", "ième")}
    if language == "fr":
        table |= {"vingts": 20}
    return {word.casefold(): value for word, value in (table | _OTHERS[language]).items()}


@cache
def _composed(word: str) -> int | None:
    """The value of a German compound such as "zweihundertfünfundzwanzig"; None if it is none."""
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
