"""Held-out pairs with what few texts have: dates with the name of a month, and placeholders.

In pairs of sentences, "tomorrow" and "morgen" become the same date, "Tom" and "Mary" placeholders such as `{name}`. The
references stay references.
"""

import random
import re
from collections.abc import Iterable, Iterator

from limelight.config import Direction
from limelight.text.number_notation import WrittenDate, written_date

DAYS = {
    "en": re.compile(r"\b[Tt]omorrow\b|\b[Yy]esterday\b"),
    "de": re.compile(r"\bmorgen\b|^Morgen\b|\b[Gg]estern\b"),
    "fr": re.compile(r"\b[Dd]emain\b|\b[Hh]ier\b"),
}
"""Words for a day."""
ON = {"en": "on ", "de": "am ", "fr": "le "}
NAMES = re.compile(r"\b(?:Tom|Mary|John|Maria|Boston|Ken|Bill|Jane|Jim|Tokyo|Australia)\b")
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


def with_placeholders(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs with the same names on both sides, each once, which become placeholders; each source once."""
    for source, target in dict(pairs).items():
        names = NAMES.findall(source)
        if names and len({*names}) == len(names) <= len(VARIABLES) and sorted(names) == sorted(NAMES.findall(target)):
            marks = {name: f"{{{variable}}}" for name, variable in zip(names, VARIABLES, strict=False)}
            yield _marked(source, marks), _marked(target, marks)


def _marked(text: str, marks: dict[str, str]) -> str:
    return NAMES.sub(lambda name: marks[name[0]], text)
