"""What the service does, whatever the dialect: checks what is asked, finds the model, translates text of any length."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from typing import Any, NamedTuple

from limelight.config.directions import Direction, split_form
from limelight.formats.unit import FormatError
from limelight.serving.asks import Ask, require_bounds
from limelight.serving.catalog import Catalog, Model, Way
from limelight.serving.glossaries import Glossaries
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits, Room
from limelight.serving.logs import Log, Metrics
from limelight.serving.memories import Memories
from limelight.serving.origin import Origins
from limelight.serving.pool import Partial, Pool, Sentence
from limelight.serving.refusal import EXPENSIVE, Refusal, bad_request, beyond, overdue, too_expensive
from limelight.serving.segments import (
    Lookup,
    Plain,
    Segment,
    SegmentedText,
    segment_task,
    segmented,
)
from limelight.serving.uploads import Uploads
from limelight.text.foreign import IN_TARGET_LANGUAGE
from limelight.text.glossary import Glossary

QUICK = 2000
"""Characters of a request that are split into sentences within the event loop; more are split in a thread."""

DETECTED = 1000
"""Characters of a text from which its language is detected."""

SLICE = 50
"""Sentences whose terms are looked up at a time."""

MAX_BURST = 64
"""Requests of one key that wait until it may translate more characters."""

MAX_WAITING = 256
"""Requests that wait for a model that is loading."""

_TAG = re.compile("<[^<>]*>")
"""Tags, which say nothing about the language of a text."""
State = Callable[[], tuple[str, str, str]]
"""What there is of a translation, how much of that will not change, and how much the search has settled."""
Shown = Callable[[int, State], None]
"""Called with the number of a text whose translation has grown, and what puts it together."""


class Client(NamedTuple):
    """Who asks: the name of a key, or an address where there are no keys. Clients share the service fairly."""

    id: str
    key: str = ""
    """The name of the key; empty without keys."""


@dataclass(eq=False, slots=True)
class Burst:
    """Requests of one key that wait until it may translate more characters."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    size: int = 0


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
    """Makes one text of those of `found`."""
    found: Sequence[Mapping[str, Any]] = ()
    """The same as `sentences`, with codes in place of the tags of the request."""

    @property
    def language(self) -> str:
        """The likeliest one of the text. That may be the target language, from which no model translates into it."""
        if self.sentences and all(IN_TARGET_LANGUAGE in sentence["warnings"] for sentence in self.sentences):
            return self.direction.target
        return next(iter(self.detected), self.direction.source)

    @property
    def warnings(self) -> list[str]:
        """What the guards found in any sentence, each name once."""
        if self.direction.source and self.direction.source == self.direction.target:
            return [IN_TARGET_LANGUAGE]
        return list(dict.fromkeys(name for sentence in self.sentences for name in sentence["warnings"]))

    @property
    def path(self) -> list[str]:
        """The languages of a translation through another one; empty for a direct one."""
        return next((list(sentence["path"]) for sentence in self.sentences if sentence.get("path")), [])

    @property
    def confidence(self) -> float | None:
        """The mean of the sentences, weighted by their tokens; None where the model does not estimate it."""
        pairs = [(sentence["confidence"], len(sentence["tokens"]) + 1) for sentence in self.sentences]
        if not pairs or any(confidence is None for confidence, _ in pairs):
            return None
        return sum(confidence * weight for confidence, weight in pairs) / sum(weight for _, weight in pairs)

    def rank(self, number: int) -> list[Mapping[str, Any]]:
        """The translations of this rank of the sentences, 0 the best; where a sentence has fewer, its last one."""
        return [(each, *each["alternatives"])[: number + 1][-1] for each in self.found]

    def alternative(self, number: int) -> str:
        """The text made of the other translations of this number, from 0."""
        return self.join([found["text"] for found in self.rank(number + 1)])


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
        memories: Memories | None = None,
    ) -> None:
        self.catalog, self.limits, self.keys = catalog, limits, keys
        self.metrics, self.log = Metrics(), log or Log()
        self.leaving = False
        """Whether the service is about to end: not ready for more, though it still takes what comes."""
        self.draining = False
        """Whether nothing more is taken."""
        self.connections: Callable[[], int] = lambda: 0
        """How many there are; the server sets it."""
        self.origins = Origins()
        self.uploads = Uploads(limits.documents)
        self.rooms = {True: Room(limits.bodies), False: Room(limits.bodies // 4)}
        """For bodies of clients that are known, and of those whose key may be in the body."""
        self.glossaries = glossaries or Glossaries()
        self.memories = memories or Memories(limits)
        self._looking_up, self._splitting = asyncio.Lock(), asyncio.Lock()
        self._bursts: dict[str, Burst] = {}
        """The burst of each key that was used."""
        self._waiting = 0
        """Requests that wait for a model that is loading."""
        self.used: dict[str, int] = {}
        """Characters that each client has had translated since the start."""

    @property
    def ready(self) -> bool:
        """Whether every model has all its engines, and the service is to go on."""
        return not (self.leaving or self.draining) and all(model.pool.ready for model in self.catalog.models)

    async def translate(self, client: Client, ask: Ask, shown: Shown | None = None) -> list[Answer]:
        """The answers, in the order of the texts. Raises `Refusal`."""
        async with self._in_time():
            return await self._translated(client, ask, shown)

    async def _translated(self, client: Client, ask: Ask, shown: Shown | None) -> list[Answer]:
        self.require_open()
        ways = await self.ways(ask.source, ask.target, ask.model)
        async with self._paid(client, self._check(client, ask, ways)):
            try:
                return await self._answers(client, ask, ways, shown)
            except Refusal as refusal:
                raise (
                    too_expensive(self.limits.seconds, ask.smaller) if refusal.code == EXPENSIVE else refusal
                ) from None

    async def _answers(self, client: Client, ask: Ask, ways: Sequence[Way], shown: Shown | None) -> list[Answer]:
        if ways[0].changes_nothing:
            self._count(client, sum(map(len, ask.texts)), 0)
            return [_as_it_is(text, ways[0]) for text in ask.texts]
        seen = ask.texts if ask.tags is None else [unescape(_TAG.sub(" ", text)) for text in ask.texts]
        found = [{} for _ in seen] if ask.source else await self._detected(client, ways, seen)
        chosen = [_way(ways, likely) for likely in found]
        apart = await self._apart(ask, chosen)
        done = await self._decoded(client, ask, chosen, apart, shown)
        answers = []
        for way, likely, parts, results in zip(chosen, found, apart, done, strict=True):
            text = parts.join([result["text"] for result in results])
            shown_results = [parts.shown(place, result) for place, result in enumerate(results)]
            answers.append(Answer(text, way.model.name, way.direction, likely, shown_results, parts.join, results))
        self._count(client, sum(map(len, ask.texts)), sum(len(parts.texts) for parts in apart))
        return answers

    async def way(self, client: Client, source: str, target: str, sample: str) -> Way:
        """The way into a language, from that of the sample where it is not named. Raises `Refusal`."""
        ways = await self.ways(source, target)
        return _way(ways, {} if source else (await self._detected(client, ways, [sample]))[0])

    async def ways(self, source: str, target: str, name: str = "", *, pivot: bool = True) -> list[Way]:
        """See `Catalog.ways`. While the models that may be asked are loading, it waits for them. Raises `Refusal`."""
        while True:
            loading = self.catalog.loading(name)
            try:
                return self.catalog.ways(source, target, name, pivot=pivot)
            except Refusal:
                if not loading:
                    raise
            await self._loaded(loading)

    async def _loaded(self, pools: Sequence[Pool]) -> None:
        """Wait until one of these is loaded, or cannot be. Raises `Refusal`, 503, where that takes too long, and where
        too many wait already."""
        if self._waiting >= MAX_WAITING:
            message = f"the model is loading, and {MAX_WAITING} requests wait for it: try again later"
            raise Refusal(503, "loading", message, retry_after=5)
        self._waiting += 1
        waits = [asyncio.ensure_future(pool.settled.wait()) for pool in pools]
        try:
            await asyncio.wait(waits, timeout=self.limits.deadline, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting -= 1
            for each in waits:
                each.cancel()
        if not any(pool.settled.is_set() for pool in pools):
            raise Refusal(503, "loading", "the model is loading: try again later", retry_after=5)
        self.require_open()

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """A request as a whole has the time of `--deadline`."""
        try:
            async with asyncio.timeout(self.limits.deadline):
                yield
        except TimeoutError:
            raise overdue(self.limits.deadline) from None

    async def segments(
        self, client: Client, way: Way, some: Sequence[Segment], terms: Lookup | None = None, form: str = ""
    ) -> list[str]:
        """The translations of segments of a document, whose codes are in them once; a key has paid for them. Raises
        `Refusal`.

        `form` is the form of address, as of `--formality`. A service that is about to end goes on with the documents
        that it has accepted.
        """
        if way.changes_nothing:
            return [segment.text for segment in some]
        characters = sum(len(segment.text) for segment in some)
        way.model.pool.require_room(client.id, len(some))
        options: dict[str, Any] = {"source_lang": way.direction.source, "target_lang": way.direction.target}
        options |= self._remembered(client, way)
        if form:
            options["formality"] = form

        def asked(begin: int, end: int) -> list[Sentence]:
            return [
                segment_task(segment, terms, {**options, "first": first})
                for first, segment in enumerate(some[begin:end], start=begin + 1)
            ]

        sentences = await self._in_slices(asked, len(some), looked_up=terms is not None)
        found = await way.model.pool.run(client.id, sentences)
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
        self.require_open()
        async with self._in_time():
            self.catalog.require_known()
            async with self._paid(client, self._check(client, Ask([text], ""))):
                ways = [Way(model, Direction("", "")) for model in self.catalog.translators]
                return (await self._detected(client, ways, [text]))[0]

    async def inspect(self, client: Client, ask: Ask, what: str, options: Mapping[str, Any]) -> Any:
        """What the page asks of one text, see `pipelines/explain.py`. Raises `Refusal`."""
        async with self._in_time():
            return await self._inspected(client, ask, what, options)

    async def _inspected(self, client: Client, ask: Ask, what: str, options: Mapping[str, Any]) -> Any:
        self.require_open()
        ways = await self.ways(ask.source, ask.target, ask.model, pivot=False)
        (text,) = ask.texts
        async with self._paid(client, self._check(client, ask)):
            likely = {} if ask.source else (await self._detected(client, ways, [text]))[0]
            way = _way(ways, likely)
            languages = {"source_lang": way.direction.source, "target_lang": way.direction.target}
            (answer,) = await way.model.pool.run(client.id, [Sentence(what, text, {**options, **languages})])
        self._count(client, len(text), 1)
        return answer

    async def of_model(self, client: Client, name: str, sentence: Sentence, shown: Shown | None = None) -> Any:
        """What one model is asked beside translations. Raises `Refusal`, also for a name that there is not."""
        self.require_open()
        pool = self.catalog.find(name).pool
        async with self._in_time():
            if pool.loading:
                await self._loaded([pool])
            async with self._paid(client, self._check(client, Ask([sentence.text], ""))):
                show = None if shown is None else _of_one(shown)
                (answer,) = await pool.run(client.id, [sentence], show)
        self._count(client, len(sentence.text), 1)
        return answer

    def _check(self, client: Client, ask: Ask, ways: Sequence[Way] = ()) -> int:
        """The characters of a request. Raises `Refusal` for what is beyond a limit, before any work."""
        self.require_open()
        characters = require_bounds(ask, self.limits)
        if sentences := sum(bool(text.strip()) for text in ask.texts):
            _require_room(client, ways, 1 if ask.tags else sentences)  # tags alone have none
        return characters

    @asynccontextmanager
    async def _paid(self, client: Client, characters: int) -> AsyncIterator[None]:
        """Count characters for the key; not where a request is refused because there is no room for it. A burst waits
        until so many are free, for `--queue-seconds` at most, in the order in which it came."""
        if self.keys is None:
            yield
            return
        await self._pay(self.keys, client.key, characters)
        try:
            yield
        except Refusal as refusal:
            if refusal.status in (429, 503):
                self.keys.give_back(client.key, characters)
            raise

    async def _pay(self, keys: Keys, name: str, characters: int) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.limits.queue_seconds
        burst = self._bursts.setdefault(name, Burst())
        if burst.size >= MAX_BURST:
            message = f"{MAX_BURST} requests of this key wait until it may translate more: wait for answers"
            raise Refusal(429, "quota", message, retry_after=5)
        burst.size += 1
        try:
            async with burst.turn:
                while True:
                    try:
                        return keys.spend(name, characters)
                    except Refusal as refusal:
                        if refusal.retry_after is None or loop.time() + refusal.retry_after > end:
                            raise
                        await asyncio.sleep(refusal.retry_after)
        finally:
            burst.size -= 1

    async def _detected(self, client: Client, ways: Sequence[Way], texts: Sequence[str]) -> list[dict[str, float]]:
        """How likely the languages these ways come from are, of each text. A single one is taken without a look at the
        texts; models that are not there are not asked."""
        sources = {way.direction.source for way in ways}
        if len(sources) == 1 and "" not in sources:
            return [dict.fromkeys(sources, 1.0) for _ in texts]
        pools = list(dict.fromkeys(way.model.pool for way in ways))
        asked = [Sentence("detect", text[:DETECTED]) for text in texts]
        likely: list[dict[str, float]] = [{} for _ in texts]
        for pool in [pool for pool in pools if pool.usable] or pools[:1]:
            for known, found in zip(likely, await pool.run(client.id, asked), strict=True):
                for language, probability in found.items():
                    known[language] = max(probability, known.get(language, 0.0))
        return [dict(sorted(each.items(), key=lambda pair: -pair[1])) for each in likely]

    async def _apart(self, ask: Ask, ways: Sequence[Way]) -> list[SegmentedText]:
        """The texts, each divided. The event loop does it for one request at a time, and turns to other things before
        each: many requests at once would hold up the answers and the deadlines of all."""

        def apart() -> list[SegmentedText]:
            return [_apart(ask, text, way) for text, way in zip(ask.texts, ways, strict=True)]

        if sum(map(len, ask.texts)) > QUICK:
            return await asyncio.to_thread(apart)
        async with self._splitting:
            await asyncio.sleep(0)
            return apart()

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
        remembered = [self._remembered(client, way) for way in ways]

        async def of(name: str) -> None:
            of_model = places[name]
            pools[name].require_room(client.id, len(of_model))

            def sentences_of(begin: int, end: int) -> list[Sentence]:
                return [
                    apart[text].sentence(
                        place, _options(ask, ways[text], first) | remembered[text], stream=shown is not None
                    )
                    for first, (text, place) in enumerate(of_model[begin:end], start=begin + 1)
                ]

            sentences = await self._in_slices(sentences_of, len(of_model), looked_up=ask.terms is not None)
            show = None if shown is None else _Progress(apart, of_model, shown, guarded=guarded)
            for (text, place), result in zip(of_model, await pools[name].run(client.id, sentences, show), strict=True):
                done[text][place] = result

        if len(places) == 1:
            await of(*places)  # without a task of its own
            return done
        try:
            async with asyncio.TaskGroup() as group:
                for name in places:
                    group.create_task(of(name))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return done

    async def _in_slices(
        self, make: Callable[[int, int], list[Sentence]], count: int, *, looked_up: bool
    ) -> list[Sentence]:
        """So many sentences. Where terms are looked up for each, it is done in a thread, some at a time: requests take
        turns, and one whose client leaves stops."""
        if not looked_up:
            return make(0, count)
        found = list[Sentence]()
        for begin in range(0, count, SLICE):
            async with self._looking_up:
                found += await asyncio.to_thread(make, begin, min(count, begin + SLICE))
        return found

    def _remembered(self, client: Client, way: Way) -> dict[str, Any]:
        """The option for the memories of a client, if there are any for this direction."""
        found = self.memories.of(client.key, *way.direction)
        return {"memories": found} if found else {}

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
        self._shown(text, partial(self._state, text))

    def _state(self, text: int) -> tuple[str, str, str]:
        first = self._whole[text].index(False) if False in self._whole[text] else len(self._whole[text])
        settled = self._joined(text, self._settled[text], first, begun=True)
        certain = self._joined(text, self._texts[text], first) if self._guarded else settled
        return self._apart[text].join(self._texts[text]), certain, settled

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
    return lambda number, text, settled, whole: shown(number, lambda: (text, text if whole else "", settled))


def _as_it_is(text: str, way: Way) -> Answer:
    """The answer to a text that is in the target language, as its source language says."""
    return Answer(text, way.model.name, way.direction, {}, [], lambda _: text)


def _way(ways: Sequence[Way], likely: Mapping[str, float]) -> Way:
    """The one from the likeliest language."""
    return max(ways, key=lambda way: likely.get(way.direction.source, 0.0))


def _require_room(client: Client, ways: Sequence[Way], sentences: int) -> None:
    """Raises `Refusal` where none of them has room for so many: before the texts are split, and before a key pays for
    them."""
    refusals = []
    for way in ways:
        try:
            return way.model.pool.require_room(client.id, sentences)
        except Refusal as refusal:
            refusals.append(refusal)
    if refusals:
        raise refusals[0]


def preferred_form(target: str) -> str:
    """`prefer_formal` for a target language such as `de@formal`; empty for one that names no form."""
    form = split_form(target)[1]
    return f"prefer_{form}" if form else ""


def _options(ask: Ask, way: Way, first: int) -> dict[str, Any]:
    own: dict[str, Any] = {"source_lang": way.direction.source, "target_lang": way.direction.target}
    if not ask.source:
        own["detected"] = True
    if form := preferred_form(ask.target):
        own["formality"] = form
    return {**own, **{key: value for key, value in ask.options.items() if value is not None}, "first": first}


def _apart(ask: Ask, text: str, way: Way) -> SegmentedText:
    """Raises `Refusal` for tags that cannot be read."""
    language, terms = way.direction.source or "en", ask.terms
    if isinstance(terms, Glossary) and not terms.source_lang:
        terms = Glossary(terms.terms, language)
    protect = ask.options.get("protect") is not False and bool(way.model.pool.info.get("protects"))
    try:
        return segmented(text, language, ask.tags, terms, ask.split, protect=protect)
    except FormatError as error:
        place = f" in line {error.line}" if error.line else ""
        raise bad_request(f"the tags of the text cannot be read{place}: {error.reason}", "tags") from None


def served(models: Sequence[Model]) -> Catalog:
    """A catalog, whose engines begin to load."""
    for model in models:
        model.pool.start()
    return Catalog(models)
