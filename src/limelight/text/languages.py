"""Names, codes and scripts of languages."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from unicodedata import name

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


_OTHER_CODES = {
    "nb": "no", "nn": "no", "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it",
    "por": "pt", "nld": "nl", "dut": "nl", "rus": "ru", "ukr": "uk", "pol": "pl", "ces": "cs", "cze": "cs", "jpn": "ja",
    "zho": "zh", "chi": "zh", "cmn": "zh", "kor": "ko", "ara": "ar", "heb": "he", "ell": "el", "gre": "el", "hin": "hi",
    "swe": "sv", "dan": "da", "nor": "no", "fin": "fi", "tur": "tr", "hun": "hu", "ron": "ro", "rum": "ro", "vie": "vi",
}  # fmt: skip

_FAMILIES = {"cjk": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}


@lru_cache(maxsize=1024)
def normal_code(language: str) -> str:
    """`de` for `de-AT`, `DE_at`, `de@formal` and `deu`."""
    code = re.split(r"[-_@]", language.lower(), maxsplit=1)[0]
    return _OTHER_CODES.get(code, code)


def scripts_of(code: str) -> set[str]:
    """The scripts in which a language is written; empty if unknown."""
    return all_scripts().get(code, set())


@cache
def all_scripts() -> dict[str, set[str]]:
    """The scripts of each language."""
    scripts: dict[str, set[str]] = {}
    for script, codes in read_table("scripts.txt"):
        for code in codes.split():
            scripts.setdefault(code, set()).add(script)
    return scripts


def first_language(script: str) -> str:
    """The most widely written language of a script, which is the first one of its row; empty for Latin script, which
    many languages have."""
    rows = (codes.split()[0] for name, codes in read_table("scripts.txt") if name == script != "latin")
    return next(rows, "")


@cache
def script_of(letter: str) -> str:
    """The script (`latin`, `cyrillic`, `han`), by the first word of the letter's Unicode name."""
    first = name(letter, "unknown").split()[0].lower()
    return _FAMILIES.get(first, first)
