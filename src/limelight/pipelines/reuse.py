"""Segments of a translation memory in place of a search."""

from __future__ import annotations

from limelight.config import Direction
from limelight.pipelines.codec import names_of
from limelight.pipelines.options import Options
from limelight.pipelines.repair_marks import Repaired
from limelight.pipelines.sentence import Found, Rank
from limelight.pipelines.translation import Translation
from limelight.text.plan import MarkedSentence
from limelight.text.translation_memory import MemoryMatch, SeveralMemories, TranslationMemory, fuzzy_match


def matches_of(options: Options, text: str, direction: Direction | None) -> tuple[MemoryMatch, ...]:
    """The segments like a text, best first; none for a search with phrases, which are asked of the model."""
    memory = _memory(options, direction)
    return tuple(memory.find(text)) if memory is not None and text.strip() else ()


def reused(source: str, match: MemoryMatch, direction: Direction | None) -> Translation:
    """The translation of a text by a segment with the same source, with the white space at the ends of the text."""
    begin, end = source[: len(source) - len(source.lstrip())], source[len(source.rstrip()) :]
    languages = names_of(direction)
    return Translation(
        text=f"{begin}{match.target.strip()}{end}",
        score=0.0,
        tokens=(),
        log_probability=0.0,
        source=source,
        finished=True,
        source_lang=languages[0],
        target_lang=languages[1],
        matches=(match,),
    )


def reused_sentence(options: Options, source: MarkedSentence, direction: Direction | None) -> Found | None:
    """The result for a sentence without spans that is a segment of the memory; None for others."""
    memory = _memory(options, direction)
    match = memory.exact(source.text) if memory is not None and not source.numbers else None
    if match is None:
        return None
    found = reused(source.text, match, direction)
    return Found(source, (Rank(Repaired(found.text, is_whole=True), found),))


def similar_target(options: Options, source: str, direction: Direction | None) -> str:
    """The translation of the most similar segment with another source; empty if there is none."""
    memory = _memory(options, direction)
    match = fuzzy_match(memory, source) if memory is not None else None
    return match.target if match else ""


def _memory(options: Options, direction: Direction | None) -> TranslationMemory | SeveralMemories | None:
    """The memory of a direction; None for a search with phrases."""
    if options.memory is None or any(options.phrases):
        return None
    return options.memory.of(*names_of(direction))
