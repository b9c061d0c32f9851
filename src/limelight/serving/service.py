"""What the service does, whatever the dialect: checks what is asked, finds the model, and hands it whole requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from html import unescape
from typing import Any, NamedTuple

from limelight.config.directions import Direction, split_form
from limelight.serving.asks import Ask, require_bounds
from limelight.serving.catalog import Catalog, Way
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits
from limelight.serving.logs import Log, Metrics
from limelight.serving.origin import Origins
from limelight.serving.pool import Partial
from limelight.serving.refusal import Refusal, beyond, overdue
from limelight.serving.stored import Glossaries, Memories
from limelight.serving.uploads import Uploads
from limelight.text.judge import IN_TARGET_LANGUAGE

DETECTED = 2000
"""Characters of a text that are sent to an engine to detect its language."""
_TAG = re.compile("<[^<>]*>")
"""Tags, which say nothing about the language of a text."""


class Client(NamedTuple):
    """Who asks: the name of a key, or an address where there are no keys. Clients share the service fairly."""

    id: str
    key: str = ""
    """The name of the key; empty without keys."""


class Answer(NamedTuple):
    """A translated text."""

    text: str
    model: str
    direction: Direction
    detected: Mapping[str, float] = {}
    """How likely each source language is, the likeliest first; empty if the caller has named it."""
    found: Mapping[str, Any] = {}
    """What the engine says of it: `translation._answer`."""

    @property
    def language(self) -> str:
        """The likeliest one of the text. That may be the target language, from which no model translates into it."""
        sentences = self.found.get("sentences", ())
        if sentences and all(IN_TARGET_LANGUAGE in sentence["warnings"] for sentence in sentences):
            return self.direction.target
        return next(iter(self.detected), self.direction.source)

    @property
    def warnings(self) -> list[str]:
        """What the guards found, each name once."""
        if self.direction.source and self.direction.source == self.direction.target:
            return [IN_TARGET_LANGUAGE]
        return list(self.found.get("warnings", ()))

    def rank(self, number: int) -> str:
        """The text of this rank of its n-best list, 0 the best; of a shorter list, the last one."""
        return (self.text, *self.found.get("alternatives", ()))[: number + 1][-1]


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
        self.glossaries = glossaries or Glossaries()
        self.memories = memories or Memories(limits)
        self.used: dict[str, int] = {}
        """Characters that each client has had translated since the start."""

    @property
    def ready(self) -> bool:
        """Whether every model has all its engines, and the service is to go on."""
        return not (self.leaving or self.draining) and all(model.pool.ready for model in self.catalog.models)

    def require_connection(self) -> None:
        """Raises `Refusal` if there are too many connections."""
        if self.connections() > (most := self.limits.connections):
            message = beyond("there are more connections", most, "--max-connections", "try again later")
            headers = {"Connection": "close"}
            raise Refusal(503, "too_many_connections", message, retry_after=5, headers=headers)

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
        if self.keys is not None:
            self.keys.spend(client.key, characters)
        try:
            async with asyncio.timeout(self.limits.deadline):
                yield
        except (TimeoutError, Refusal) as error:
            if self.keys is not None:
                self.keys.give_back(client.key, characters)
            raise (error if isinstance(error, Refusal) else overdue(self.limits.deadline)) from None

    def _count(self, client: Client, characters: int, sentences: int) -> None:
        self.metrics.characters.inc(characters)
        self.metrics.sentences.inc(sentences)
        self.used[client.key] = self.used.get(client.key, 0) + characters

    # ---- models

    def ways(self, source: str, target: str, name: str = "", *, pivot: bool = True) -> list[Way]:
        """See `Catalog.ways`. Raises `Refusal`, also if nothing more is taken."""
        self.require_open()
        return self.catalog.ways(source, target, name, pivot=pivot)

    async def way(self, client: Client, source: str, target: str, sample: str) -> Way:
        """The way into a language, from that of the sample if it is not named. Raises `Refusal`."""
        ways = self.ways(source, target)
        return _way(ways, {} if source else (await self._detected(client, ways, [sample]))[0])

    async def _detected(self, client: Client, ways: Sequence[Way], texts: Sequence[str]) -> list[dict[str, float]]:
        """How likely the languages these ways come from are, of each text. A single one is taken without a look at the
        texts; models without an engine are not asked."""
        sources = {way.direction.source for way in ways}
        if len(sources) == 1 and "" not in sources:
            return [dict.fromkeys(sources, 1.0) for _ in texts]
        pools = list(dict.fromkeys(way.model.pool for way in ways))
        likely: list[dict[str, float]] = [{} for _ in texts]
        for pool in [pool for pool in pools if pool.usable] or pools[:1]:
            answers = await pool.run(client.id, "detect", [text[:DETECTED] for text in texts])
            for known, found in zip(likely, answers, strict=True):
                for language, probability in found.items():
                    known[language] = max(probability, known.get(language, 0.0))
        return [dict(sorted(each.items(), key=lambda pair: -pair[1])) for each in likely]

    # ---- requests

    async def translate(self, client: Client, ask: Ask, shown: Partial | None = None) -> list[Answer]:
        """The answers, in the order of the texts. Raises `Refusal`."""
        async with self._accepted(client, ask):
            ways = self.ways(ask.source, ask.target, ask.model)
            if ways[0].changes_nothing:
                answers = [Answer(text, ways[0].model.name, ways[0].direction) for text in ask.texts]
            else:
                answers = await self._answers(client, ask, ways, shown)
        self._count(client, sum(map(len, ask.texts)), sum(len(each.found.get("sentences", ())) for each in answers))
        return answers

    async def _answers(self, client: Client, ask: Ask, ways: Sequence[Way], shown: Partial | None) -> list[Answer]:
        """Texts of the same direction are one task."""
        seen = ask.texts if ask.tags is None else [unescape(_TAG.sub(" ", text)) for text in ask.texts]
        likely = [{} for _ in seen] if ask.source else await self._detected(client, ways, seen)
        groups: dict[Way, list[int]] = {}
        for number, each in enumerate(likely):
            groups.setdefault(_way(ways, each), []).append(number)
        answers: dict[int, Answer] = {}
        for way, numbers in groups.items():
            partial = None if shown is None else lambda number, text, to=numbers: shown(to[number], text)
            options = {**ask.engine_options(), "detected": not ask.source}
            if form := preferred_form(ask.target):
                options.setdefault("formality", form)
            found = await self._run(client, way, [ask.texts[number] for number in numbers], options, partial=partial)
            for number, answer in zip(numbers, found, strict=True):
                answers[number] = Answer(answer["text"], way.model.name, way.direction, likely[number], answer)
        return [answers[number] for number in range(len(likely))]

    async def _run(
        self, client: Client, way: Way, texts: Sequence[str], options: dict[str, Any], **more: Any
    ) -> list[dict[str, Any]]:
        """The translations of texts, with the memories of the client; `more` as `Pool.run` has it."""
        options |= {"source_lang": way.direction.source, "target_lang": way.direction.target}
        if memories := self.memories.of(client.key, *way.direction):
            options["memories"] = memories
        return await way.model.pool.run(client.id, "translate", texts, options, **more)

    async def segments(
        self, client: Client, way: Way, some: Sequence[tuple[str, Sequence[Any]]], options: Mapping[str, Any]
    ) -> list[str]:
        """The translations of segments of a document, texts with their codes; a key has paid for them. Raises
        `Refusal`. They wait as long as it takes, also in a service that is about to end."""
        texts, codes = [text for text, _ in some], [each for _, each in some]
        if way.changes_nothing:
            return texts
        found = await self._run(client, way, texts, {**options, "codes": codes}, patient=True)
        self._count(client, sum(map(len, texts)), len(texts))
        return [each["text"] for each in found]

    async def detect(self, client: Client, text: str) -> dict[str, float]:
        """How likely each source language of the models is, the likeliest first."""
        async with self._accepted(client, Ask([text])):
            self.catalog.require_known()
            ways = [Way(model, Direction("", "")) for model in self.catalog.translators]
            return (await self._detected(client, ways, [text]))[0]

    async def inspect(self, client: Client, ask: Ask, what: str, options: Mapping[str, Any]) -> Any:
        """What the page asks of one text, see `pipelines/explain.py`. Raises `Refusal`."""
        async with self._accepted(client, ask):
            ways = self.ways(ask.source, ask.target, ask.model, pivot=False)
            way = _way(ways, {} if ask.source else (await self._detected(client, ways, ask.texts))[0])
            languages = {"source_lang": way.direction.source, "target_lang": way.direction.target}
            answer = await way.model.pool.run(client.id, what, ask.texts, {**options, **languages})
        self._count(client, len(ask.texts[0]), 1)
        return answer

    async def of_model(
        self,
        client: Client,
        name: str,
        what: str,
        text: str = "",
        options: dict[str, Any] | None = None,
        shown: Partial | None = None,
    ) -> Any:
        """What one model is asked beside translations. Raises `Refusal`, also for an unknown name."""
        async with self._accepted(client, Ask([text])):
            answer = await self.catalog.find(name).pool.run(client.id, what, [text], options, shown)
        self._count(client, len(text), 1)
        return answer


def _way(ways: Sequence[Way], likely: Mapping[str, float]) -> Way:
    """The one from the likeliest language."""
    return max(ways, key=lambda way: likely.get(way.direction.source, 0.0))


def preferred_form(target: str) -> str:
    """`prefer_formal` for a target language such as `de@formal`; empty for one that names no form."""
    form = split_form(target)[1]
    return f"prefer_{form}" if form else ""
