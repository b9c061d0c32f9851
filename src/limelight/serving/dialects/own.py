"""Limelight's own API, `/api/v1`: what the other dialects cannot say. Every answer has a `format`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from limelight.pipelines.translation import Translation as Hypothesis
from limelight.serving.asks import Ask
from limelight.serving.call import Api, Call, JsonObject, JSONResponse, Response, Strict
from limelight.serving.dialects.deepl import OneOrMore, Tagging
from limelight.serving.events import Following, Progress, event, follow, streamed
from limelight.serving.logs import MEDIA_TYPE
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer
from limelight.serving.stored import StoredMemory

FORMAT = 1
Language = Annotated[str, Field(max_length=20)]


def failure(refusal: Refusal) -> JsonObject:
    """A refusal; with `stream` the data of the event `error`."""
    return {"format": FORMAT, "error": {"code": refusal.code, "message": refusal.message}}


API = Api("limelight", failure, ("/api/",))


# ---- translation


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
        names = {"beam_size", "n_best", "length_penalty", "sampling", "formality"}
        options = {**self.model_dump(include=names), "prefix": self.prefix or None, "domain": self.domain or None}
        options |= {name: False for name in ("guards", "protect") if not getattr(self, name)}
        return Ask(
            self.text,
            self.target_lang,
            self.source_lang,
            self.model,
            options,
            "sentences" if self.split_sentences and not self.prefix else "never",
            tags,
            terms,
        )


class Detected(Strict):
    """A source language, and how likely it is."""

    language: str
    probability: float


class Translation(Strict):
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


class Translated(Strict):
    """The answer; with `stream` the data of the event `done`."""

    format: Literal[1]
    translations: list[Translation]
    """One for each text, in their order."""


@API.post("/api/v1/translate")
async def translate(call: Call, asked: Translate) -> Translated:
    """Translate texts, with n-best lists, scores and the translation of each sentence."""
    if asked.stream:
        following = await follow(call, asked.ask())
        return streamed(following, _events(following))
    return _answered(await call.service.translate(call.client, asked.ask()))  # type: ignore[return-value]


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` when further sentences are finished; then `done`, or `error`."""
    async for item in items:
        if isinstance(item, Refusal):
            yield event(failure(item), "error")
        elif isinstance(item, Progress):
            yield event({"text": item.number, "translation": item.text}, "partial")
        else:
            yield event(_answered(item), "done")


def _answered(answers: Sequence[Answer]) -> JsonObject:
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


@API.get("/api/v1/models")
async def models(call: Call) -> JsonObject:
    """List the models and the limits of the service.

    A direction has the language through which texts are translated, empty for a direct one; `decoding` are the search
    settings of a request that names none, `snapshots` the number of snapshots of the model's run, `examples` some
    validation sentences of the run by language.
    """
    found, limits = [], call.service.limits
    for model in call.service.catalog.models:
        ways = [(*each, "") for each in model.directions] + [(*each, other) for each, other in model.pivots.items()]
        found.append(
            {
                "name": model.name,
                "ready": model.pool.ready,
                "use": model.use,
                "snapshots": model.pool.info.get("snapshots", 0),
                "directions": [{"source": one, "target": other, "through": through} for one, other, through in ways],
                "decoding": model.pool.info.get("decoding", {}),
                "examples": model.pool.info.get("examples", {}),
            }
        )
    bounds = {name: getattr(limits, name) for name in ("characters", "texts", "beam", "n_best")}
    return {"format": FORMAT, "models": found, "limits": bounds}


@API.get("/api/v1/health/live", public=True, counted=False)
async def live(call: Call) -> JsonObject:
    """Succeeds while the process answers."""
    return {"format": FORMAT, "live": True}


@API.get("/api/v1/health/ready", public=True, counted=False)
async def ready(call: Call) -> JsonObject:
    """Whether every model can translate: 503 while one loads or has no engine, and while the service ends."""
    models = {model.name: model.pool.ready for model in call.service.catalog.models}
    state = {"format": FORMAT, "ready": call.service.ready, "models": models}
    return JSONResponse(state, 200 if state["ready"] else 503)  # type: ignore[return-value]


@API.get("/metrics", counted=False, media_type=MEDIA_TYPE)
async def metrics(call: Call) -> Response:
    """The metrics for Prometheus."""
    counted = call.service.metrics
    for model in call.service.catalog.models:
        counted.waiting.labels(model.name).set(model.pool.waiting)
        counted.decoding.labels(model.name).set(model.pool.decoding)
        counted.ready.labels(model.name).set(model.pool.ready)
    return Response(counted.text(), media_type=MEDIA_TYPE)


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


def _shown(memory: StoredMemory) -> JsonObject:
    languages = {"source_lang": memory.source, "target_lang": memory.target}
    return {**memory.model_dump(include={"id", "name", "segments", "created"}), **languages}


@API.post("/api/v1/memory", status=201, upload=True)
async def add_memory(call: Call, asked: NewMemory) -> JsonObject:
    """Store a translation memory, which the translations of this key reuse in every API."""
    file = call.uploads.get("file")
    if (file is not None) == bool(asked.segments):
        raise bad_request("segments: send them, or a file of them as the part file of a form, and not both")
    (way, *_) = call.service.ways(asked.source_lang, asked.target_lang)
    source, target = way.direction
    memory = StoredMemory(owner=call.client.key, name=asked.name, source=source, target=target)
    lines = "\n".join(segment.model_dump_json() for segment in asked.segments)
    kept, left_out = await call.service.memories.add(memory, *(file or ("segments.jsonl", lines.encode())))
    reason = left_out[0] if left_out else ""
    return {"format": FORMAT, "left_out": len(left_out), "reason": reason, **_shown(kept)}


@API.get("/api/v1/memory")
async def list_memories(call: Call) -> JsonObject:
    """List the translation memories of this key."""
    found = call.service.memories.list(call.client.key)
    return {"format": FORMAT, "memories": [_shown(each) for each in found]}


@API.delete("/api/v1/memory/{id}")
async def delete_memory(call: Call) -> None:
    """Delete a translation memory."""
    await call.service.memories.delete(call.client.key, call.path["id"])
