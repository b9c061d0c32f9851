"""Held-out pairs with what few texts have: dates with the name of a month, amounts, placeholders, addresses.

In pairs of sentences, "tomorrow" and "morgen" become the same date, "three days" and "drei Tage" the same amount of
another unit, "Tom" and "Mary" placeholders such as `{name}`, or addresses. The references stay references.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator

from limelight.config import Direction
from limelight.text.number_notation import WrittenDate, written_date

DAYS = {
    "en": re.compile(r"\b[Tt]omorrow\b|\b[Yy]esterday\b"),
    "de": re.compile(r"\bmorgen\b|^Morgen\b|\b[Gg]estern\b"),
    "fr": re.compile(r"\b[Dd]emain\b|\b[Hh]ier\b"),
}
"""Words for a day."""
COUNTS = {
    "en": "two|three|four|five|six|seven|eight|nine|ten|twelve",
    "de": "zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf",
    "fr": "deux|trois|quatre|cinq|six|sept|huit|neuf|dix|douze",
}
UNITS = {
    "en": ("minutes", "hours", "days", "weeks", "months", "dollars", "kilometers", "pounds", "euros", "liters"),
    "de": ("Minuten", "Stunden", "Tagen?", "Wochen", "Monaten?", "Dollar", "Kilometern?", "Pfund", "Euro", "Liter"),
    "fr": ("minutes", "heures", "jours", "semaines", "mois", "dollars", "kilomètres", "livres", "euros", "litres"),
}
NEW_UNITS = {
    "en": ("minutes", "hours", "weeks", "kilograms", "liters", "kilometers", "dollars", "euros", "million euros"),
    "de": ("Minuten", "Stunden", "Wochen", "Kilogramm", "Liter", "Kilometer", "Dollar", "Euro", "Millionen Euro"),
    "fr": ("minutes", "heures", "semaines", "kilogrammes", "litres", "kilomètres", "dollars", "euros",
           "millions d'euros"),
}  # fmt: skip
AMOUNTS = {each: re.compile(rf"\b(?:\d+|{COUNTS[each]}) (?:{'|'.join(UNITS[each])})\b") for each in UNITS}
ON = {"en": "on ", "de": "am ", "fr": "le "}
NAMES = re.compile(r"\b(?:Tom|Mary|John|Maria|Boston|Ken|Bill|Jane|Jim|Tokyo|Australia)\b")
ADDRESSES = ("tom@example.org", "www.boston.org/help", "https://example.org/a/b?c=d", "info@mary-smith.de")
VARIABLES = ("name", "other", "place", "value")


def with_dates(pairs: Iterable[tuple[str, str]], direction: Direction) -> Iterator[tuple[str, str]]:
    """The pairs with one word for a day on each side, which becomes a date; each source once."""
    draw = random.Random("-".join(direction))
    for pair in dict(pairs).items():
        date = WrittenDate(0, 0, draw.randint(1, 28), draw.randint(1, 12), draw.randint(1950, 2040))
        (source, one), (target, other) = (_dated(*each, date) for each in zip(pair, direction, strict=True))
        if one == other == 1:
            yield source, target


def _dated(text: str, language: str, date: WrittenDate) -> tuple[str, int]:
    """The text with a date in place of its words for a day, and their number."""

    def written(word: re.Match[str]) -> str:
        on = ON[language]
        return (on if word[0].islower() else on.capitalize()) + written_date(date, language)

    return DAYS[language].subn(written, text)


def with_placeholders(pairs: Iterable[tuple[str, str]], _: Direction) -> Iterator[tuple[str, str]]:
    """The pairs with the same names on both sides, each once, which become placeholders; each source once."""
    for source, target in dict(pairs).items():
        names = NAMES.findall(source)
        if names and len({*names}) == len(names) <= len(VARIABLES) and sorted(names) == sorted(NAMES.findall(target)):
            marks = {name: f"{{{variable}}}" for name, variable in zip(names, VARIABLES, strict=False)}
            yield _marked(source, marks), _marked(target, marks)


def with_addresses(pairs: Iterable[tuple[str, str]], direction: Direction) -> Iterator[tuple[str, str]]:
    """The pairs with one name on both sides, which becomes an address; each source once."""
    draw = random.Random("-".join(direction))
    for source, target in with_placeholders(pairs, direction):
        if source.count("{") == 1:
            address = draw.choice(ADDRESSES)
            yield source.replace("{name}", address), target.replace("{name}", address)


def with_amounts(pairs: Iterable[tuple[str, str]], direction: Direction) -> Iterator[tuple[str, str]]:
    """The pairs with one amount on each side, which becomes one of each unit; each source once."""
    draw = random.Random("-".join(direction))
    for pair in dict(pairs).items():
        for unit in range(len(NEW_UNITS["en"])):
            count = draw.randint(13, 99)
            (source, one), (target, other) = (
                AMOUNTS[each].subn(f"{count} {NEW_UNITS[each][unit]}", text)
                for text, each in zip(pair, direction, strict=True)
            )
            if one == other == 1:
                yield source, target


def _marked(text: str, marks: dict[str, str]) -> str:
    return NAMES.sub(lambda name: marks[name[0]], text)


CASES: dict[str, Callable[[Iterable[tuple[str, str]], Direction], Iterator[tuple[str, str]]]] = {
    "dates": with_dates,
    "amounts": with_amounts,
    "placeholders": with_placeholders,
    "addresses": with_addresses,
}
"""Corpora by their names."""
