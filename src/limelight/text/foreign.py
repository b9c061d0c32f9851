"""Recognize a text in a language that a model does not know: the class "other" of language detection.

The detector of a model (`text/detection.py`) has seen only the languages of the model. It calls a Spanish text French,
with certainty. Here a text is compared with the common words, the letters and the script of languages that are
widely written. Only clear evidence counts: a text without any common word is never called foreign for its words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from functools import cache
from unicodedata import normalize

from limelight.text.languages import WORD, function_words, normal_code, script_of, scripts_of
from limelight.text.words import read_table

THRESHOLD, FEW_WORDS, THRESHOLD_OF_FEW = 4.0, 2, 6.0
"""Minimum log-likelihood ratio of a foreign language to each known language, and that of a text of so few words: the
most common words have about 5, others 3, and a single word may be a name."""
FOREIGN_LETTER = 2.5
"""Evidence of a letter that a language does not use."""
MAX_LETTERS = 3
"""So many letters count at most: names have some."""
UNLISTED, LEAST = 0.0001, 0.002
"""Assumed frequency of a word that is not among the common ones of a language, and minimum of one that is."""
MIN_SHARE = 0.6
"""Minimum share of letters in another script."""

IN_TARGET_LANGUAGE = "already in target language"
"""The warning for a text that comes back unchanged."""

_BY_SCRIPT = {
    "cyrillic": "ru", "greek": "el", "han": "zh", "kana": "ja", "hangul": "ko", "arabic": "ar", "hebrew": "he",
    "devanagari": "hi", "thai": "th", "georgian": "ka", "armenian": "hy", "bengali": "bn", "tamil": "ta",
}  # fmt: skip
"""The most widely written language of a script."""


def foreign_language(text: str, known: Collection[str]) -> str:
    """The code of the language in which a text probably is, if that is none of `known`; else, or if uncertain, "".

    >>> foreign_language("¿Dónde está la estación?", ["en", "de", "fr"])
    'es'
    """
    return foreign_evidence(text, known)[0]


def foreign_evidence(text: str, known: Collection[str]) -> tuple[str, float]:
    """The same, with the probability that the text is in that language rather than in a known one; 0.0 without one.
    Without known languages, as in a model whose languages have no names, nothing is foreign."""
    own = {normal_code(each) for each in known}
    if not own:
        return "", 0.0
    if other := _other_script(text, own):
        return other, 1.0
    alphabets = _alphabets()
    if not own < alphabets.keys():
        return "", 0.0
    plain = normalize("NFC", text).lower()
    words = WORD.findall(plain)
    scores, common = dict.fromkeys(alphabets, 0.0), _common_words()
    for word in words:
        for code, gain in common.get(word, ()):
            scores[code] += gain
    if special := _special(plain):
        for code, alphabet in alphabets.items():
            scores[code] -= FOREIGN_LETTER * min(MAX_LETTERS, len(special - alphabet))
    ours = max(scores.pop(code) for code in own)
    best = max(scores, key=scores.__getitem__)
    ratio = scores[best] - ours
    needed = THRESHOLD_OF_FEW if len(words) <= FEW_WORDS else THRESHOLD
    return (best, 1 / (1 + math.exp(-ratio))) if ratio >= needed else ("", 0.0)


def _other_script(text: str, own: set[str]) -> str:
    if text.isascii():  # no other script has these letters
        return ""
    counts = Counter(script_of(letter) for letter in text if letter.isalpha())
    used = set().union(*(scripts_of(code) for code in own))
    if not counts or not all(scripts_of(code) for code in own):
        return ""
    if counts["kana"] and not used & {"kana", "han"}:
        counts["kana"] += counts.pop("han", 0)
    script, count = counts.most_common(1)[0]
    return _BY_SCRIPT.get(script, "") if script not in used and count >= MIN_SHARE * counts.total() else ""


def _special(text: str) -> set[str]:
    """The letters and marks of a text in lower case beside those of English."""
    if text.isascii():
        return set()
    found = {letter for letter in text if letter > "\x7f"}
    return {letter for letter in found if letter in "¿¡" or (script_of(letter) == "latin" and letter.isalpha())}


def alphabet_of(language: str) -> frozenset[str] | None:
    """The lower-case letters of a language beside those of English; None for a language without a table."""
    return _alphabets().get(normal_code(language))


@cache
def every_alphabet() -> frozenset[str]:
    """The letters of all tables."""
    return frozenset[str]().union(*_alphabets().values())


@cache
def _alphabets() -> dict[str, frozenset[str]]:
    """The letters of each language beside those of English."""
    return {code: frozenset(letters.strip()) for code, letters in read_table("letters.txt")}


@cache
def _common_words() -> dict[str, list[tuple[str, float]]]:
    """Word -> the languages in which it is common, each with the logarithm of how common, compared with `UNLISTED`.
    A single letter of English is none: they are too frequent in names, formulas and options."""
    found: dict[str, list[tuple[str, float]]] = {}
    tables = {code: list(function_words().get(code, ())) for code in _alphabets()}
    for code, further in read_table("common_words.txt"):
        tables[code] += further.split()
    for code, words in tables.items():
        for rank, word in enumerate(dict.fromkeys(words)):
            if len(word) > 1 or word > "\x7f":
                found.setdefault(word, []).append((code, math.log(max(LEAST, 0.3 / (rank + 8)) / UNLISTED)))
    return found
