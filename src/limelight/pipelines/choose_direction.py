"""Between which languages a text is translated: what is asked for, and what the text is in where nothing is said."""

from collections.abc import Sequence
from typing import NamedTuple

from limelight.config import Direction, find_direction, fitting_directions
from limelight.text.detection import LanguageDetector


class Chosen(NamedTuple):
    """The direction of a text."""

    direction: Direction | None
    """None for a model of one direction whose languages have no names."""
    confidence: float | None = None
    """The probability of its source language among all that the detector knows; None where nothing was detected."""


def choose_direction(
    directions: Sequence[Direction], detector: LanguageDetector | None, text: str, source: str = "", target: str = ""
) -> Chosen:
    """The direction that is asked for. Where several fit that differ in their source language, and none is named, that
    of the text decides.

    Raises `UserError`, as `find_direction` does, where none fits, or more than one for this source language.
    """
    fitting = fitting_directions(directions, source, target)
    sources = {direction.source for direction in fitting}
    if source or detector is None or len(sources) < 2 or not sources <= set(detector.languages):
        return Chosen(find_direction(directions, source, target))
    probabilities = detector.probabilities(text)
    language = max(sorted(sources), key=lambda each: probabilities[each])
    return Chosen(find_direction(directions, language, target), probabilities[language])
