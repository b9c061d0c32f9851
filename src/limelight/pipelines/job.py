"""Jobs: the translation of a text as a sequence of requests to an engine.

`Translator.translate` and the scheduler of the server use a job in the same way:

    while job.requests:
        job.receive([hypotheses of each request, in their order])
    job.translation

A job wraps a generator that yields requests, is sent their hypotheses, and returns the translation. So a sentence is
searched again with other settings without any support by the engine or the scheduler.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar, cast

from limelight.config import UNNAMED, DecodingConfig, Direction, find_direction, fitting_directions
from limelight.decoding.constraints import Constraints
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchOptions, SearchSettings, search_settings
from limelight.errors import UserError
from limelight.pipelines.confidence import estimated
from limelight.pipelines.phrases import NO_PHRASES, WIDTH, Phrases, constrained
from limelight.pipelines.translation import Translation, joined, token_weights
from limelight.storage.tables import Confidence
from limelight.text.detection import LanguageDetector
from limelight.text.foreign import foreign_language
from limelight.text.languages import normal_code
from limelight.text.marks import has_marks
from limelight.text.number_notation import localized_numbers
from limelight.text.numbers import has_digits
from limelight.text.protect import Protected, protect_within, restore
from limelight.text.protectors import Protector, numbers, spans_by
from limelight.text.sentences import Sentences, split_sentences
from limelight.tokens import Tokenizers
from limelight.tokens.marked import decode_marked

SURE = 0.98
"""Minimum probability with which a detected language is said to be another than the source language."""
SOURCE_LANGUAGE = "source language"
"""The warning for a text in another language, before its code: `source language: es`."""
IN_TARGET_LANGUAGE = "already in target language"
"""The warning for a text that comes back unchanged."""

Result = TypeVar("Result")
Found = list[Hypothesis]
"""The hypotheses of one request, best first."""

Steps = Generator[list[Request], Sequence[Found], Result]
"""Yields requests, is sent the hypotheses of each, and returns a result."""


class Job:
    """The translation of one text. `requests` are pending; when there are none, `translation` is set."""

    def __init__(self, steps: Steps[Translation]) -> None:
        self._steps = steps
        self.requests: list[Request] = []
        self.translation: Translation | None = None
        self._advance(None)

    def receive(self, found: Sequence[Found]) -> None:
        """Receive the hypotheses of each of `requests`, in order; then there are new requests, or the translation."""
        if len(found) != len(self.requests):
            raise ValueError(f"{len(found)} answers to {len(self.requests)} requests")
        if self.requests:  # else it is already done
            self._advance(found)

    def _advance(self, found: Sequence[Found] | None) -> None:
        try:
            self.requests = next(self._steps) if found is None else self._steps.send(found)
        except StopIteration as end:
            self.requests, self.translation = [], end.value


def asked_once(request: Request) -> Steps[Found]:
    """The hypotheses of a request, from one search."""
    [found] = yield [request]
    return found


def nothing_unheld(_text: str) -> Sequence[tuple[int, int]]:
    """For a vocabulary that holds all characters."""
    return ()


def side_by_side(several: Sequence[Steps[Result]]) -> Steps[list[Result]]:
    """Combine several generators into one, which yields all their pending requests together."""
    results: list[Result | None] = [None] * len(several)
    waiting: dict[int, list[Request]] = {}

    def advance(place: int, found: Sequence[Found] | None) -> None:
        waiting.pop(place, None)
        try:
            waiting[place] = next(several[place]) if found is None else several[place].send(found)
        except StopIteration as end:
            results[place] = end.value

    for place in range(len(several)):
        advance(place, None)
    while waiting:
        asked = dict(sorted(waiting.items()))
        answers = iter((yield [request for requests in asked.values() for request in requests]))
        for place, requests in asked.items():
            advance(place, [next(answers) for _ in requests])
    return [result for result in results if result is not None]


class TextOptions(SearchOptions, total=False):
    """Options of a translation in addition to the search options.

    lines: each text is one sentence; else a text is split into sentences, and the line breaks and spaces between them
        are kept. A text with a `prefix` is always one sentence.
    guards: check each translation for faults, and search again if it has any: `pipelines/guards.py`. Default: True.
        Without them `warnings` are empty.
    marked: texts are marked (`text/marks.py`): their placeholders are encoded as reserved tokens, and decoded in the
        translations.
    must_include: phrases that each translation has to contain literally; `"lamp|lamps"` is a phrase with two forms, of
        which one has to occur. A text is one sentence then.
    must_not_include: phrases that a translation must not contain.
    detected: nobody has named `source_lang`. As without `source_lang`, a text that is clearly in the target language
        comes back unchanged, and one that is clearly in another language has a warning. Not without `guards`.
    """

    lines: bool
    guards: bool
    marked: bool
    must_include: Sequence[str] | None
    must_not_include: Sequence[str] | None
    detected: bool


@dataclass(frozen=True, slots=True)
class TextSettings:
    """`TextOptions` with all defaults."""

    search: SearchSettings
    lines: bool = False
    guards: bool = True
    marked: bool = False
    detected: bool = False
    phrases: Phrases = NO_PHRASES


FLAGS = {"lines": False, "guards": True, "marked": False, "detected": False}
"""The boolean options and their defaults."""


class Part(NamedTuple):
    """A sentence of a text."""

    text: str
    direction: Direction | None
    prefix: str
    place: tuple[int, ...]
    """The number of the text, and, except for its first sentence, the number of the sentence in it."""


def text_settings(config: DecodingConfig, options: TextOptions) -> TextSettings:
    """The settings of a call. Raises `UserError` as `search_settings` does."""
    own = TextOptions.__annotations__.keys() - SearchOptions.__annotations__.keys()
    asked = {name: value for name, value in options.items() if name not in own}
    search, phrases = search_settings(config, cast(SearchOptions, asked)), NO_PHRASES
    include, exclude = options.get("must_include"), options.get("must_not_include")
    if include or exclude:
        phrases = Phrases.of(include, exclude)
    if include and options.get("beam_size") is None and search.sampling is None:
        search = replace(search, beam_size=max(WIDTH, search.beam_size))
    given = {name: bool(options.get(name, default)) for name, default in FLAGS.items()}
    return TextSettings(search, phrases=phrases, **given)


def sentences_of(text: str, direction: Direction | None, *, whole: bool) -> Sentences:
    """The sentences of a text; with `whole`, the text itself."""
    return Sentences((text,), ("", "")) if whole else split_sentences(text, names_of(direction)[0] or "en")


def parts_of(sentences: Sentences, direction: Direction | None, prefix: str, number: int) -> list[Part]:
    """The sentences of the text with this number."""
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
    """The steps of a text, from those of each of its sentences; the translation of a text without sentences is empty.

    The alternative of a rank consists of the alternatives of this rank of each sentence, or of its last one. Sentences
    have the same weights in all of them, so that the list is in the order of scores.
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
    return joined(text, sentences.join([each.text for each in chosen]), chosen, token_weights(found))


def names_of(direction: Direction | None) -> tuple[str, str]:
    """The languages of a direction; empty if they have no names."""
    source, target = direction or ("", "")
    return ("" if source == UNNAMED["source"] else source), ("" if target == UNNAMED["target"] else target)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sentence with its request."""

    text: str
    request: Request | None
    """The request to an engine; None for a blank text."""
    direction: Direction | None = None
    """None for a model of one direction whose languages have no names."""
    marked: bool = False
    """Whether the text and its translation are marked: their placeholders are reserved tokens."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A `Prepared` with a request, and functions of its translator, for the guards."""

    prepared: Prepared
    request: Request
    remade: Callable[[Prepared, str, bool], Prepared]
    """Makes the request for another text, which may be marked."""
    read: Callable[[Prepared, Sequence[Hypothesis]], Translation]
    unknown_share: float
    """The share of its letters that are not in the vocabulary."""
    knows_placeholders: bool
    """Whether the model was trained with placeholders."""
    recase: Callable[[str], str]
    """Converts text in capitals or title case to sentence case."""
    uncovered: Callable[[Translation], float]
    """The share of source words to which a translation does not attend; 0 if unknown."""
    ask: Callable[[Request], Steps[Found]] = asked_once
    """Returns the hypotheses of a request, from one search or several."""
    unheld: Callable[[str], Sequence[tuple[int, int]]] = nothing_unheld
    """Finds the parts of a text that the vocabulary does not hold (`text/kept_signs.py`)."""

    @property
    def text(self) -> str:
        """The source."""
        return self.prepared.text

    @property
    def settings(self) -> SearchSettings:
        """The settings of its request."""
        return self.request.settings

    @property
    def is_free(self) -> bool:
        """Whether the request has neither a forced prefix nor phrases."""
        return not self.request.prefix and not self.request.constraints.include

    def search(
        self,
        text: str | None = None,
        *,
        settings: SearchSettings | None = None,
        protectors: Sequence[Protector] = (),
    ) -> Steps[list[Translation]]:
        """Its translations, best first; of another `text` or with other `settings` if given.

        If the model knows placeholders, numbers with separators, what the vocabulary does not hold, and what
        `protectors` find, are placeholders in the model's input; with phrases to include, all numbers are, so that no
        phrase can divide one. If nothing else is left to translate, there is no search.
        """
        text, asked, protected = self.text if text is None else text, self.prepared, None
        if self.knows_placeholders and not self.request.prefix and (protectors or self._has_fixed(text)):
            protected = self._protected(text, protectors)
        if protected is not None and not protected.has_words and self.is_free:
            nothing = self.read(replace(asked, request=None), ())
            return [replace(nothing, source=self.text, text=restore(protected.text, protected).text)]
        if protected is not None:
            asked = self.remade(asked, protected.text, True)
        elif text != self.text:
            asked = self.remade(asked, text, False)
        if asked.request is None:
            return []
        request = asked.request if settings is None else replace(asked.request, settings=settings)
        found = self.read(asked, (yield from self.ask(request)))
        several = (replace(each, source=self.text, alternatives=()) for each in (found, *found.alternatives))
        if protected is None:
            return list(several)
        return [_with_spans(each, protected) for each in several]

    def _has_fixed(self, text: str) -> bool:
        """Whether a text has parts that are always placeholders."""
        return has_digits(text) or bool(self.unheld(text))

    def _protected(self, text: str, protectors: Sequence[Protector]) -> Protected | None:
        """A text with placeholders for numbers with separators, in the notation of the target language, and for what
        `protectors` find. None if there are none, or more than there are placeholders."""
        source, target = names_of(self.prepared.direction)
        if not self.prepared.marked and has_marks(text):
            return None
        try:
            every = bool(self.request.constraints.include)
            protected = protect_within(text, [*protectors, numbers(source, every=every), spans_by(self.unheld)])
        except ValueError:
            return None
        if protected.text == text:
            return None
        written = localized_numbers(text, source, target)
        spans = (span._replace(text=written.get(span.text, span.text)) for span in protected.spans)
        return protected._replace(spans=tuple(spans))


def _with_spans(translation: Translation, protected: Protected) -> Translation:
    """A translation with its spans in place of the placeholders."""
    words = (replace(each, text=restore(each.text, protected).text) for each in translation.words)
    return replace(translation, text=restore(translation.text, protected).text, words=tuple(words))


def finish_sentence(
    prepared: Prepared, hypotheses: Sequence[Hypothesis], tokenizers: Tokenizers, confidence: Confidence | None
) -> Translation:
    """The translation of a sentence from its hypotheses: the best one, with the others as alternatives. The translation
    of a blank text, which has no hypotheses, is empty."""
    source_lang, target_lang = names_of(prepared.direction)
    empty = Translation(
        "", 0.0, (), 0.0, prepared.text, finished=True, source_lang=source_lang, target_lang=target_lang
    )
    if not hypotheses:
        return empty
    target = tokenizers.target
    decode_ids = partial(decode_marked, target) if prepared.marked else target.decode
    found = []
    for hypothesis in hypotheses:
        each = replace(
            empty,
            text=_one_line(decode_ids(hypothesis.ids)),
            score=hypothesis.score,
            tokens=tuple(target.pieces(hypothesis.ids)),
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
        )
        if confidence is not None:
            of_sentence, words = estimated(confidence, str(prepared.direction or ""), target, each, hypothesis)
            each = replace(each, confidence=of_sentence, words=words)
        found.append(each)
    return replace(found[0], alternatives=tuple(found[1:]))


def _one_line(text: str) -> str:
    """The text without line ends: each input line gives one output line."""
    return text.replace("\r", " ").replace("\n", " ")


class Chosen(NamedTuple):
    """The direction of a text."""

    direction: Direction | None
    """None for a model of one direction whose languages have no names."""
    confidence: float | None = None
    """The probability of its source language among those of the detector; None if it was not detected."""


def choose_direction(
    directions: Sequence[Direction], detector: LanguageDetector | None, text: str, source: str = "", target: str = ""
) -> Chosen:
    """The requested direction. If several directions fit and no source language is given, it is detected.

    Raises `UserError`, as `find_direction` does, if none fits, or several with this source language.
    """
    fitting = fitting_directions(directions, source, target)
    sources = {direction.source for direction in fitting}
    if source or detector is None or len(sources) < 2 or not sources <= set(detector.languages):
        return Chosen(find_direction(directions, source, target))
    probabilities = detector.probabilities(text)
    language = max(sorted(sources), key=lambda each: probabilities[each])
    return Chosen(find_direction(directions, language, target), probabilities[language])


def other_language(
    directions: Sequence[Direction], detector: LanguageDetector | None, text: str, direction: Direction | None
) -> str:
    """The code of the language that a text is in, if that is clear and not the source language of `direction`, which
    nobody has named; else an empty string."""
    source, _ = names_of(direction)
    if not source:
        return ""
    told = {source} if detector is None else {*detector.languages, *(each.source for each in directions)}
    if found := foreign_language(text, told):
        return found
    if detector is None or source not in detector.languages or len(text.split()) < 2:
        return ""
    language, probability = detector.detect(text)
    return language if language != source and probability >= SURE else ""


def in_language(text: str, steps: Steps[Translation], language: str, direction: Direction | None) -> Steps[Translation]:
    """The steps of a text in another `language` than the source language, if there is one: a text that is in the target
    language already comes back unchanged, others get a warning."""
    _, target_lang = names_of(direction)
    if language and normal_code(language) == normal_code(target_lang):
        return Translation(
            text, 0.0, (), 0.0, text, finished=True, warnings=(IN_TARGET_LANGUAGE,), source_lang=target_lang,
            target_lang=target_lang,
        )  # fmt: skip
    found = yield from steps
    return replace(found, warnings=(f"{SOURCE_LANGUAGE}: {language}", *found.warnings)) if language else found


def with_constraints(prepared: Prepared, constraints: Constraints) -> Prepared:
    """The sentence with constraints in its request."""
    if prepared.request is None or not any(constraints):
        return prepared
    return replace(prepared, request=constrained(prepared.request, constraints))


def check_batch_tokens(batch_tokens: int) -> None:
    """Raise `UserError` for a batch size below 1."""
    if batch_tokens < 1:
        raise UserError(f"batch_tokens must be at least 1, not {batch_tokens}")


def one_for_each(prefix: Sequence[str] | None, texts: Sequence[str]) -> Sequence[str]:
    """The prefixes of texts. Raises `UserError` for a different number of prefixes."""
    if prefix is None:
        return [""] * len(texts)
    if len(prefix) != len(texts):
        raise UserError(f"{len(prefix)} prefixes for {len(texts)} texts: give one for each, '' forces nothing")
    return prefix
