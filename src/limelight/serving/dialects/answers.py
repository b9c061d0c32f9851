"""The answers of our own API, for the OpenAPI document and for those who read it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from limelight.serving.call import Result, of_page

FORMAT = 1
Format = Literal[1]


class Word(Result):
    """A word of a translation, as the model gave it."""

    text: str
    confidence: float


class Match(Result):
    """A segment of a translation memory."""

    source: str
    target: str
    similarity: float
    origin: str = Field(description="The file and line of the segment.")


class Hypothesis(Result):
    """A translation of a sentence."""

    text: str
    score: float | None = Field(description="Score by which hypotheses are ranked; not normalized for samples.")
    tokens: list[str] = Field(description="As the model gave them, before a guard changed the text.")
    log_probability: float | None = Field(description="The sum over the tokens and the end, natural logarithm.")
    source: str
    finished: bool = Field(description="Whether the model ended it by itself, before the length limit.")
    confidence: float | None = Field(description="Null where the model has not learned to estimate it.")
    warnings: list[str] = Field(description="Warnings of the guards, see docs/translation.md.")
    source_lang: str
    target_lang: str
    path: list[str] = Field([], description="The languages of a translation through another one; empty if direct.")
    source_lang_confidence: float | None
    words: list[Word] = Field(description="Empty where their confidence is not known.")
    moved: list[str] = Field([], description="Tags and variables that were placed by attention.")
    failed: list[str] = Field([], description="Tags and variables that could not be placed.")
    unused: list[str] = Field([], description="Terms that the translation does not have.")
    matches: list[Match] = Field([], description="Segments of a translation memory that are like the source.")


class Other(Hypothesis):
    """One of the alternatives, which has none itself."""

    alternatives: list[object] = Field(max_length=0)


class Sentence(Hypothesis):
    """The best translation of a sentence, or of a segment between tags."""

    alternatives: list[Other] = Field(description="The others of the n-best list, best first.")


class Detected(Result):
    """A source language, and how likely it is."""

    language: str
    probability: float


class Translation(Result):
    """A text."""

    text: str
    model: str
    source_lang: str
    target_lang: str
    path: list[str] = Field([], description="The languages of a translation through another one; empty if direct.")
    confidence: float | None = Field(description="The mean of the sentences, weighted by their tokens.")
    warnings: list[str] = Field(description="Those of the sentences, each once.")
    detected: list[Detected] = Field(description="The likeliest first; empty where the request names the language.")
    sentences: list[Sentence]


class Translated(Result):
    """The answer; with `stream` the data of the event `done`."""

    format: Format
    translations: list[Translation] = Field(description="One for each text, in their order.")


class Problem(Result):
    """Why there is no answer."""

    code: str = Field(description="For programs.")
    message: str = Field(description="For people: the value, the bound and what to change.")


class Failure(Result):
    """An error; with `stream` the data of the event `error`."""

    format: Format
    error: Problem


class Way(Result):
    """A direction; languages without names are empty."""

    source: str
    target: str
    through: str = Field("", description="The language through which texts are translated; empty for a direct one.")


class Served(Result):
    """A model."""

    name: str
    ready: bool = Field(description="Whether all its engines are ready.")
    use: Literal["translate", "generate", "fill"]
    snapshots: int = Field(description="Number of snapshots of its run.")
    directions: list[Way]
    decoding: dict[str, Any] = Field(
        description="What a request has that names no search settings; empty while loading."
    )


class Bounds(Result):
    """What a request may have at most."""

    characters: int
    texts: int
    beam: int
    n_best: int


class Models(Result):
    """What is served."""

    format: Format
    models: list[Served]
    limits: Bounds


class Live(Result):
    """Whether the process answers."""

    format: Format
    live: bool


class Ready(Result):
    """Whether requests can be answered."""

    format: Format
    ready: bool
    models: dict[str, bool] = Field(description="Readiness of each model, by name.")


class _Explained(Result):
    format: Format
    model: str
    translation: Annotated[Any, of_page("translation")]


class Attention(Result):
    """The weights of a translation, and its tokens."""

    format: Format
    attention: Annotated[Any, of_page("document")] = Field(description="Without `steps` and `beam`.")


class Steps(_Explained):
    """The probability of every token of a translation."""

    steps: Annotated[Any, of_page("steps")]


class Beam(_Explained):
    """The search for a translation."""

    beam: Annotated[Any, of_page("beam")] | None = Field(description="Null where the translation was given.")


class Explained(Result):
    """The document of the page."""

    format: Format
    document: Annotated[Any, of_page("document")]


class Matrix(Result):
    """The weights of one head."""

    format: Format
    matrix: Annotated[Any, of_page("array")]


class LookUps(Result):
    """The numbers of one computation of attention."""

    format: Format
    look_up: Annotated[Any, of_page("look_up")]


class Measures(Result):
    """What weights do not say: erasure, contributions, and shares of source and prefix."""

    format: Format
    measures: Annotated[Any, of_page("measures")]


class Layers(Result):
    """What can be read from each layer."""

    format: Format
    layers: Annotated[Any, of_page("layers")]


class Patching(Result):
    """What returns of one sentence when its vectors are put into another."""

    format: Format
    patching: Annotated[Any, of_page("patching")]


class Snapshots(Result):
    """The snapshots of a run."""

    format: Format
    updates: list[int] = Field(description="After how many updates they were taken.")
    curve: list[dict[str, float]] = Field(description="The validations of the run, by `update`.")
