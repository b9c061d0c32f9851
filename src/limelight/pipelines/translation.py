"""What a text became: the record that every way to a translation returns."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a translation, as it stands between spaces."""

    text: str
    confidence: float
    """The estimated probability that a reference has it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What a text became. A blank text becomes an empty one, with a score of 0 and no tokens.

    Of a text of several sentences, `tokens` are those of all of them, `log_probability` is the sum, and `score` and
    `confidence` are means, weighted by the tokens of each sentence.
    """

    text: str
    """The sentences, with the white space and the line breaks of the source between them. A sentence is one line: an
    end of line, which a model that spells in bytes can spell, is a space."""
    score: float
    """What hypotheses were ranked by: `log_probability / length_penalty(tokens)`; sampled ones are not normalized."""
    tokens: tuple[str, ...]
    """Its target tokens, without the end, as the model gave them: before a guard changed the text."""
    log_probability: float
    """Natural logarithm of what the model gives these tokens and the end."""
    source: str
    finished: bool
    """Whether the model ended it by itself, before the length limit."""
    alternatives: tuple["Translation", ...] = ()
    """With `n_best` above 1 the others, best first."""
    confidence: float | None = None
    """The estimated probability that the chrF of a sentence is at least 60; None where the model has not learned to
    estimate it, and for a blank text."""
    warnings: tuple[str, ...] = ()
    """What the guards found, each name once: see `pipelines/guards.py`."""
    source_lang: str = ""
    """Empty where the languages of the model have no names."""
    target_lang: str = ""
    source_lang_confidence: float | None = None
    """Where the source language was detected, its probability among the languages of the model."""
    words: tuple[Word, ...] = ()
    """The words of the text, as the model gave them, with their confidence; empty where that is not known."""


def joined(source: str, text: str, sentences: Sequence[Translation]) -> Translation:
    """One translation of several sentences of `source`, put together as `text`. Alternatives are left out."""
    first = sentences[0]
    weights = [len(each.tokens) + 1 for each in sentences]
    total = sum(weights)
    known = [(each.confidence, len(each.tokens) + 1) for each in sentences if each.confidence is not None]
    return Translation(
        text=text,
        score=sum(each.score * weight for each, weight in zip(sentences, weights, strict=True)) / total,
        tokens=tuple(token for each in sentences for token in each.tokens),
        log_probability=sum(each.log_probability for each in sentences),
        source=source,
        finished=all(each.finished for each in sentences),
        confidence=sum(each * weight for each, weight in known) / sum(weight for _, weight in known) if known else None,
        warnings=tuple(dict.fromkeys(name for each in sentences for name in each.warnings)),
        source_lang=first.source_lang,
        target_lang=first.target_lang,
        words=tuple(word for each in sentences for word in each.words),
    )
