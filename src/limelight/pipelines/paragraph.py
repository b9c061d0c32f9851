"""A text as its sentences, and what they became as one text again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from limelight.config import UNNAMED, DecodingConfig, Direction
from limelight.decoding.settings import SearchOptions, SearchSettings, search_settings
from limelight.pipelines.job import Steps, side_by_side
from limelight.pipelines.translation import Translation, joined
from limelight.text.sentences import Sentences, split_sentences


class TextOptions(SearchOptions, total=False):
    """What a caller may ask beside the search.

    lines: each text is one sentence, translated as it stands; else a text is split into sentences, and the line breaks
        and the spaces between them are kept. A text with a `prefix` is one sentence, too.
    guards: look for what is wrong with each translation, and search again where something is: `pipelines/guards.py`.
        True when not given. Without them `warnings` are empty.
    marked: texts are marked (`text/marks.py`): their placeholders are ids, and stand in the translations, too.
    """

    lines: bool
    guards: bool
    marked: bool


@dataclass(frozen=True, slots=True)
class TextSettings:
    """`TextOptions`, all filled in."""

    search: SearchSettings
    lines: bool = False
    guards: bool = True
    marked: bool = False


class Part(NamedTuple):
    """A sentence of a text."""

    text: str
    direction: Direction | None
    prefix: str
    place: tuple[int, ...]
    """The number of the text, and from the second sentence on the number of the sentence in it."""


def text_settings(config: DecodingConfig, options: TextOptions) -> TextSettings:
    """The settings of a call. Raises `UserError` as `search_settings` does."""
    own = TextOptions.__annotations__.keys() - SearchOptions.__annotations__.keys()
    given = {name: bool(value) for name, value in options.items() if name in own}
    asked = {name: value for name, value in options.items() if name not in own}
    return TextSettings(search_settings(config, cast(SearchOptions, asked)), **given)


def sentences_of(text: str, direction: Direction | None, *, whole: bool) -> Sentences:
    """The sentences of a text; the text itself where it is to stay `whole`."""
    return Sentences((text,), ("", "")) if whole else split_sentences(text, names_of(direction)[0] or "en")


def parts_of(sentences: Sentences, direction: Direction | None, prefix: str, number: int) -> list[Part]:
    """The sentences of the text of this number."""
    return [
        Part(sentence, direction, prefix, (number, index) if index else (number,))
        for index, sentence in enumerate(sentences.texts)
    ]


def paragraph(
    text: str,
    sentences: Sentences,
    steps: Sequence[Steps[Translation]],
    *,
    source_lang_confidence: float | None = None,
) -> Steps[Translation]:
    """A text, of what is done for each of its sentences; a text without any becomes an empty one.

    The alternative of a rank is made of those of this rank of each sentence; of the last where there are not so many.
    """
    found = yield from side_by_side(steps)
    if not found:
        return Translation("", 0.0, (), 0.0, text, finished=True)
    if sentences.gaps == ("", ""):
        return replace(found[0], source=text, source_lang_confidence=source_lang_confidence)
    ranks = range(1 + max(len(each.alternatives) for each in found))
    best, *others = (_ranked(text, sentences, found, rank) for rank in ranks)
    return replace(best, alternatives=tuple(others), source_lang_confidence=source_lang_confidence)


def _ranked(text: str, sentences: Sentences, found: Sequence[Translation], rank: int) -> Translation:
    chosen = [(each, *each.alternatives)[: rank + 1][-1] for each in found]
    return joined(text, sentences.join([each.text for each in chosen]), chosen)


def names_of(direction: Direction | None) -> tuple[str, str]:
    """The languages of a direction, empty where they have no names."""
    source, target = direction or ("", "")
    return ("" if source == UNNAMED["source"] else source), ("" if target == UNNAMED["target"] else target)
