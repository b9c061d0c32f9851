"""What a person is shown of their text before anything is made of it: a pair with its languages, what is strange."""

from collections.abc import Callable
from pathlib import Path

from limelight.config import RunConfig, known_languages
from limelight.preparation.pairs import cleaned, silently
from limelight.storage.layout import CONFIG
from limelight.text.clean import CleanReport
from limelight.text.doubts import doubts

_SHOWN = 70
"""Characters of each side."""


def first_look(config: RunConfig, run: Path, say: Callable[[str], None]) -> None:
    """Say the first pair that is kept of each corpus, and what is strange about training and validation text.

    A resumed run has reported it before. Raises `UserError` for a file that cannot be read at all.
    """
    if (run / CONFIG).exists():
        return
    for corpus in config.data.train:
        first = next(cleaned(config.data, [corpus], CleanReport(), silently), None)
        if first is not None:
            say(f"{first.place}: {corpus.source}: {_short(first.source)} -> {corpus.target}: {_short(first.target)}")
    for corpus in (*config.data.train, *config.data.valid):
        for line in doubts(corpus.files, *known_languages(corpus)):
            say(f"warning: {line}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
