"""Limelight's own API, `/api/v1`: what the other dialects cannot say. Every answer has a `format`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from limelight.serving.call import Api, Call, JsonObject, JSONResponse, Response, Strict
from limelight.serving.dialects.deepl import Language, OneOrMore, Tagging
from limelight.serving.events import Events, Progress, event, streamed
from limelight.serving.logs import MEDIA_TYPE
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Ask
from limelight.serving.stored import StoredMemory

FORMAT = 1
LanguageOrEmpty = Annotated[str, Field(max_length=20)]


def failure(refusal: Refusal) -> JsonObject:
    """A refusal; in a stream the data of the event `error`."""
    return {"format": FORMAT, "error": {"code": refusal.code, "message": refusal.message}}


API = Api("limelight", failure, ("/api/",))


def events_of(done: Callable[[Any], JsonObject], *, numbered: bool = False) -> Events:
    """`partial` when more of a text is there; then `done`, whose data is made of the answer, or `error`."""

    async def events(items: AsyncIterator[Any]) -> AsyncIterator[str]:
        async for item in items:
            if isinstance(item, Refusal):
                yield event(failure(item), "error")
            elif isinstance(item, Progress):
                shown = {"text": item.number, "translation": item.text} if numbered else {"text": item.text}
                yield event(shown, "partial")
            else:
                yield event(done(item), "done")

    return events


# ---- translation


class Directed(Strict):
    """The direction and the model of a request."""

    source_lang: LanguageOrEmpty = ""
    """Source language; detected if omitted."""
    target_lang: LanguageOrEmpty = ""
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
    prefix: str | None = Field(None, max_length=10_000)
    """Beginning of the translation; for a single sentence only."""
    guards: bool | None = None
    """Whether translations are checked for errors, and searched for again if that helps; true if omitted."""
    protect: bool | None = None
    """Whether tags, variables, addresses and the like are kept unchanged, if the model can do so; true if omitted."""
    formality: Literal["formal", "informal", "prefer_formal", "prefer_informal"] | None = None
    """Form of address; `prefer_...` changes nothing if the model was not trained with it."""
    domain: str | None = Field(None, max_length=40)
    """Domain of the text, if the model was trained with its tag."""
    split_sentences: bool = True
    """Whether texts are split into sentences."""
    terms: list[OwnTerm] = Field([], max_length=1000)
    """Source terms and their required translations."""
    stream: bool = False
    """Whether the answer is sent as server-sent events while the text grows."""

    def ask(self) -> Ask:
        """The requested task. Raises `Refusal` for what texts with tags or terms cannot have."""
        tags, terms = self.handling(), [(term.source, term.target) for term in self.terms]
        plain_only = {"prefix": self.prefix, "stream": self.stream, "n_best": self.n_best not in (None, 1)}
        for name, value in plain_only.items():
            if value and (tags is not None or terms):
                raise bad_request(f"{name}: only for text without tags and terms")
        options = self.model_dump(include=OPTIONS)
        options |= {name: None for name in ("guards", "protect") if options[name]}  # the model's own
        options |= {"lines": bool(self.prefix) or not self.split_sentences, "tags": tags, "terms": terms}
        return Ask(self.text, self.target_lang, self.source_lang, self.model, options)


OPTIONS = {"beam_size", "n_best", "length_penalty", "sampling", "prefix", "guards", "protect", "formality",
           "domain"}  # fmt: skip
"""Fields that are options of `Translator.options`."""


@API.route("/api/v1/translate", "POST")
async def translate(call: Call, form: Translate) -> Any:
    """Translate texts, with n-best lists, scores and the translation of each sentence."""
    work = partial(call.service.translate, call.client, form.ask())
    if form.stream:
        return await streamed(call.service.log, work, events_of(_answered, numbered=True))
    return _answered(await work())


def _answered(answers: Sequence[Answer]) -> JsonObject:
    """One translation for each text, in their order. Its confidence is the mean of the sentences, weighted by their
    tokens; `detected` is empty if the request names the language; `sentences` are the best translation of each
    sentence, or of each segment between tags."""
    translations = [
        {name: value for name, value in answer._asdict().items() if name not in ("alternatives", "tokens")}
        | {"detected": [{"language": code, "probability": likely} for code, likely in answer.detected.items()]}
        for answer in answers
    ]
    return {"format": FORMAT, "translations": translations}


# ---- models and health


@API.route("/api/v1/models")
async def models(call: Call) -> JsonObject:
    """List the models with their directions; `through` is the language between, empty if direct. Also the limits of a
    request. `use` is the task of a model, by the name of its command: `translate`, `generate` or `fill`. `snapshots` is
    the number of snapshots of the run; `decoding` are the settings that a request does not give; `examples` are
    validation sentences of the run by language.
    """
    described = []
    for model in call.service.catalog.models:
        directions = dict.fromkeys(model.directions, "") | model.pivots
        info = model.pool.info
        described.append(
            {
                "name": model.name,
                "ready": model.pool.ready,
                "use": model.use,
                "snapshots": info.get("snapshots", 0),
                "directions": [{**pair._asdict(), "through": through} for pair, through in directions.items()],
                "decoding": info.get("decoding", {}),
                "examples": info.get("examples", {}),
            }
        )
    bounds = {name: getattr(call.service.limits, name) for name in ("characters", "texts", "beam", "n_best")}
    return {"format": FORMAT, "models": described, "limits": bounds}


@API.route("/api/v1/health/live", public=True, counted=False)
async def live(call: Call) -> JsonObject:
    """Succeeds while the process answers."""
    return {"format": FORMAT, "live": True}


@API.route("/api/v1/health/ready", public=True, counted=False)
async def ready(call: Call) -> Response:
    """Whether every model can translate: 503 while one loads or has no engine, and while the service ends."""
    models = {model.name: model.pool.ready for model in call.service.catalog.models}
    state = {"format": FORMAT, "ready": call.service.ready, "models": models}
    return JSONResponse(state, 200 if state["ready"] else 503)


@API.route("/metrics", counted=False)
async def metrics(call: Call) -> Response:
    """The metrics for Prometheus."""
    counted = call.service.metrics
    for model in call.service.catalog.models:
        counted.waiting.labels(model.name).set(model.pool.waiting)
        counted.ready.labels(model.name).set(model.pool.ready)
    return Response(counted.text(), media_type=MEDIA_TYPE)


# ---- translation memories


class NewMemory(Strict):
    """A memory."""

    file: Any = None
    """The segments, as a file of the form."""
    name: str = Field(min_length=1, max_length=200)
    """Shown in `origin` of matches."""
    source_lang: Language
    target_lang: Language


def _shown(memory: StoredMemory) -> JsonObject:
    shown = memory.model_dump(include={"id", "name", "segments", "created"})
    return {**shown, "source_lang": memory.source, "target_lang": memory.target}


@API.route("/api/v1/memory", "POST", status=201, upload=True)
async def add_memory(call: Call, form: NewMemory) -> JsonObject:
    """Store a translation memory, which the translations of this key reuse in every API."""
    source, target = call.service.catalog.ways(form.source_lang, form.target_lang)[0].direction
    memory = StoredMemory(owner=call.client.key, name=form.name, source=source, target=target)
    # A thread works on it, so it is stored whole also where the client leaves meanwhile.
    kept, left_out = await asyncio.shield(call.service.memories.add(memory, call.file.name, call.file.content))
    reason = f"line {left_out[0].line}: {left_out[0].reason}" if left_out else ""
    return {"format": FORMAT, "left_out": len(left_out), "reason": reason, **_shown(kept)}


@API.route("/api/v1/memory")
async def list_memories(call: Call) -> JsonObject:
    """List the translation memories of this key."""
    return {"format": FORMAT, "memories": list(map(_shown, call.service.memories.list(call.client.key)))}


@API.route("/api/v1/memory/{id}", "DELETE", status=204)
async def delete_memory(call: Call) -> None:
    """Delete a translation memory."""
    await call.service.memories.delete(call.client.key, call.path["id"])
