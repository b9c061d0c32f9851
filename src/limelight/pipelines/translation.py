"""The result of a translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from limelight.formats.translation_memory import MemoryMatch

LOW_CONFIDENCE = 0.2
"""Confidence below which reports call a translation unsure."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of a text. A blank text has an empty translation, with a score of 0 and no tokens.

    For a text with several sentences, `tokens` are the tokens of all sentences, `log_probability` is the sum, and
    `score` and `confidence` are means, weighted by the tokens of each sentence (of its best translation, in an n-best
    list).
    """

    text: str
    """The translated sentences, with the white space and the line breaks of the source between them. Line ends within a
    sentence, which byte tokens may produce, are replaced by spaces."""
    score: float = 0.0
    """The score of the ranking: `log_probability / length_penalty(tokens)`; not normalized for samples.
    """
    tokens: tuple[str, ...] = ()
    """The target tokens of the model, without the end, before any repair of the text."""
    log_probability: float = 0.0
    """Log-probability of these tokens and the end, natural logarithm."""
    source: str = ""
    finished: bool = True
    """Whether the model produced the end within the length limit."""
    alternatives: tuple["Translation", ...] = ()
    """The other translations if `n_best` is above 1, best first."""
    confidence: float | None = None
    """The estimated probability that the chrF of a sentence is at least 60; None for models without fitted confidence,
    and for a blank text."""
    warnings: tuple[str, ...] = ()
    """The findings of the guards, each name once: see `pipelines/guards.py`."""
    source_lang: str = ""
    """Empty if the languages of the model have no names."""
    target_lang: str = ""
    path: tuple[str, ...] = ()
    """The languages of a translation through another one, such as `("de", "en", "fr")`; empty for a direct one. Score
    and tokens are then of the second step; `confidence` is the smaller one of both steps."""
    source_lang_confidence: float | None = None
    """The probability that the text is in the detected source language; None if that was given."""
    moved: tuple[str, ...] = ()
    """Protected spans of the model's input that it lost or misplaced, and that were placed by attention weights."""
    failed: tuple[str, ...] = ()
    """Protected spans whose place is unknown (they were appended) or wrong: a pair of tags that is not nested, `%s` in
    another order."""
    unused: tuple[str, ...] = ()
    """Target terms of the glossary that the translation does not use."""
    matches: tuple[MemoryMatch, ...] = ()
    """Segments of the translation memory that were reused, for the text or for its sentences."""


Write = Callable[[Sequence[str]], tuple[str, Sequence[str]]]
"""Makes a text of the translations of its parts; also returns the spans that are not whole in it."""


def joined(source: str, parts: Sequence[Sequence[Translation]], write: Write) -> Translation:
    """The translation of a text from the translations of its parts (sentences, or the units between tags), for each
    part best first. Without parts the translation has no tokens.

    The alternative of a rank consists of the alternatives of this rank of each part, or of its last one. Parts have the
    same weights in all of them, so that the list is in the order of scores.
    """
    if not parts:
        return Translation(write([])[0], source=source)
    weights, ranks = [len(translations[0].tokens) + 1 for translations in parts], list[Translation]()
    for rank in range(max(map(len, parts))):
        chosen = [translations[: rank + 1][-1] for translations in parts]
        text, failed = write([translations.text for translations in chosen])
        together = replace(chosen[0] if len(chosen) == 1 else _together(chosen, weights), source=source, text=text)
        failed = (*together.failed, *failed)
        terms = (f"term not used: {term}" for term in together.unused)
        warnings = (*together.warnings, *["span misplaced"] * bool(failed), *terms)
        ranks.append(replace(together, failed=failed, warnings=tuple(dict.fromkeys(warnings)), alternatives=()))
    return replace(ranks[0], alternatives=tuple(ranks[1:]))


def _together(parts: Sequence[Translation], weights: Sequence[int]) -> Translation:
    """The translation of a text of several parts, but for its text: tuples are concatenated, numbers are means."""
    known = [
        (part.confidence, weight) for part, weight in zip(parts, weights, strict=True) if part.confidence is not None
    ]
    in_a_row: dict[str, Any] = {
        name: tuple(item for part in parts for item in getattr(part, name))
        for name in ("tokens", "warnings", "moved", "failed", "unused")
    }
    return replace(
        parts[0],
        score=sum(part.score * weight for part, weight in zip(parts, weights, strict=True)) / sum(weights),
        log_probability=sum(part.log_probability for part in parts),
        finished=all(part.finished for part in parts),
        confidence=sum(sure * weight for sure, weight in known) / sum(weight for _, weight in known) if known else None,
        path=max((part.path for part in parts), key=len),  # a part that was reused has none
        matches=tuple(dict.fromkeys(match for part in parts for match in part.matches)),
        **in_a_row,
    )
