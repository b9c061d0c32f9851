"""What `/api/v1/translate` answers, for the OpenAPI document and for those who read it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Word(_Object):
    """A word of a translation, as the model gave it."""

    text: str
    confidence: float


class Hypothesis(_Object):
    """A translation of a sentence."""

    text: str
    score: float | None = Field(description="What hypotheses are ranked by; sampled ones are not normalized.")
    tokens: list[str] = Field(description="As the model gave them, before a guard changed the text.")
    log_probability: float | None = Field(description="The sum over the tokens and the end, natural logarithm.")
    source: str
    finished: bool = Field(description="Whether the model ended it by itself, before the length limit.")
    confidence: float | None = Field(description="Null where the model has not learned to estimate it.")
    warnings: list[str] = Field(description="What the guards found, see docs/translation.md.")
    source_lang: str
    target_lang: str
    source_lang_confidence: float | None
    words: list[Word] = Field(description="Empty where their confidence is not known.")


class Other(Hypothesis):
    """One of the alternatives, which has none itself."""

    alternatives: list[object] = Field(max_length=0)


class Sentence(Hypothesis):
    """The best translation of a sentence, or of a segment between tags."""

    alternatives: list[Other] = Field(description="The others of the n-best list, best first.")
    moved: list[str] = Field([], description="Of text with tags or terms: what was placed by attention.")
    failed: list[str] = Field([], description="Of text with tags or terms: what has no place of its own.")
    unused: list[str] = Field([], description="Terms that the translation does not have.")


class Detected(_Object):
    """A source language, and how likely it is."""

    language: str
    probability: float


class Translation(_Object):
    """A text."""

    text: str
    model: str
    source_lang: str
    target_lang: str
    confidence: float | None = Field(description="The mean of the sentences, weighted by their tokens.")
    warnings: list[str] = Field(description="Those of the sentences, each once.")
    detected: list[Detected] = Field(description="The likeliest first; empty where the request names the language.")
    sentences: list[Sentence]


class Translated(_Object):
    """The answer; with `stream` the data of the event `done`."""

    format: Literal[1]
    translations: list[Translation] = Field(description="One for each text, in their order.")
