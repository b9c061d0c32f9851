"""Which translations are left out of training text."""

from __future__ import annotations

from collections.abc import Sequence

from limelight.text.clean import differ_in_length
from limelight.text.scripts import split_words
from limelight.tokens import normalize

REASONS = {
    "blank": "the input is blank",
    "duplicate": "the input was seen before",
    "too_long": "the input is too long",
    "empty": "the translation is empty",
    "unfinished": "the translation has no end: it met its length limit",
    "loop": "the translation repeats the same words",
    "length_ratio": "the sides differ too much in length",
    "copy": "the translation is the input",
}
"""Why an input has no pair in the new corpus, in the order in which the reasons are tried."""

MAX_PERIOD = 10
"""Words of a phrase whose repetitions are found."""
MIN_REPEATS = 4
"""So often does a phrase stand in a row where a search has lost its way; a person writes "no, no, no"."""


def fault(source: str, translation: str, *, finished: bool, max_length_ratio: float) -> str:
    """The name of the first of `REASONS` that holds for a translation; empty for a good one."""
    if not translation:
        return "empty"
    if not finished:
        return "unfinished"
    if repeats_itself(translation, source):
        return "loop"
    if differ_in_length(source, translation, max_length_ratio):
        return "length_ratio"
    return "copy" if translation == normalize(source) else ""


def repeats_itself(translation: str, source: str) -> bool:
    """Whether a phrase of the translation stands in a row four times or more, and twice as often as any of the
    source."""
    words = _words(translation)
    if len(words) - len(set(words)) < MIN_REPEATS - 1:
        return False  # which is quickly seen, and true of most
    found = count_repeats(words)
    return found >= MIN_REPEATS and found >= 2 * count_repeats(_words(source))


def _words(text: str) -> list[str]:
    return split_words(text.casefold())


def count_repeats(words: Sequence[str]) -> int:
    """How often, at most, a phrase of up to `MAX_PERIOD` words stands in a row: 1 where nothing is repeated."""
    most = 1
    for period in range(1, min(MAX_PERIOD, len(words) // 2) + 1):
        same = 0
        for word, later in zip(words, words[period:], strict=False):
            same = same + 1 if word == later else 0
            most = max(most, same // period + 1)
    return most
