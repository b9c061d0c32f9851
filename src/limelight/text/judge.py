"""Judge which language a text is in, by its script, its letters, and common words of languages that are widely written.

A sample of texts is compared with the declared language of its side (`contradiction`), and a single text with the
languages that a model knows (`foreign_language`): a detector (`text/detection.py`) has seen only these, and calls a
Spanish text French, with certainty. Only clear evidence counts.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from unicodedata import normalize

from limelight.text.languages import first_language, normal_code, script_of, scripts_of
from limelight.text.words import read_table

WORD = re.compile(r"[^\W\d_]+")
MIN_LETTERS, MIN_WORDS = 200, 150
"""Minimum size of a sample."""
DOMINANT, KANA = 0.8, 0.2
"""Minimum share of letters of one script for which a sample is said to be in it; for Japanese, of kana."""
PER_WORD, MAX_SHARE = 0.8, 0.05
"""Minimum log-likelihood ratio for each word of a sample (most text has 1 to 3), and the share of its words that counts
of one word: one alone may be a name, or part of a code."""
_NEAR = ({"da", "no", "sv"}, {"cs", "sk"}, {"es", "pt"}, {"ru", "uk", "bg"})
"""Groups of similar languages, which are not distinguished from one another."""

THRESHOLD, FEW_WORDS, THRESHOLD_OF_FEW = 4.0, 2, 6.0
"""Minimum log-likelihood ratio of a foreign language to each known language; the last one for up to `FEW_WORDS` words:
the most common words have a ratio of about 5, others of 3, and a single word may be a name."""
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


def contradiction(texts: Sequence[str], language: str) -> str:
    """Why a sample of texts cannot be in `language` (a code like `de`, `deu` or `de-AT`); empty if uncertain.

    >>> contradiction(["Собака бежит по траве, а кошка спит."] * 10, "en")
    'is in Cyrillic script'
    """
    code = normal_code(language)
    scripts, own = scripts_in("".join(texts)), scripts_of(code)
    if own and scripts.total() >= MIN_LETTERS:
        script, count = scripts.most_common(1)[0]
        if {code, language_of_script := _by_script(scripts)} == {"ja", "zh"}:
            return f"looks like {language_of_script}"
        if script not in own and count >= DOMINANT * scripts.total():
            return f"is in {script.capitalize()} script"
    best = _by_words(texts, code) if code in function_words() else ""
    return f"looks like {best}" if best else ""


def likely_language(texts: Sequence[str]) -> str:
    """The language that a sample of texts is in, if it is one of the known ones; empty if uncertain.

    >>> likely_language(["Der Hund und die Katze sind nicht in dem Haus, und ich bin es auch nicht."] * 10)
    'de'
    """
    scripts = scripts_in("".join(texts))
    return "" if scripts.total() < MIN_LETTERS else _by_script(scripts) or _by_words(texts)


def _by_script(scripts: Counter[str]) -> str:
    """The language of letters in a script that is mostly used for one language."""
    script, count = scripts.most_common(1)[0]
    if scripts["kana"]:
        return "ja" if scripts["kana"] >= KANA * scripts.total() else ""
    return first_language(script) if script != "cyrillic" and count >= DOMINANT * scripts.total() else ""


def _by_words(texts: Sequence[str], rival: str = "") -> str:
    """The language of a sample by its common words, if that is certain and not `rival`, by default the next one; empty
    otherwise."""
    words = Counter(_words("\n".join(texts)))
    total, most = words.total(), MAX_SHARE * words.total()
    evidence = _evidence({word: min(count, most) for word, count in words.items()})
    best, *others = sorted(evidence, key=evidence.__getitem__, reverse=True)
    rival = rival or next(other for other in others if not _are_near(best, other))
    is_sure = total >= MIN_WORDS and evidence[best] - evidence[rival] >= PER_WORD * total
    return best if is_sure and not _are_near(best, rival) else ""


def _are_near(one: str, other: str) -> bool:
    return any({one, other} <= group for group in _NEAR)


def scripts_in(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    return Counter(script_of(letter) for letter in text if letter.isalpha())


def _words(text: str) -> list[str]:
    return WORD.findall(normalize("NFC", text.lower()))


def _evidence(words: Mapping[str, float]) -> dict[str, float]:
    """The log-likelihood of words and how often they occur in each language, up to a constant."""
    evidence, common = dict.fromkeys((*function_words(), *_alphabets()), 0.0), _common_words()
    for word, count in words.items():
        for code, gain in common.get(word, ()):
            evidence[code] += count * gain
    return evidence


@cache
def function_words() -> dict[str, dict[str, None]]:
    """The most frequent function words of common languages, in order."""
    return {code: dict.fromkeys(words.split()) for code, words in read_table("function_words.txt")}


CLEAR = 0.9975
"""Minimum probability for removing a pair: words such as "men" are of several languages."""


def foreign_language(text: str, known: Collection[str]) -> tuple[str, float]:
    """The code of the language in which a text probably is, if that is none of `known`, and the probability that it is
    in that language rather than in a known one; else "" and 0.0. Without known languages, as in a model whose languages
    have no names, nothing is foreign.

    >>> foreign_language("Почему?", ["en", "de", "fr"])
    ('ru', 1.0)
    """
    own = {normal_code(language) for language in known}
    if not own:
        return "", 0.0
    if other := _other_script(text, own):
        return other, 1.0
    alphabets = _alphabets()
    if not own < alphabets.keys():
        return "", 0.0
    words = _words(text)
    scores = {code: score for code, score in _evidence(Counter(words)).items() if code in alphabets}
    others = (character for character in normalize("NFC", text.lower()) if character > "\x7f")
    special = {other for other in others if other in "¿¡" or (other.isalpha() and script_of(other) == "latin")}
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
    counts = scripts_in(text)
    used = set().union(*(scripts_of(code) for code in own))
    if not counts or not all(scripts_of(code) for code in own):
        return ""
    if counts["kana"] and not used & {"kana", "han"}:
        counts["kana"] += counts.pop("han", 0)
    script, count = counts.most_common(1)[0]
    return first_language(script) if script not in used and count >= MIN_SHARE * counts.total() else ""


def alphabet_of(language: str) -> frozenset[str] | None:
    """The lower-case letters of a language that English does not have; None if they are not known."""
    return _alphabets().get(normal_code(language))


@cache
def _alphabets() -> dict[str, frozenset[str]]:
    """The letters of each language that English does not have."""
    return {code: frozenset(letters.strip()) for code, letters in read_table("letters.txt")}


@cache
def _common_words() -> dict[str, list[tuple[str, float]]]:
    """Word -> the languages in which it is common, each with the logarithm of how common, compared with `UNLISTED`.
    A single letter of English is none: they are too frequent in names, formulas and options."""
    gains: dict[str, list[tuple[str, float]]] = {}
    tables = {code: list(words) for code, words in function_words().items()}
    for code, further in read_table("common_words.txt"):
        tables.setdefault(code, []).extend(further.split())
    for code, words in tables.items():
        for rank, word in enumerate(dict.fromkeys(words)):
            if len(word) > 1 or word > "\x7f":
                gains.setdefault(word, []).append((code, math.log(max(LEAST, 0.3 / (rank + 8)) / UNLISTED)))
    return gains
