"""What the service does, whatever the dialect: from a request, through the engines of its models, to the answers."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple

from limelight.config import Direction
from limelight.config.directions import split_form
from limelight.serving.catalog import Catalog, Way
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits
from limelight.serving.links import cost_of
from limelight.serving.logs import Log, Metrics
from limelight.serving.origin import Origins
from limelight.serving.pool import Partial
from limelight.serving.refusal import Refusal, bad_request, beyond
from limelight.serving.stored import Glossaries, Memories
from limelight.serving.uploads import Uploads
from limelight.text.judge import IN_TARGET_LANGUAGE

DETECTED = 1000
"""Characters of a text from which its language is detected."""
_TAG = re.compile("<[^<>]*>")
"""Tags, which say nothing about the language of a text."""


# ---- a request


class TagHandling(NamedTuple):
    """How the tags of a text are read: `formats.html.Tags`."""

    kind: str
    """`xml`, `html` or `markdown`, which has no settings."""
    ignored: Sequence[str] = ()
    splitting: Sequence[str] = ()
    inline: Sequence[str] = ()
    outline: bool = True


@dataclass(frozen=True, slots=True)
class Ask:
    """Texts to translate, and how."""

    texts: Sequence[str]
    target: str = ""
    source: str = ""
    """Detected if empty."""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of `Translator.options`, and `tags`, `terms` and `glossary_file`; None is the default of the model."""

    def engine_options(self) -> dict[str, Any]:
        """The options of the task. A target language such as `de@formal` is also a form of address."""
        options = {name: value for name, value in self.options.items() if value is not None}
        if form := split_form(self.target)[1]:
            options.setdefault("formality", f"prefer_{form}")
        return options


def require_within(name: str, value: int, least: int, most: int, option: str) -> None:
    """Raises `Refusal` for a number out of its bounds; `name` is the client's field, `option` the service's option."""
    if not least <= value <= most:
        raise bad_request(f"{name} must be from {least} to {most}, not {value}; {option} of the service is its limit")


def require_bounds(ask: Ask, limits: Limits) -> int:
    """The characters of a request. Raises `Refusal` for what is beyond a limit."""
    if len(ask.texts) > limits.texts:
        what = f"there are {len(ask.texts)} texts"
        raise Refusal(413, "too_many_texts", beyond(what, limits.texts, "--max-texts", "divide them"))
    prefix, beam, ranks = (ask.options.get(name) for name in ("prefix", "beam_size", "n_best"))
    if prefix and len(ask.texts) > 1:
        raise bad_request("prefix: it is for a single text, and there are several; send them one by one")
    require_within("beam_size", 1 if beam is None else beam, 1, limits.beam, "--max-beam")
    require_within("n_best", 1 if ranks is None else ranks, 1, limits.n_best, "--max-n-best")
    characters = sum(map(len, ask.texts)) + len(prefix or "")
    if (counted := cost_of(ask.texts, ask.options)) > limits.characters:
        what, remedy = f"the texts have {characters} characters", "send less at a time"
        if counted > characters:
            what += f", which count as {counted} with this beam_size and n_best"
            remedy += ", or ask for fewer hypotheses"
        raise Refusal(413, "too_long", beyond(what, limits.characters, "--max-characters", remedy))
    return characters


# ---- the service


class Client(NamedTuple):
    """Who asks: the name of a key, or an address where there are no keys. Clients share the service fairly."""

    id: str
    key: str = ""
    """The name of the key; empty without keys."""


class Answer(NamedTuple):
    """A translated text."""

    text: str
    model: str
    source_lang: str
    target_lang: str
    detected: Mapping[str, float] = {}
    """How likely each source language is, the likeliest first; empty if the caller has named it."""
    alternatives: Sequence[str] = ()
    tokens: int = 0
    confidence: float | None = None
    warnings: Sequence[str] = ()
    """What the guards found, each name once."""
    path: Sequence[str] = ()
    """The languages of a translation through another one."""
    sentences: Sequence[Mapping[str, Any]] = ()
    """The translation of each sentence, or of each segment between tags."""

    @property
    def language(self) -> str:
        """The likeliest one of the text. That may be the target language, from which no model translates into it."""
        if self.sentences and all(IN_TARGET_LANGUAGE in sentence["warnings"] for sentence in self.sentences):
            return self.target_lang
        return next(iter(self.detected), self.source_lang)


@dataclass(eq=False)
class Service:
    """All that requests are answered with."""

    catalog: Catalog
    limits: Limits
    log: Log
    keys: Keys
    guarded: bool
    """Whether a key is needed."""
    origins: Origins
    glossaries: Glossaries
    memories: Memories
    metrics: Metrics = field(default_factory=Metrics)
    draining: bool = False
    """Whether the service is about to end, and takes nothing more."""
    connections: Callable[[], int] = lambda: 0
    """How many there are; the server sets it."""
    used: Counter[str] = field(default_factory=Counter)
    """Characters that each client has had translated since the start."""

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.limits.documents)

    @property
    def ready(self) -> bool:
        """Whether every model has all its engines, and the service is to go on."""
        return not self.draining and all(model.pool.ready for model in self.catalog.models)

    def require_connection(self) -> None:
        """Raises `Refusal` if there are too many connections."""
        if self.connections() > (most := self.limits.connections):
            message = beyond("there are more connections", most, "--max-connections", "try again later")
            raise Refusal(503, "too_many_connections", message, retry_after=5, headers={"Connection": "close"})

    def require_open(self) -> None:
        """Raises `Refusal` if nothing more is taken."""
        if self.draining:
            raise Refusal(503, "draining", "this service is about to end: try again", retry_after=1)

    @asynccontextmanager
    async def _accepted(self, client: Client, ask: Ask) -> AsyncIterator[None]:
        """A request within its bounds, the rate of its key, and `--deadline`. Raises `Refusal`; a refused request does
        not count for its key."""
        self.require_open()
        characters = require_bounds(ask, self.limits)
        self.keys.spend(client.key, characters)
        try:
            async with asyncio.timeout(self.limits.deadline):
                yield
        except (TimeoutError, Refusal) as error:
            self.keys.give_back(client.key, characters)
            if isinstance(error, Refusal):
                raise
            what = f"this took longer than {self.limits.deadline:g} s"
            message = f"{what}: send less at a time, or ask the operator to raise --deadline"
            raise Refusal(504, "deadline", message, retry_after=1) from None

    async def _detected(
        self, client: Client, ways: Sequence[Way], texts: Sequence[str], *, patient: bool = False
    ) -> list[dict[str, float]]:
        """For each text the probabilities of the source languages of these ways. A single language is certain, and the
        texts are not looked at; models without an engine are not asked."""
        sources = {way.direction.source for way in ways}
        if len(sources) == 1 and "" not in sources:
            return [dict.fromkeys(sources, 1.0) for _ in texts]
        models = list(dict.fromkeys(way.model for way in ways))  # a reload may change their pools meanwhile
        likely: list[dict[str, float]] = [{} for _ in texts]
        for model in [model for model in models if model.pool.usable] or models[:1]:
            answers = await model.pool.run(client.id, "detect", [text[:DETECTED] for text in texts], patient=patient)
            for known, answer in zip(likely, answers, strict=True):
                for language, probability in answer.items():
                    known[language] = max(probability, known.get(language, 0.0))
        return [dict(sorted(probabilities.items(), key=lambda pair: -pair[1])) for probabilities in likely]

    async def translate(self, client: Client, ask: Ask, shown: Partial | None = None) -> list[Answer]:
        """The answers, in the order of the texts. Texts of the same direction are one task. Raises `Refusal`."""
        async with self._accepted(client, ask):
            ways = self.catalog.ways(ask.source, ask.target, ask.model)
            if ways[0].changes_nothing:
                warnings = [IN_TARGET_LANGUAGE]
                return [Answer(text, ways[0].model.name, *ways[0].direction, warnings=warnings) for text in ask.texts]
            likely: list[dict[str, float]] = [{} for _ in ask.texts]
            if not ask.source:
                plain = ask.texts
                if ask.options.get("tags") is not None:
                    plain = [unescape(_TAG.sub(" ", text)[:DETECTED]) for text in ask.texts]
                likely = await self._detected(client, ways, plain)
            groups = dict[Way, list[int]]()
            for number, probabilities in enumerate(likely):
                groups.setdefault(_likeliest(ways, probabilities), []).append(number)
            answers, options = dict[int, Answer](), {**ask.engine_options(), "detected": not ask.source}
            for way, numbers in groups.items():
                texts = [ask.texts[number] for number in numbers]
                partial = None if shown is None else lambda number, text, to=numbers: shown(to[number], text)
                translations = await self._run(client, way, texts, options, partial=partial)
                for number, fields in zip(numbers, translations, strict=True):
                    fields |= {**way.languages, "model": way.model.name, "detected": likely[number]}
                    answers[number] = Answer(**fields)
            return [answers[number] for number in range(len(likely))]

    async def _run(
        self, client: Client, way: Way, texts: Sequence[str], options: Mapping[str, Any], **more: Any
    ) -> list[dict[str, Any]]:
        """The translations of texts, with the memories of the client; `more` as `Pool.run` has it."""
        engine_options = {**options, **way.languages, "memories": self.memories.of(client.key, *way.direction)}
        answers: list[dict[str, Any]] = await way.model.pool.run(client.id, "translate", texts, engine_options, **more)
        characters = sum(map(len, texts))
        self.metrics.characters.inc(characters)
        self.used[client.key] += characters
        return answers

    async def segments(
        self, client: Client, way: Way, segments: Sequence[tuple[str, Sequence[Any]]], options: Mapping[str, Any]
    ) -> list[str]:
        """The translations of segments of a document, texts with their codes; a key has paid for them. Raises
        `Refusal`. They wait as long as it takes, also in a service that is about to end."""
        texts = [text for text, _ in segments]
        if way.changes_nothing:
            return texts
        answers = await self._run(
            client, way, texts, {**options, "codes": [codes for _, codes in segments]}, patient=True
        )
        return [answer["text"] for answer in answers]

    async def detect(self, client: Client, text: str) -> dict[str, float]:
        """How likely each source language of the models is, the likeliest first."""
        async with self._accepted(client, Ask([text])):
            self.catalog.require_known()
            ways = [Way(model, Direction("", "")) for model in self.catalog.translators]
            return (await self._detected(client, ways, [text]))[0]

    async def view(
        self, client: Client, ask: Ask, what: str, options: Mapping[str, Any], shown: Partial | None = None,
        *, translates: bool = True,
    ) -> Any:  # fmt: skip
        """What the page asks of one text, see `pipelines/explain.py`; without `translates` of the model that is named,
        whatever its task. Raises `Refusal`."""
        async with self._accepted(client, ask):
            if translates:
                way = await self.way(client, ask, pivot=False)
                model, options = way.model, {**options, **way.languages}
            else:
                model = self.catalog.find(ask.model)
            return await model.pool.run(client.id, what, ask.texts, options, shown)

    async def way(self, client: Client, ask: Ask, *, pivot: bool = True, patient: bool = False) -> Way:
        """The way of a text; its language is detected if it is not named. Raises `Refusal`."""
        ways = self.catalog.ways(ask.source, ask.target, ask.model, pivot=pivot)
        return _likeliest(
            ways, {} if ask.source else (await self._detected(client, ways, ask.texts, patient=patient))[0]
        )


def _likeliest(ways: Sequence[Way], likely: Mapping[str, float]) -> Way:
    """The way from the likeliest language."""
    return max(ways, key=lambda way: likely.get(way.direction.source, 0.0))
