"""The result of a translation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from limelight.formats.translation_memory import MemoryMatch

LOW_CONFIDENCE = 0.2
"""Confidence below which reports call a translation unsure."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a translation, delimited by spaces."""

    text: str
    confidence: float
    """The estimated probability that a reference contains it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of a text. That of a blank text is empty, with a score of 0 and no tokens.

    For a text with several sentences, `tokens` are those of all sentences, `log_probability` is the sum, and `score`
    and `confidence` are means, weighted by the tokens of each sentence (of its best translation, in an n-best list).
    """

    text: str
    """The translated sentences, with the white space and the line breaks of the source between them. Line ends within a
    sentence, which byte tokens may produce, are replaced by spaces."""
    score: float
    """The score of the ranking: `log_probability / length_penalty(tokens)`; not normalized for samples.
    """
    tokens: tuple[str, ...]
    """The target tokens of the model, without the end, before any repair of the text."""
    log_probability: float
    """Log-probability of these tokens and the end, natural logarithm."""
    source: str
    finished: bool
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
    """The languages of a translation through another one, such as `("de", "en", "fr")`; empty for a direct one. Score,
    tokens and words are then of the second step; `confidence` is the smaller one of both steps."""
    source_lang_confidence: float | None = None
    """The probability that the text is in the detected source language; None if that was given."""
    words: tuple[Word, ...] = ()
    """The words of the model's output with their confidence; empty if that is unknown."""
    moved: tuple[str, ...] = ()
    """Protected spans of the model's input that it lost or misplaced, and that were placed by attention weights."""
    failed: tuple[str, ...] = ()
    """Protected spans whose place is unknown (they were appended) or wrong: a pair of tags that is not nested, `%s` in
    another order."""
    unused: tuple[str, ...] = ()
    """Target terms of the glossary that the translation does not use."""
    matches: tuple[MemoryMatch, ...] = ()
    """Segments of the translation memory, best first: those like the whole text, then those that are sentences of it.
    One with a similarity of 1 was reused for its text or sentence, which has no tokens then."""


def joined(
    source: str, text: str, sentences: Sequence[Translation], weights: Sequence[int], failed: Sequence[str] = ()
) -> Translation:
    """One translation from those of the sentences of `source`, joined as `text`, without alternatives. `weights` are
    those of the sentences in means; `failed` are further spans that are misplaced."""
    whole = replace(sentences[0], source=source, text=text)
    if len(sentences) > 1:
        known = [each for each in zip(sentences, weights, strict=True) if each[0].confidence is not None]
        whole = replace(
            whole,
            score=sum(each.score * weight for each, weight in zip(sentences, weights, strict=True)) / sum(weights),
            tokens=tuple(token for each in sentences for token in each.tokens),
            log_probability=sum(each.log_probability for each in sentences),
            finished=all(each.finished for each in sentences),
            confidence=sum((each.confidence or 0.0) * weight for each, weight in known)
            / sum(weight for _, weight in known)
            if known
            else None,
            warnings=tuple(name for each in sentences for name in each.warnings),
            words=tuple(word for each in sentences for word in each.words),
            moved=tuple(span for each in sentences for span in each.moved),
            failed=tuple(span for each in sentences for span in each.failed),
            unused=tuple(term for each in sentences for term in each.unused),
            matches=tuple(dict.fromkeys(match for each in sentences for match in each.matches)),
        )
    failed = (*whole.failed, *failed)
    warnings = (*whole.warnings, *["span misplaced"] * bool(failed), *["term not used"] * bool(whole.unused))
    return replace(whole, failed=failed, warnings=tuple(dict.fromkeys(warnings)))


def token_weights(sentences: Sequence[Translation]) -> list[int]:
    """The number of tokens of each translation, including the end."""
    return [len(each.tokens) + 1 for each in sentences]
