"""What the service does, whatever the dialect: checks what is asked, finds the model, translates text of any length."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from typing import Any, NamedTuple

from limelight.config.directions import Direction
from limelight.serving.catalog import Catalog, Model, Way
from limelight.serving.glossaries import Glossaries
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits, Room
from limelight.serving.logs import Log
from limelight.serving.metrics import Metrics
from limelight.serving.pool import Partial, Sentence
from limelight.serving.refusal import Refusal, bad_request, beyond
from limelight.serving.segments import Plain, Segment, SegmentedText, Split, TagHandling, segment_task, segmented
from limelight.serving.uploads import Uploads
from limelight.text.glossary import Glossary
from limelight.text.units.unit import FormatError

QUICK = 2000
"""Characters that are split into sentences within the event loop; more are split in a thread."""

WIDTH = 4
"""Hypotheses above which the characters of a request count for more: twice as many take twice as long."""

_TAG = re.compile("<[^<>]*>")
"""What is no language of a text with tags."""
Shown = Callable[[int, str, str, str], None]
"""Called with the number of a text, what there is of its translation, how much of that will not change, and how much
the search has settled."""


class Client(NamedTuple):
    """Who asks: the name of a key, or an address where there are no keys. Clients share the service fairly."""

    id: str
    key: str = ""
    """The name of the key; empty without keys."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Texts to translate, and how."""

    texts: Sequence[str]
    target: str
    source: str = ""
    """Found out where it is empty."""
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Search options, as `Translator.prepare` takes them."""
    split: Split = "sentences"
    tags: TagHandling | None = None
    terms: Glossary | None = None


class Answer(NamedTuple):
    """A translated text."""

    text: str
    model: str
    direction: Direction
    detected: Mapping[str, float]
    """How likely each source language is, the likeliest first; empty where the caller has named it."""
    sentences: Sequence[Mapping[str, Any]]
    """The translation of each sentence, see `pipelines.translation.Translation`."""
    join: Callable[[Sequence[str]], str]
    """Makes one text of those of the sentences."""

    @property
    def warnings(self) -> list[str]:
        """What the guards found in any sentence, each name once."""
        return list(dict.fromkeys(name for sentence in self.sentences for name in sentence["warnings"]))

    @property
    def confidence(self) -> float | None:
        """The mean of the sentences, weighted by their tokens; None where the model does not estimate it."""
        pairs = [(sentence["confidence"], len(sentence["tokens"]) + 1) for sentence in self.sentences]
        if not pairs or any(confidence is None for confidence, _ in pairs):
            return None
        return sum(confidence * weight for confidence, weight in pairs) / sum(weight for _, weight in pairs)

    def alternative(self, number: int) -> str:
        """The text made of the other translations of this number, from 0; where a sentence has fewer, of its last."""
        texts = []
        for sentence in self.sentences:
            others = sentence["alternatives"]
            texts.append((others[min(number, len(others) - 1)] if others else sentence)["text"])
        return self.join(texts)


class Service:
    """All that requests are answered with."""

    def __init__(
        self,
        catalog: Catalog,
        limits: Limits,
        *,
        keys: Keys | None = None,
        log: Log | None = None,
        glossaries: Glossaries | None = None,
    ) -> None:
        self.catalog, self.limits, self.keys = catalog, limits, keys
        self.metrics, self.log = Metrics(), log or Log()
        self.leaving = False
        """Whether the service is about to end: not ready for more, though it still takes what comes."""
        self.draining = False
        """Whether nothing more is taken."""
        self.connections: Callable[[], int] = lambda: 0
        """How many there are; the server sets it."""
        self.uploads = Uploads()
        self.rooms = {True: Room(limits.bodies), False: Room(limits.bodies // 4)}
        """For bodies of clients that are known, and of those whose key may be in the body."""
        self.glossaries = glossaries or Glossaries()
        self.used: dict[str, int] = {}
        """Characters that each client has had translated since the start."""

    @property
    def ready(self) -> bool:
        """Whether every model has all its engines, and the service is to go on."""
        return not (self.leaving or self.draining) and all(model.pool.ready for model in self.catalog.models)

    async def translate(self, client: Client, ask: Ask, shown: Shown | None = None) -> list[Answer]:
        """The answers, in the order of the texts. Raises `Refusal`."""
        ways = self.catalog.ways(ask.source, ask.target, ask.model)
        self._check(client, ask, ways)
        seen = ask.texts if ask.tags is None else [unescape(_TAG.sub(" ", text)) for text in ask.texts]
        found = [{} if ask.source else await self._detected(client, ways, text) for text in seen]
        chosen = [_way(ways, likely) for likely in found]
        apart = [await _apart(ask, text, way) for text, way in zip(ask.texts, chosen, strict=True)]
        done = await self._decoded(client, ask, chosen, apart, shown)
        answers = []
        for way, likely, parts, results in zip(chosen, found, apart, done, strict=True):
            text = parts.join([result["text"] for result in results])
            shown_results = [parts.shown(place, result) for place, result in enumerate(results)]
            answers.append(Answer(text, way.model.name, way.direction, likely, shown_results, parts.join))
        self._count(client, sum(map(len, ask.texts)), sum(len(parts.texts) for parts in apart))
        return answers

    async def way(self, client: Client, source: str, target: str, sample: str) -> Way:
        """The way into a language, from that of the sample where it is not named. Raises `Refusal`."""
        ways = self.catalog.ways(source, target)
        return _way(ways, {} if source else await self._detected(client, ways, sample))

    async def segments(
        self, client: Client, way: Way, some: Sequence[Segment], terms: Glossary | None = None
    ) -> list[str]:
        """The translations of segments of a document, whose codes are in them once. Raises `Refusal`.

        A service that is about to end goes on with the documents that it has accepted.
        """
        characters = sum(len(segment.text) for segment in some)
        if self.keys is not None:
            self.keys.spend(client.key, characters)
        languages = {"source_lang": way.direction.source, "target_lang": way.direction.target}
        asked = [
            segment_task(segment, terms, {**languages, "first": first}) for first, segment in enumerate(some, start=1)
        ]
        found = await way.model.pool.run(client.id, asked)
        self._count(client, characters, len(some))
        return [result["text"] for result in found]

    def require_connection(self) -> None:
        """Raises `Refusal` where there are too many connections."""
        if self.connections() > self.limits.connections:
            message = beyond(
                "there are more connections", self.limits.connections, "--max-connections", "try again later"
            )
            raise Refusal(503, "too_many_connections", message, retry_after=5)

    def require_open(self) -> None:
        """Raises `Refusal` where nothing more is taken."""
        if self.draining:
            raise Refusal(503, "draining", "this service is about to end: try again", retry_after=1)

    async def detect(self, client: Client, text: str) -> dict[str, float]:
        """How likely each source language of the models is, the likeliest first."""
        self._check(client, Ask([text], ""))
        return await self._detected(client, [Way(model, Direction("", "")) for model in self.catalog.models], text)

    async def inspect(self, client: Client, ask: Ask, what: str, options: Mapping[str, Any]) -> Any:
        """What the page asks of one text, see `pipelines/explain.py`. Raises `Refusal`."""
        self._check(client, ask)
        (text,) = ask.texts
        ways = self.catalog.ways(ask.source, ask.target, ask.model)
        likely = {} if ask.source else await self._detected(client, ways, text)
        way = _way(ways, likely)
        languages = {"source_lang": way.direction.source, "target_lang": way.direction.target}
        (answer,) = await way.model.pool.run(client.id, [Sentence(what, text, {**options, **languages})])
        self._count(client, len(text), 1)
        return answer

    async def of_model(self, client: Client, name: str, sentence: Sentence, shown: Shown | None = None) -> Any:
        """What one model is asked beside translations. Raises `Refusal`, also for a name that there is not."""
        self._check(client, Ask([sentence.text], ""))
        show = None if shown is None else _of_one(shown)
        (answer,) = await self.catalog.find(name).pool.run(client.id, [sentence], show)
        self._count(client, len(sentence.text), 1)
        return answer

    def _check(self, client: Client, ask: Ask, ways: Sequence[Way] = ()) -> None:
        """Raises `Refusal` for what is beyond a limit, before any work."""
        self.require_open()
        limits = self.limits
        if len(ask.texts) > limits.texts:
            what = f"there are {len(ask.texts)} texts"
            raise Refusal(413, "too_many_texts", beyond(what, limits.texts, "--max-texts", "divide them"))
        characters = sum(map(len, ask.texts))
        if characters > limits.characters:
            what = f"the texts have {characters} characters"
            message = beyond(what, limits.characters, "--max-characters", "send less at a time")
            raise Refusal(413, "too_long", message)
        for name, most, option in (
            ("beam_size", limits.beam, "--max-beam"),
            ("n_best", limits.n_best, "--max-n-best"),
        ):
            asked = ask.options.get(name)
            if asked is not None and not 1 <= asked <= most:
                raise bad_request(f"{name} must be from 1 to {most}, not {asked}; {option} of the service is its limit")
        width = max(ask.options.get("beam_size") or 1, ask.options.get("n_best") or 1)
        if (counted := characters * width // WIDTH) > limits.characters:
            what = f"{characters} characters with {width} hypotheses each count as {counted} characters"
            remedy = "send less at a time, or a smaller beam_size and n_best"
            raise Refusal(413, "too_expensive", beyond(what, limits.characters, "--max-characters", remedy))
        if any(map(len, ask.texts)):
            _require_room(client, ways)
        if self.keys is not None:
            self.keys.spend(client.key, characters)

    async def _detected(self, client: Client, ways: Sequence[Way], text: str) -> dict[str, float]:
        """Of the languages these ways come from. A single one is taken without a look at the text."""
        sources = {way.direction.source for way in ways}
        if len(sources) == 1 and "" not in sources:
            return dict.fromkeys(sources, 1.0)
        likely: dict[str, float] = {}
        for pool in dict.fromkeys(way.model.pool for way in ways):
            (found,) = await pool.run(client.id, [Sentence("detect", text)])
            for language, probability in found.items():
                likely[language] = max(probability, likely.get(language, 0.0))
        return dict(sorted(likely.items(), key=lambda each: -each[1]))

    async def _decoded(
        self, client: Client, ask: Ask, ways: Sequence[Way], apart: Sequence[SegmentedText], shown: Shown | None
    ) -> list[list[Mapping[str, Any]]]:
        """The results of all sentences, by text. Texts of different models are translated side by side."""
        done: list[list[Mapping[str, Any]]] = [[{} for _ in parts.texts] for parts in apart]
        places: dict[str, list[tuple[int, int]]] = {}
        pools = {way.model.name: way.model.pool for way in ways}
        for number, (way, parts) in enumerate(zip(ways, apart, strict=True)):
            places.setdefault(way.model.name, []).extend((number, place) for place in range(len(parts.texts)))

        guarded = ask.options.get("guards") is not False

        async def of(name: str) -> None:
            of_model = places[name]
            sentences = [
                apart[text].sentence(place, _options(ask, ways[text], first), stream=shown is not None)
                for first, (text, place) in enumerate(of_model, start=1)
            ]
            show = None if shown is None else _Progress(apart, of_model, shown, guarded=guarded)
            for (text, place), result in zip(of_model, await pools[name].run(client.id, sentences, show), strict=True):
                done[text][place] = result

        try:
            async with asyncio.TaskGroup() as group:
                for name in places:
                    group.create_task(of(name))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return done

    def _count(self, client: Client, characters: int, sentences: int) -> None:
        self.metrics.characters.inc(characters)
        self.metrics.sentences.inc(sentences)
        self.used[client.key] = self.used.get(client.key, 0) + characters


class _Progress:
    """Puts the sentences of each text together as far as they are.

    What a stream has sent cannot be taken back. So the settled text of a sentence whose first words were settled before
    the guards found fault with it is that of the first search, where the guards' own begins otherwise.
    """

    def __init__(
        self, apart: Sequence[SegmentedText], places: Sequence[tuple[int, int]], shown: Shown, *, guarded: bool
    ) -> None:
        self._apart, self._places, self._shown, self._guarded = apart, places, shown, guarded
        self._texts = [[""] * len(parts.texts) for parts in apart]
        self._settled = [[""] * len(parts.texts) for parts in apart]
        self._sent = [[""] * len(parts.texts) for parts in apart]
        """As far as all sentences before were there."""
        self._whole = [[False] * len(parts.texts) for parts in apart]

    def __call__(self, number: int, sentence: str, settled: str, whole: bool) -> None:
        text, place = self._places[number]
        if whole and not sentence.startswith(self._sent[text][place]):
            settled = self._texts[text][place]
        self._texts[text][place], self._settled[text][place] = sentence, settled
        self._whole[text][place] = whole
        first = self._whole[text].index(False) if False in self._whole[text] else len(self._whole[text])
        settled = self._joined(text, self._settled[text], first, begun=True)
        certain = self._joined(text, self._texts[text], first) if self._guarded else settled
        self._shown(text, self._apart[text].join(self._texts[text]), certain, settled)

    def _joined(self, number: int, texts: Sequence[str], count: int, *, begun: bool = False) -> str:
        """So many sentences with what stands around them, and the next one as far as it has begun."""
        apart = self._apart[number]
        if not isinstance(apart, Plain):
            return ""
        gaps = apart.sentences.gaps
        parts = [part for pair in zip(gaps, texts[:count], strict=False) for part in pair]
        if count == len(texts):
            return "".join(parts) + gaps[-1]
        if begun and texts[count]:
            self._sent[number][count] = texts[count]
            parts += [gaps[count], texts[count]]
        return "".join(parts)


def _of_one(shown: Shown) -> Partial:
    """Shows the text of a single sentence."""
    return lambda number, text, settled, whole: shown(number, text, text if whole else "", settled)


def _way(ways: Sequence[Way], likely: Mapping[str, float]) -> Way:
    """The one from the likeliest language."""
    return max(ways, key=lambda way: likely.get(way.direction.source, 0.0))


def _require_room(client: Client, ways: Sequence[Way]) -> None:
    """Raises `Refusal` where none of them has room: before the texts are split, and before a key pays for them."""
    refusals = []
    for way in ways:
        try:
            way.model.pool.require_room(client.id)
        except Refusal as refusal:
            refusals.append(refusal)
        else:
            return
    if refusals:
        raise refusals[0]


def _options(ask: Ask, way: Way, first: int) -> dict[str, Any]:
    languages: dict[str, Any] = {"source_lang": way.direction.source, "target_lang": way.direction.target}
    if not ask.source:
        languages["detected"] = True
    return {**languages, **{key: value for key, value in ask.options.items() if value is not None}, "first": first}


async def _apart(ask: Ask, text: str, way: Way) -> SegmentedText:
    """Raises `Refusal` for tags that cannot be read."""
    language, terms = way.direction.source or "en", ask.terms
    if terms is not None and not terms.source_lang:
        terms = Glossary(terms.terms, language)
    take = partial(segmented, text, language, ask.tags, terms, ask.split)
    try:
        return take() if len(text) <= QUICK else await asyncio.to_thread(take)
    except FormatError as error:
        place = f" in line {error.line}" if error.line else ""
        raise bad_request(f"the tags of the text cannot be read{place}: {error.reason}", "tags") from None


def served(models: Sequence[Model]) -> Catalog:
    """A catalog, whose engines begin to load."""
    for model in models:
        model.pool.start()
    return Catalog(models)
