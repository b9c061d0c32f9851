"""Detect text that is not in its declared language; only certain contradictions are reported. Names of languages by
their codes.

Two criteria, both for whole samples and not for single sentences: the script of most letters, and, for common languages
in Latin and Cyrillic script, the share of words that are among the most frequent ones of a language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from unicodedata import name, normalize

from limelight.text.words import read_table

NAMES = {
    "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "br": "Breton",
    "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "la": "Latin", "lb": "Luxembourgish",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch", "no": "Norwegian",
    "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

OWN_NAMES = {
    "deutsch": "de", "englisch": "en", "français": "fr", "anglais": "en", "französisch": "fr", "allemand": "de",
    "español": "es", "italiano": "it", "português": "pt", "nederlands": "nl", "polski": "pl", "svenska": "sv",
    "dansk": "da", "norsk": "no", "suomi": "fi", "čeština": "cs", "türkçe": "tr", "русский": "ru", "українська": "uk",
    "中文": "zh", "日本語": "ja", "한국어": "ko", "العربية": "ar",
}  # fmt: skip
"""Names of languages in some of these languages."""

REGIONS = {"US": "American", "GB": "British", "BR": "Brazilian", "PT": "European"}


def code_of(name: str) -> str:
    """`de` for `German` and `Deutsch`; empty if it is not the name of a language."""
    lowered = name.strip().lower()
    return OWN_NAMES.get(lowered) or next((code for code, known in NAMES.items() if known.lower() == lowered), "")


def language_name(code: str) -> str:
    """`German` for `de`, `English (British)` for `en-GB`; a code that is not known is its own name."""
    base, _, region = code.replace("_", "-").partition("-")
    name = NAMES.get(base.lower(), code)
    return f"{name} ({REGIONS.get(region.upper(), region)})" if region and name != code else name


MIN_LETTERS, MIN_WORDS = 200, 150
"""Minimum size of a sample."""
DOMINANT = 0.8
"""Minimum share of letters of one script for which a sample is said to be in it."""
PRESENT, TIMES = 0.1, 3.0
"""A sample is in another language if function words of only that language are at least this share of its words, and at
least so many times as frequent as function words of only the declared language."""

_NEAR = ({"da", "no", "sv"}, {"cs", "sk"}, {"es", "pt"}, {"ru", "uk", "bg"})
"""Groups of similar languages, which are not distinguished from one another."""

_OTHER_CODES = {
    "nb": "no", "nn": "no", "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it",
    "por": "pt", "nld": "nl", "dut": "nl", "rus": "ru", "ukr": "uk", "pol": "pl", "ces": "cs", "cze": "cs", "jpn": "ja",
    "zho": "zh", "chi": "zh", "cmn": "zh", "kor": "ko", "ara": "ar", "heb": "he", "ell": "el", "gre": "el", "hin": "hi",
    "swe": "sv", "dan": "da", "nor": "no", "fin": "fi", "tur": "tr", "hun": "hu", "ron": "ro", "rum": "ro", "vie": "vi",
}  # fmt: skip

_FAMILIES = {"cjk": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}
WORD = re.compile(r"[^\W\d_]+")

MIN_DIFFERENT = 4
"""Different function words of another language that a text in it has at least: one of them alone may be a name or a
part of a code, such as the "a" of "a7"."""


def contradiction(texts: Sequence[str], language: str) -> str:
    """Why a sample of texts cannot be in `language` (a code like `de`, `deu` or `de-AT`); empty if uncertain.

    >>> contradiction(["Собака бежит по траве, а кошка спит."] * 10, "en")
    'is in Cyrillic script'
    """
    code = normal_code(language)
    other = _other_script(texts, code)
    table = function_words()
    if other or code not in table:
        return other
    words = _words(texts)
    if words.total() < MIN_WORDS:
        return ""
    best = max(table, key=lambda each: _count(words, table[each], ()))
    theirs, own = _count(words, table[best], table[code]), _count(words, table[code], table[best])
    different = sum(words[word] > 0 for word in table[best] if word not in table[code])
    sure = theirs >= PRESENT * words.total() and theirs >= TIMES * own and different >= MIN_DIFFERENT
    return f"looks like {best}" if sure and not any({best, code} <= group for group in _NEAR) else ""


def likely_language(texts: Sequence[str]) -> str:
    """The language that a sample of texts is in, if it is one of the known ones; empty if uncertain.

    >>> likely_language(["Der Hund und die Katze sind nicht in dem Haus, und ich bin es auch nicht."] * 10)
    'de'
    """
    counts = Counter(script_of(letter) for text in texts for letter in text if letter.isalpha())
    if counts.total() < MIN_LETTERS:
        return ""
    script, count = counts.most_common(1)[0]
    if counts["kana"] >= 0.2 * counts.total():
        return "ja"
    if script not in ("latin", "cyrillic"):
        codes = [code for code, scripts in _scripts().items() if script in scripts]
        return codes[0] if codes and count >= DOMINANT * counts.total() else ""
    table, words = function_words(), _words(texts)
    if words.total() < MIN_WORDS:
        return ""
    best, *others = sorted(table, key=lambda each: -_count(words, table[each], ()))
    rival = next(each for each in others if not any({best, each} <= group for group in _NEAR))
    theirs, own = _count(words, table[best], table[rival]), _count(words, table[rival], table[best])
    return best if theirs >= PRESENT * words.total() and theirs >= TIMES * own else ""


def language_margin(text: str, one: str, other: str) -> int:
    """How many words of a text speak for the language `one` rather than the `other`; if these have different scripts,
    how many letters do."""
    table, scripts = function_words(), _scripts()
    one, other = normal_code(one), normal_code(other)
    if one in table and other in table and scripts[one] == scripts[other]:
        words = _words([text])
        return _count(words, table[one], table[other]) - _count(words, table[other], table[one])
    letters = [script_of(letter) for letter in text if letter.isalpha()]
    ours, theirs = (scripts.get(code, set()) for code in (one, other))
    return sum((each in ours - theirs) - (each in theirs - ours) for each in letters)


_ELIDED = re.compile(r"['’]\w+")
"""What follows an apostrophe is not a word of its own (I've got Tom's keys)."""
MIN_FOREIGN = 3
"""Different function words of another language, and none of its own, for which a single text is in that language."""


def foreign_language(text: str, language: str) -> str:
    """The language that a single text is in, if that is certainly not `language`; else empty.

    >>> foreign_language("Das ist nicht für die Katze.", "en")
    'de'
    """
    code = normal_code(language)
    other = _foreign_script(text, code)
    table = function_words()
    if other or code not in table:
        return other
    words = set(WORD.findall(_ELIDED.sub("", normalize("NFC", text.lower()))))
    own = table[code].keys()
    best, count = "", MIN_FOREIGN - 1
    for each, known in table.items():
        found = len(words & (known.keys() - own))
        if found > count and not any({each, code} <= group for group in _NEAR):
            best, count = each, found
    return best if best and len(words & (own - table[best].keys())) == 0 else ""


def _foreign_script(text: str, code: str) -> str:
    """The script of most letters of a text, if its language is not written in it."""
    own = scripts_of(code)
    letters = [script_of(letter) for letter in text if letter.isalpha()] if own and not text.isascii() else []
    if text.isascii() and own and "latin" not in own:
        letters = ["latin" for letter in text if letter.isalpha()]
    if len(letters) < 12 or (own & {"han", "kana", "hangul"} and set(letters) & own):
        return ""
    script, count = Counter(letters).most_common(1)[0]
    return f"{script} script" if script not in own and count >= DOMINANT * len(letters) else ""


@lru_cache(maxsize=1024)
def normal_code(language: str) -> str:
    """`de` for `de-AT`, `DE_at`, `de@formal` and `deu`."""
    code = re.split(r"[-_@]", language.lower(), maxsplit=1)[0]
    return _OTHER_CODES.get(code, code)


@cache
def function_words() -> dict[str, dict[str, None]]:
    """The most frequent function words of common languages, in order."""
    return {code: dict.fromkeys(words.split()) for code, words in read_table("function_words.txt")}


def scripts_of(code: str) -> set[str]:
    """The scripts in which a language is written; empty if unknown."""
    return _scripts().get(code, set())


@cache
def _scripts() -> dict[str, set[str]]:
    scripts: dict[str, set[str]] = {}
    for script, codes in read_table("scripts.txt"):
        for code in codes.split():
            scripts.setdefault(code, set()).add(script)
    return scripts


def _words(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in WORD.findall(normalize("NFC", text.lower())))


def _count(words: Counter[str], some: Collection[str], without: Collection[str]) -> int:
    return sum(words[word] for word in some if word not in without)


def _other_script(texts: Sequence[str], code: str) -> str:
    counts = Counter(script_of(letter) for text in texts for letter in text if letter.isalpha())
    total = counts.total()
    own = scripts_of(code)
    if total < MIN_LETTERS or not own:
        return ""
    script, count = counts.most_common(1)[0]
    if code == "zh" and counts["kana"] >= 0.2 * total:
        return "has kana and looks like ja"
    if script not in own and count >= DOMINANT * total:
        return f"is in {script.capitalize()} script"
    if code == "ja" and count >= DOMINANT * total and script == "han" and not counts["kana"]:
        return "has no kana and looks like zh"
    return ""


@cache
def script_of(letter: str) -> str:
    """The script (`latin`, `cyrillic`, `han`), by the first word of the letter's Unicode name."""
    first = name(letter, "unknown").split()[0].lower()
    return _FAMILIES.get(first, first)
