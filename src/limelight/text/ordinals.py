"""Ordinals and decades of a source that its translation has in the form of the source's language: "the 13. century" for
"im 13. Jahrhundert", "der 21st", "28e"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from limelight.text.languages import normal_code
from limelight.text.number_notation import months_of
from limelight.text.number_words import word_values
from limelight.text.numbers import LETTERS, has_digits

_WORD = rf"[{LETTERS}]+"
_ENGLISH = re.compile(rf"(?<![\w.,])((?P<number>\d{{1,3}})(?:st|nd|rd|th)(?!\w))(?P<after>(?:[ \u00a0]{_WORD})?)")
_ROMAN = re.compile(r"(?<!\w)([XVI]{2,})e(?!\w)")
"""A French ordinal in Roman numerals, as of a century."""
_ENDS_OF_ROMAN = ("Ie", "Ve", "Xe")
"""One of these is in each."""
_FRENCH = re.compile(rf"(?<![\w.,])((?P<number>\d{{1,3}})(?:er|ère|re|e|i?ème)(?!\w))(?P<after>(?:[ \u00a0]{_WORD})?)")
_STOP = rf"(?P<number>\d{{1,3}})\.(?=[,;]|\.(?![.\d])|[ \u00a0](?P<after>{_WORD}))"
_GERMAN = re.compile(rf"(?<![\w.,:/-])(?:(?P<before>{_WORD})[ \u00a0])?{_STOP}")
_WITH_STOP = re.compile(rf"(?<![\w.,:/-]){_STOP}")
_DECADE = re.compile(r"(?P<the>\b(?:den|les|des) )?(?<![\w.,])(?P<decade>(?:1\d|20)?\d0)['’]?s(?!\w)")
_BEFORE_NOUNS = re.compile(
    r"d(?:er|ie|as|em|en|es)|(?:i|a|zu|vo|bei)m|ins|zur|als|[mdsk]?ein(?:e[mnrs]?)?|(?:ihr|unse?r|eue?r)(?:e[mnrs]?)?"
    r"|(?:jede|diese|jene|welche)[mnrs]?",
    re.IGNORECASE,
)
"""What precedes a German ordinal before a noun, whose capital could also be that of the next sentence."""
_BEFORE_DAYS = ("am", "vom", "zum", "bis", "ab", "seit")
_NUMBERED = ("punkt", "kapitel", "nummer", "nr", "abschnitt", "artikel", "seite", "teil", "band", "schritt", "tabelle")
"""Words that have a number after them."""
_BEGINNINGS = ("ich", "du", "er", "sie", "es", "wir", "ihr", "der", "die", "das", "ein", "eine")
"""Words in lower case that begin a sentence where someone writes no capitals."""
_COUNTED = re.compile(
    r"(?<![\w.,])(?P<number>\d{1,3})[ \u00a0](?P<noun>siècle|étage|chapitre|anniversaire|arrondissement|édition)(?!\w)"
    r"|(?<!\w)siècle (?:d[eu] )?(?P<later>\d{1,2})(?: heures)?(?!\w|[.,:]\d)"
)
"""French nouns in the singular with a number that should be an ordinal."""
_ON_THE = re.compile(r"(?<!\w)(?:on|by|until|till|since|from|before|after) the $", re.IGNORECASE)
"""What precedes a day of a month: the name after it is another part of the sentence."""
_WITHOUT_STOP = re.compile(
    rf"(?<!\w)(?P<before>{_BEFORE_NOUNS.pattern}) (?P<number>\d{{1,3}})(?= (?!Uhr\b)(?P<after>[{LETTERS}]{{2}}))",
    re.IGNORECASE,
)
_CARDINAL = re.compile(r"(?<![\w.,])\d{1,3}(?!\w|[.,]\d)")


class _Ordinal(NamedTuple):
    """An ordinal of a German source."""

    number: str
    is_day: bool
    """Whether it is a day of a month, which is no ordinal in French."""


def keeps_ordinals(source: str, output: str, languages: tuple[str, str]) -> bool:
    """Whether ordinals or decades of the source are as they are, outside of names, in text of another language."""
    return output != with_ordinals(source, output, languages)


def with_ordinals(source: str, output: str, languages: tuple[str, str]) -> str:
    """A text with the ordinals of its source as its language writes them, among English, German and French: "the 21st",
    "der 21.", "le 21" of a month, "le 21e"; and with English decades: "die 80er", "les années 80"."""
    first, second = map(normal_code, languages)
    if first == second or not {first, second} <= _FORMS.keys():
        return output
    if first == "fr":
        output = _without_roman(source, output, second)
    if not has_digits(source):
        return output
    if first == "de":
        return _from_german(source, output, second)
    if first == "en":
        output = _with_decades(source, output, second)
    pattern = _ENGLISH if first == "en" else _FRENCH
    ordinals = {match[1]: match["number"] for match in pattern.finditer(source)}
    if not ordinals:
        return output
    named = {match[0] for match in pattern.finditer(source) if match["after"]}
    days = {match[0] for match in pattern.finditer(source) if first == "en" and _is_day(match, source)}
    if first == "fr":  # "place" may be a word that was not translated
        named = {each for each in named if each.split()[1][0].isupper()}

    def written(match: re.Match[str]) -> str:
        number, after = match["number"], match["after"]
        is_day = bool(months_of(after, second)) or not after or match[0] in days
        is_kept = match[0] in named or (match[1] == "2nd" and second == "fr")  # a name; second, in French as well
        if match[1] not in ordinals or (is_kept and not is_day):
            return match[0]
        if second == "de" and not after and output.startswith(".", match.end()):
            return number
        return _FORMS[second](number, is_day) + after

    output, numbers = pattern.sub(written, output), {*ordinals.values()}
    if second == "de":
        return _with_stops(output, numbers.difference(_CARDINAL.findall(source)))
    return _counted(output, numbers) if second == "fr" else _with_endings(output, numbers)


def _without_roman(source: str, output: str, language: str) -> str:
    """A text in English or German with the French ordinals in Roman numerals of its source in digits: "XXIe"."""
    kept = {*_ROMAN.findall(source)} if any(map(source.__contains__, _ENDS_OF_ROMAN)) else set[str]()

    def written(match: re.Match[str]) -> str:
        value = str(max(word_values(match[1], "fr"), default=0))
        return _FORMS[language](value, False) if match[1] in kept and value != "0" else match[0]

    return _ROMAN.sub(written, output) if kept else output


def _with_endings(output: str, numbers: Collection[str]) -> str:
    """An English text with the right endings of these ordinals: "the 3th"."""
    return _ENGLISH.sub(
        lambda match: _english(match["number"]) + match["after"] if match["number"] in numbers else match[0], output
    )


def _is_day(match: re.Match[str], source: str) -> bool:
    """Whether an English ordinal before a name is a day of a month."""
    is_name = match["after"][1:2].isupper()
    return is_name and _ON_THE.search(source, max(0, match.start() - 12), match.start()) is not None


def _with_stops(output: str, numbers: Collection[str]) -> str:
    """A German text with the full stops of ordinals before nouns: "im 10 Stock"."""

    def written(match: re.Match[str]) -> str:
        is_ordinal = match["number"] in numbers and match["after"][0].isupper()
        return f"{match['before']} {match['number']}{'.' * is_ordinal}"

    return _WITHOUT_STOP.sub(written, output) if numbers else output


def _from_german(source: str, output: str, language: str) -> str:
    """A text in English or French without the full stops of German ordinals."""
    ordinals = {each.number: each for each in _german(source)}

    def written(match: re.Match[str]) -> str:
        found = ordinals.get(match["number"])
        return match[0] if found is None else _FORMS[language](found.number, found.is_day)

    output = _WITH_STOP.sub(written, output) if ordinals else output
    return _counted(output, {*ordinals}) if language == "fr" else _with_endings(output, {*ordinals})


def _german(source: str) -> Iterator[_Ordinal]:
    """The ordinals of a German text; none that could be a number at the end of a sentence, or of a list."""
    found, others = list[_Ordinal](), set[str]()
    for match in _GERMAN.finditer(source):
        before, after = (match["before"] or "").casefold(), match["after"] or ""
        is_sure = before not in ("", *_NUMBERED) and not months_of(after, "de")
        if after[:1].isupper():
            is_sure &= _BEFORE_NOUNS.fullmatch(before) is not None
        else:
            is_sure &= after not in _BEGINNINGS
        if is_sure:
            found.append(_Ordinal(match["number"], before in _BEFORE_DAYS and not after[:1].isupper()))
        else:
            others.add(match["number"])
    yield from (each for each in found if each.number not in others)


def _counted(output: str, numbers: set[str]) -> str:
    """A French text with the endings of ordinals before nouns: "le 20 siècle", "le siècle 21"."""
    if not numbers or not _COUNTED.search(output):
        return output

    def written(match: re.Match[str]) -> str:
        number = match["number"] or match["later"]
        return f"{_french(number)} {match['noun'] or 'siècle'}" if number in numbers else match[0]

    return _COUNTED.sub(written, output)


def _with_decades(source: str, output: str, language: str) -> str:
    """A text in German or French with the English decades of its source as these languages write them."""
    decades = {match["decade"] for match in _DECADE.finditer(source)}

    def written(match: re.Match[str]) -> str:
        the, years = match["the"] or "", match["decade"]
        if years not in decades:
            return match[0]
        return the + (f"années {years}" if language == "fr" else years + ("ern" if the else "er"))

    return _DECADE.sub(written, output) if decades else output


def _english(number: str, _: bool = False) -> str:
    """21st, also of a month."""
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
    return number + ("th" if number[-2:-1] == "1" else ending)


def _french(number: str, is_day: bool = False) -> str:
    """21e, but 21 of a month."""
    return number + ("er" if number == "1" else "" if is_day else "e")


_FORMS: dict[str, Callable[[str, bool], str]] = {
    "en": _english,
    "de": lambda number, _: f"{number}.",
    "fr": _french,
}
"""How each language writes an ordinal, or a day of a month."""
