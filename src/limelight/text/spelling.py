"""Codes and names that a translation has to spell as its source does, capitals included: H2O, kWh, LaTeX, COVID-19.

A code has letters and digits, capitals within a word, or is a word of two to five capitals. It is misspelled if a
translation lacks it and has the same letters in another case instead, or the same ones but for one letter.

A single capital after a word names something, too: vitamin C, plan B, George V. In English, German and French it has to
be in the translation as a letter or, as a Roman numeral, as a number.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from limelight.text.checks import is_capitals
from limelight.text.languages import normal_code
from limelight.text.number_words import LANGUAGES, word_values
from limelight.text.words import count_common

_CAPITAL, _SMALL = "A-Z\u00c0-\u00de", "a-z\u00df-\u00ff"
_TOKEN = re.compile(r"[^\W_]+(?:-\d+(?!\w))?")
_PART_OF_CODE = re.compile(rf"[{_CAPITAL}\d](?:(?<=[^\W_].)|(?<=[{_CAPITAL}]-.)|(?<=\d)(?=[^\W\d_]))")
"""A capital or digit in a word, of which every code has one and most texts none. To begin with what is rare makes the
search ten times as fast."""
_CODE = re.compile(
    rf"(?:[^\W\d_]+\d\w*|\d+[^\W\d_]\w*|\w*[{_SMALL}][{_CAPITAL}]\w*|[{_CAPITAL}]{{2,5}}"
    rf"|[{_CAPITAL}]{{2,}}[{_SMALL}]+)(?:-\d+)?|[{_CAPITAL}]+-\d+"
)
_LONG_CAPITALS = re.compile(rf"[{_CAPITAL}]{{6,12}}")
"""A code or an emphasized word: its letters may have another case."""
_WORD = re.compile(rf"[^\W\d_][{_SMALL}]{{2,}}(?:-?\d+)?|[{_CAPITAL}]{{3,}}s?(?:-\d+)?")
"""What may be a word of its language, with a capital only where that writes one: base64, Base64, NATO, Nato."""
_NUMBERED = re.compile(rf"[^\W\d_]?[{_SMALL}]{{2,}}\d+")
_CAPITALS, _DIGITS = re.compile(f"[{_CAPITAL}]+"), re.compile(r"\d")
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "all am an and are as at be but by can car do for go had has he his if in is it its may me my no not of ok on "
        "one or our pm so the to up us was we who will you aus bei bin da das dem den der des die du ein er es für hat "
        "im ist man mit so um und vom von war was wer wie wir zu ai as au aux ce de du en est et il ils je la le les "
        "ma mes ne ni on ont ou par pas que qui sa ses si son sur ta te tu un une va",
    )
)
"""Words that stand for no abbreviation in capitals, such as `US`, and abbreviations that are written in either case."""
_SAME_UNIT = {"mL": "ml", "cL": "cl", "dL": "dl", "KB": "kB", "Min": "min"}
_LETTER = re.compile(r"[A-Z](?![\w'’°&/-])(?<=[a-zß-ÿ] .)(?<=[^\W\d_]. .)(?!\.[\w-]| =)(?<!\ben C)")
"""A capital after a word that is neither a variable nor a part of an abbreviation; "en C" is a language of programs."""
_AFTER_A = re.compile(r"[.,;:!?)]|$| (?:is|was|and|or|to)\b")
"""What follows an English "A" that is no article."""
_BEFORE_ONE = re.compile(
    r"World War |(?<!\w)(?:King|Queen|Pope|Emperor|Empress|Tsar|Kaiser) (?:[A-Z][a-z]+ ){1,2}", re.ASCII
)
"""What precedes an English "I" that is no pronoun."""
_FIRST = re.compile(r"(?<!\w)(?:1|1st|Ier|Ière|premi\w+|erste\w*|first)(?!\w)", re.IGNORECASE)
_ROMAN = {"V": 5, "X": 10}
MIN_ALIKE = 4
"""Minimum number of characters of a code of which one may be another one or missing."""


class Misspelled(NamedTuple):
    """A code that a translation lacks."""

    code: str
    found: str
    """What the translation has instead."""

    @property
    def is_same(self) -> bool:
        """Whether only the case of letters differs."""
        return self.code.casefold() == self.found.casefold()


def misspelled(source: str, output: str) -> list[Misspelled]:
    """The codes of a source that its translation lacks, where it has a similar one. None in a source in capitals."""
    if not _PART_OF_CODE.search(source):
        return []
    ours, theirs = _counted(source), _counted(output)
    lost = [each for each in ours if theirs[each] < ours[each] and _is_code(each)]
    if not lost or is_capitals(source):
        return []
    added = [each for each in theirs if theirs[each] > ours[each]]
    pairs = [Misspelled(code, found) for code in lost for found in added if abs(len(code) - len(found)) < 2]
    return [each for each in pairs if (_is_other_case(each, source, output) if each.is_same else _is_like(*each))]


def put_back_spellings(source: str, output: str) -> str:
    """The output with the codes of the source in place of those in another case, if it has as many of these."""
    ours, theirs = _counted(source), _counted(output)
    for code, found in (each for each in misspelled(source, output) if each.is_same):
        if not ours[found] and theirs[found] == ours[code] - theirs[code]:
            output = re.sub(rf"(?<![^\W_]){re.escape(found)}(?![^\W_])", code, output)
    return output


def _counted(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text))


def _is_code(token: str) -> bool:
    return (_CODE.fullmatch(token) or _LONG_CAPITALS.fullmatch(token)) is not None


def _is_other_case(pair: Misspelled, source: str, output: str) -> bool:
    """Whether the case of a code is a wrong one: not that of a word, of the beginning of a sentence, or of a unit."""
    code, found = pair
    if (
        found.casefold() in _WORDS
        or _LONG_CAPITALS.fullmatch(code)
        or _SAME_UNIT.get(code, code) == _SAME_UNIT.get(found, found)
    ):
        return False
    capitalized = code.capitalize()
    if _WORD.fullmatch(code) and (found == capitalized or (code == capitalized and found == code.lower())):
        return False
    return code[1:] != found[1:] or not (_begins_sentence(code, source) or _begins_sentence(found, output))


def _begins_sentence(token: str, text: str) -> bool:
    return re.search(rf"(?:^|[.!?:…]\s)\W*{re.escape(token)}(?![^\W_])", text) is not None


def _is_like(code: str, found: str) -> bool:
    """Whether a translation has a code with one letter that is another one, missing or added; not the last one, which
    can be an ending. Words with a number, such as Field2, can be translated."""
    if len(code) < MIN_ALIKE or code[-1:].lower() != found[-1:].lower():
        return False
    if _NUMBERED.fullmatch(code) or not (_is_code(found) or "-" in found):
        return False
    one, other = code.casefold(), found.casefold()
    same = count_common(one, other) + count_common(one[::-1], other[::-1])
    return same >= max(len(one), len(other)) - 1 and _DIGITS.findall(one) == _DIGITS.findall(other)


def find_letters(text: str, language: str) -> list[tuple[int, int]]:
    """The single capitals that name something, in English, German and French."""
    if language not in LANGUAGES:
        return []
    found = (match.span() for match in _LETTER.finditer(text))
    return [span for span in found if language != "en" or _is_name(text, *span)]


def _is_name(text: str, begin: int, end: int) -> bool:
    """Whether a single capital of an English text is neither an article nor a pronoun nor an exclamation."""
    if text[begin] == "I":
        before = text[max(0, begin - 40) : begin]
        return any(match.end() == len(before) for match in _BEFORE_ONE.finditer(before))
    return text[begin] != "O" and (text[begin] != "A" or _AFTER_A.match(text, end) is not None)


def lost_letters(source: str, output: str, languages: tuple[str, str]) -> tuple[str, ...]:
    """The single capitals of a source that its translation has neither as letters nor, if they may be Roman numerals,
    as numbers."""
    if not _LETTER.search(source):
        return ()  # most texts
    first, second = map(normal_code, languages)
    wanted = {source[begin] for begin, _ in find_letters(source, first)} if second in LANGUAGES else set[str]()
    return tuple(sorted(each for each in wanted if not _has_letter(output, each, second)))


def _has_letter(output: str, letter: str, language: str) -> bool:
    if re.search(rf"(?<![^\W_]){letter}(?![^\W_])", output):
        return True
    if letter == "I":
        return _FIRST.search(output) is not None
    value = _ROMAN.get(letter)
    return value is not None and (str(value) in output or word_values(output, language)[value] > 0)
