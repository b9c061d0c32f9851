"""Limelight's own API, `/api/v1`: what the other dialects cannot say. Every answer has a `format`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from limelight.pipelines.translation import Translation as Hypothesis
from limelight.serving.asks import Ask
from limelight.serving.call import Api, Call, Response, Result, Strict, content, json_content, plain
from limelight.serving.dialects.deepl import OneOrMore
from limelight.serving.dialects.events import Following, Growth, Progress, event, follow, streamed
from limelight.serving.dialects.tags import Tagging
from limelight.serving.logs import MEDIA_TYPE
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer
from limelight.serving.stored import Sent, StoredMemory

FORMAT = 1
CHARACTERS = 2000
"""Maximum characters of a sentence that is explained."""


class Formatted(Result):
    """An answer."""

    format: Literal[1] = 1

    def model_post_init(self, context: Any, /) -> None:
        """The format is in every answer."""
        self.model_fields_set.add("format")


class Problem(Result):
    """Why there is no answer."""

    code: str
    """For programs."""
    message: str
    """For people: the value, the bound and what to change."""


class Failure(Formatted):
    """An error; with `stream` the data of the event `error`."""

    error: Problem


def failure(refusal: Refusal) -> Failure:
    """A refusal."""
    return Failure(error=Problem(code=refusal.code, message=refusal.message))


API = Api("limelight", failure, own=True)


# ---- translation

Language = Annotated[str, Field(max_length=20)]


class Directed(Strict):
    """The direction and the model of a request."""

    source_lang: Language = ""
    """Source language; detected if omitted."""
    target_lang: Language = ""
    """Target language; may be omitted if the models have only one."""
    model: str = Field("", max_length=200)
    """Name of a model; if omitted, the first model for the direction."""
    beam_size: int | None = None
    """Beam size; 1 is greedy search."""


class Sampling(Strict):
    """How to draw instead of searching for the best."""

    temperature: float = Field(1.0, le=1e6)
    top_k: int = Field(0, ge=0, le=1_000_000)
    top_p: float = 1.0
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)


class OwnTerm(Strict):
    """A term and what it has to become."""

    source: str = Field(min_length=1, max_length=200)
    target: str = Field(min_length=1, max_length=200)


class Translate(Tagging, Directed):
    """A request of `/api/v1/translate`. What is not given is the model's own."""

    text: Annotated[list[str], OneOrMore]
    """A text, or a list of texts."""
    n_best: int | None = None
    """Number of translations of each sentence."""
    length_penalty: float | None = None
    """Exponent of the length penalty; larger values prefer longer translations."""
    sampling: Sampling | None = None
    """Sample translations instead of searching for the most probable one."""
    prefix: str = Field("", max_length=10_000)
    """Beginning of the translation; for a single sentence only."""
    guards: bool = True
    """Whether translations are checked for errors, and searched for again if that helps."""
    protect: bool = True
    """Whether tags, variables, addresses and the like are kept unchanged, if the model can do so."""
    formality: Literal["formal", "informal", "prefer_formal", "prefer_informal"] | None = None
    """Form of address; `prefer_...` changes nothing if the model was not trained with it."""
    domain: str = Field("", max_length=40)
    """Domain of the text, if the model was trained with its tag."""
    split_sentences: bool = True
    """Whether texts are split into sentences."""
    terms: list[OwnTerm] = Field([], max_length=1000)
    """Source terms and their required translations."""
    stream: bool = False
    """Whether the answer is sent as server-sent events while the text grows."""

    def ask(self) -> Ask:
        """The requested task. Raises `Refusal` for what texts with tags or terms cannot have."""
        tags, terms = self.handling(), [(each.source, each.target) for each in self.terms]
        plain_only = {"prefix": self.prefix, "stream": self.stream, "n_best": self.n_best not in (None, 1)}
        for name, value in plain_only.items():
            if value and (tags is not None or terms):
                raise bad_request(f"{name}: only for text without tags and terms")
        names = {"beam_size", "n_best", "length_penalty", "sampling", "prefix", "formality", "domain"}
        options = {name: value or None for name, value in self.model_dump(include=names).items()}
        options |= {name: False for name in ("guards", "protect") if not getattr(self, name)}
        options |= {name: getattr(self, name) for name in ("beam_size", "n_best", "length_penalty")}  # 0 is a value
        return Ask(
            self.text,
            self.target_lang,
            self.source_lang,
            self.model,
            options,
            "sentences" if self.split_sentences and not self.prefix else "never",
            tags,
            terms,
            wide="beam_size and n_best",
        )


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
    path: list[str]
    """The languages of a translation through another one; empty if direct."""
    confidence: float | None
    """The mean of the sentences, weighted by their tokens."""
    warnings: list[str]
    """Those of the sentences, each once."""
    detected: list[Detected]
    """The likeliest first; empty if the request names the language."""
    sentences: list[Hypothesis]
    """The best translation of each sentence, or of each segment between tags."""


class Translated(Formatted):
    """The answer; with `stream` the data of the event `done`."""

    translations: list[Translation]
    """One for each text, in their order."""


@API.post("/api/v1/translate")
async def translate(call: Call, asked: Translate) -> Translated:
    """Translate texts, with n-best lists, scores and the translation of each sentence."""
    if asked.stream:
        following = await follow(call, asked.ask())
        return streamed(following, _events(following))  # type: ignore[return-value]
    return _answered(await call.service.translate(call.client, asked.ask()))  # type: ignore[return-value]


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` while words appear, with what will not change any more as `certain`; then `done`, or `error`."""
    growth = Growth()
    async for item in items:
        if isinstance(item, Refusal):
            yield event(plain(failure(item)), "error")
        elif not isinstance(item, Progress):
            yield event(_answered(item), "done")
        elif growth.is_worth(item):
            yield event({"text": item.number, "translation": item.text, "certain": item.certain}, "partial")


def _answered(answers: Sequence[Answer]) -> dict[str, Any]:
    """`Translated`, whose sentences come from the engine as JSON."""
    return {
        "format": FORMAT,
        "translations": [
            {
                "text": answer.text,
                "model": answer.model,
                "source_lang": answer.direction.source,
                "target_lang": answer.direction.target,
                "path": answer.found.get("path", []),
                "confidence": answer.found.get("confidence"),
                "warnings": answer.warnings,
                "detected": [{"language": code, "probability": likely} for code, likely in answer.detected.items()],
                "sentences": answer.found.get("sentences", []),
            }
            for answer in answers
        ],
    }


# ---- models and health


class Way(Result):
    """A direction; languages without names are empty."""

    source: str
    target: str
    through: str
    """The language through which texts are translated; empty for a direct one."""


class Served(Result):
    """A model."""

    name: str
    ready: bool
    """Whether all its engines are ready."""
    use: Literal["translate", "generate", "fill"]
    snapshots: int
    """Number of snapshots of its run."""
    directions: list[Way]
    decoding: dict[str, Any]
    """Search settings of a request that names none; empty while the model loads."""


class Bounds(Result):
    """What a request may have at most."""

    characters: int
    texts: int
    beam: int
    n_best: int


class Models(Formatted):
    """What is served."""

    models: list[Served]
    limits: Bounds


@API.get("/api/v1/models")
async def models(call: Call) -> Models:
    """List the models and the limits of the service."""
    found, limits = [], call.service.limits
    for model in call.service.catalog.models:
        ways = [(*each, "") for each in model.directions] + [(*each, other) for each, other in model.pivots.items()]
        served = Served(
            name=model.name,
            ready=model.pool.ready,
            use=model.use,
            snapshots=model.pool.info.get("snapshots", 0),
            directions=[Way(source=source, target=target, through=through) for source, target, through in ways],
            decoding=model.pool.info.get("decoding", {}),
        )
        found.append(served)
    bounds = Bounds(characters=limits.characters, texts=limits.texts, beam=limits.beam, n_best=limits.n_best)
    return Models(models=found, limits=bounds)


class Live(Formatted):
    """Whether the process answers."""

    live: bool


class Ready(Formatted):
    """Whether requests can be answered."""

    ready: bool
    models: dict[str, bool]
    """Readiness of each model, by name."""


@API.get("/api/v1/health/live", public=True, counted=False)
async def live(call: Call) -> Live:
    """Succeeds while the process answers."""
    return Live(live=True)


@API.get("/api/v1/health/ready", public=True, counted=False, statuses=(503,))
async def ready(call: Call) -> Ready:
    """Whether every model can translate: 503 while one loads or has no engine, and while the service ends."""
    models = {model.name: model.pool.ready for model in call.service.catalog.models}
    state = Ready(ready=call.service.ready, models=models)
    return state if state.ready else json_content(state, 503)  # type: ignore[return-value]


@API.get("/metrics", counted=False, media_type=MEDIA_TYPE)
async def metrics(call: Call) -> Response:
    """The metrics for Prometheus."""
    counted = call.service.metrics
    for model in call.service.catalog.models:
        counted.waiting.labels(model.name).set(model.pool.waiting)
        counted.decoding.labels(model.name).set(model.pool.decoding)
        counted.ready.labels(model.name).set(model.pool.ready)
    return content(counted.text(), MEDIA_TYPE)


# ---- explanations


class Explain(Directed):
    """A request of `/api/v1/attention`, `/api/v1/steps` and `/api/v1/beam`."""

    text: str = Field(min_length=1, max_length=CHARACTERS)
    """One sentence."""
    prefix: str = Field("", max_length=CHARACTERS)
    """Beginning of the translation."""
    target: str | None = Field(None, max_length=CHARACTERS)
    """A translation to inspect instead of the model's own."""
    every_head: bool = False
    """Whether to return the weights of each head, and not only their means."""


class Attention(Formatted):
    """The weights of a translation, and its tokens."""

    attention: dict[str, Any]
    """As in `docs/schema/page-1.json`, without `steps` and `beam`."""


class Explained(Formatted):
    """A part of the document of `docs/schema/page-1.json`."""

    model: str
    translation: dict[str, Any]


class Steps(Explained):
    """The probability of every token of a translation."""

    steps: list[dict[str, Any]]


class Beam(Explained):
    """The search for a translation."""

    beam: dict[str, Any] | None
    """Null if the translation was given."""


async def _document(call: Call, asked: Explain) -> dict[str, Any]:
    if asked.prefix and asked.target is not None:
        raise bad_request("prefix: not with target, which is a whole translation; leave one of them out")
    ask = Ask([asked.text], asked.target_lang, asked.source_lang, asked.model, {"beam_size": asked.beam_size})
    options = asked.model_dump(include={"beam_size", "prefix", "target", "every_head"}, exclude_none=True)
    document: dict[str, Any] = await call.service.inspect(call.client, ask, "explain_text", options)
    return document


@API.post("/api/v1/attention")
async def attention(call: Call, asked: Explain) -> Attention:
    """The attention of a sentence and its translation."""
    document = await _document(call, asked)
    seen = {key: value for key, value in document.items() if key not in ("steps", "beam")}
    return Attention(attention=seen)


@API.post("/api/v1/steps")
async def steps(call: Call, asked: Explain) -> Steps:
    """Every token of a translation with its probability, and what else could have stood there."""
    found = await _document(call, asked)
    return Steps(**{name: found[name] for name in ("model", "translation", "steps")})


@API.post("/api/v1/beam")
async def beam(call: Call, asked: Explain) -> Beam:
    """The search for a translation, as a tree of hypotheses."""
    found = await _document(call, asked)
    return Beam(beam=found.get("beam"), model=found["model"], translation=found["translation"])


# ---- translation memories


class Segment(Strict):
    """A text and its translation."""

    source: str
    target: str


class NewMemory(Strict):
    """A memory: its segments, or a file of them as the part `file` of a form (`multipart/form-data`)."""

    name: str = Field(min_length=1, max_length=200)
    """Shown in `origin` of matches."""
    source_lang: str = Field(min_length=2, max_length=20)
    target_lang: str = Field(min_length=2, max_length=20)
    segments: list[Segment] = Field([])


class Memory(Result):
    """A memory."""

    id: str
    name: str
    source_lang: str
    target_lang: str
    segments: int
    """Their number."""
    created: str


class Added(Formatted, Memory):
    """A new memory."""

    left_out: int
    """Segments of the file that cannot be used."""
    reason: str
    """That of the first of them; empty if there are none."""


class ListedMemories(Formatted):
    """The memories of a client."""

    memories: list[Memory]


def _shown(memory: StoredMemory) -> dict[str, Any]:
    languages = {"source_lang": memory.source, "target_lang": memory.target}
    return {**memory.model_dump(include={"id", "name", "segments", "created"}), **languages}


@API.post("/api/v1/memory", status=201, upload=True)
async def add_memory(call: Call, asked: NewMemory) -> Added:
    """Store a translation memory, which the translations of this key reuse in every API."""
    file = call.uploads.get("file")
    if (file is not None) == bool(asked.segments):
        raise bad_request("segments: send them, or a file of them as the part file of a form, and not both")
    (way, *_) = await call.service.ways(asked.source_lang, asked.target_lang)
    sent = Sent(pairs=[(each.source, each.target) for each in asked.segments])
    if file is not None:
        sent = Sent(file.name or "file", file.content)
    source, target = way.direction
    memory = StoredMemory(owner=call.client.key, name=asked.name, source=source, target=target)
    kept, left_out = await call.service.memories.add(memory, sent)
    return Added(left_out=len(left_out), reason=left_out[0] if left_out else "", **_shown(kept))


@API.get("/api/v1/memory")
async def list_memories(call: Call) -> ListedMemories:
    """List the translation memories of this key."""
    found = call.service.memories.list(call.client.key)
    return ListedMemories(memories=[Memory(**_shown(each)) for each in found])


@API.delete("/api/v1/memory/{id}")
async def delete_memory(call: Call) -> None:
    """Delete a translation memory."""
    await call.service.memories.delete(call.client.key, call.path["id"])
