"""Names, codes and scripts of languages.

A row of `data/languages.txt` has the code of a language, its English name, other names, and other codes.
"""

import re
from functools import cache, lru_cache
from unicodedata import name

from limelight.text.words import read_table

REGIONS = {"US": "American", "GB": "British", "BR": "Brazilian", "PT": "European"}


_ROWS = [(code, row.partition("|")) for code, row in read_table("languages.txt")]
_NAMES = {code: [name.strip() for name in names.split("/")] for code, (names, _, _) in _ROWS}
ENGLISH_NAMES = {code: names[0] for code, names in _NAMES.items()}
"""Code -> the English name of each language."""
CODES_OF_NAMES = {name.lower(): code for code, names in _NAMES.items() for name in names}
"""Name, in lower case -> the code of the language."""
_CODES_OF_CODES = {other: code for code, (_, _, others) in _ROWS for other in others.split()}


def code_of(name: str) -> str:
    """`de` for `German` and `Deutsch`; empty if it is not the name of a language."""
    return CODES_OF_NAMES.get(name.strip().lower(), "")


def language_name(code: str) -> str:
    """`German` for `de`, `English (British)` for `en-GB`; a code that is not known is its own name."""
    base, _, region = code.replace("_", "-").partition("-")
    name = ENGLISH_NAMES.get(base.lower(), code)
    return f"{name} ({REGIONS.get(region.upper(), region)})" if region and name != code else name


_FAMILIES = {
    "cjk": "han",
    "hiragana": "kana",
    "katakana": "kana",
    "katakana-hiragana": "kana",
    "halfwidth": "kana",
    "fullwidth": "latin",
}


@lru_cache(maxsize=1024)
def normal_code(language: str) -> str:
    """`de` for `de-AT`, `DE_at`, `de@formal` and `deu`."""
    code = re.split(r"[-_@]", language.lower(), maxsplit=1)[0]
    return _CODES_OF_CODES.get(code, code)


@cache
def scripts_of(code: str) -> frozenset[str]:
    """The scripts in which a language is written; empty if unknown."""
    return frozenset(script for script, codes in read_table("scripts.txt") if code in codes.split())


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
