"""Limelight's own API, `/api/v1`: what the other dialects cannot say. Every answer has a `format`.

POST /api/v1/translate      texts, with n-best lists, scores and the translation of each sentence
POST /api/v1/attention      one sentence from inside: the weights of every kind of attention, as the page draws them
POST /api/v1/steps          each token with its probability, and what else could have stood there
POST /api/v1/beam           the search as a tree
GET  /api/v1/models         what is served
GET  /api/v1/health/live    whether the process answers
GET  /api/v1/health/ready   whether it can translate
GET  /metrics               for Prometheus
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.asks import Ask, Split
from limelight.serving.call import Call, Content, Dialect, Reply, Route
from limelight.serving.dialects.answers import FORMAT, Attention, Beam, Failure, Live, Models, Ready, Steps, Translated
from limelight.serving.dialects.deepl import OneOrMore
from limelight.serving.dialects.events import Following, Growth, Progress, event, follow
from limelight.serving.dialects.tags import Tagging
from limelight.serving.logs import MEDIA_TYPE
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Service


def error(refusal: Refusal) -> Reply:
    """`{"format": 1, "error": {"code": ..., "message": ...}}`."""
    return Reply({"format": FORMAT, "error": {"code": refusal.code, "message": refusal.message}})


OWN = Dialect("limelight", error, Failure)


class Sampling(BaseModel):
    """How to draw instead of searching for the best."""

    model_config = ConfigDict(extra="forbid")

    temperature: float = Field(1.0, le=1e6)
    top_k: int = Field(0, ge=0, le=1_000_000)
    top_p: float = 1.0
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)


class OwnTerm(BaseModel):
    """A term and what it has to become."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(min_length=1, max_length=200)
    target: str = Field(min_length=1, max_length=200)


class Translate(Tagging):
    """A request of `/api/v1/translate`. What is not given is the model's own."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[list[str], OneOrMore] = Field(description="A text, or a list of texts.")
    source_lang: str = Field("", max_length=20, description="Source language; detected if omitted.")
    target_lang: str = Field(
        "", max_length=20, description="Target language; may be omitted if the models have only one."
    )
    model: str = Field(
        "", max_length=200, description="Name of a model; if omitted, the first model for the direction."
    )
    beam_size: int | None = Field(None, description="Beam size; 1 is greedy search.")
    n_best: int | None = Field(None, description="Number of translations of each sentence.")
    length_penalty: float | None = Field(
        None, description="Exponent of the length penalty; larger values prefer longer translations."
    )
    sampling: Sampling | None = Field(
        None, description="Sample translations instead of searching for the most probable one."
    )
    prefix: str = Field("", max_length=10_000, description="Beginning of the translation; for a single sentence only.")
    guards: bool = Field(
        True, description="Whether translations are checked for errors, and searched for again if that helps."
    )
    protect: bool = Field(
        True, description="Whether tags, variables, addresses and the like are kept unchanged, if the model can do so."
    )
    formality: Literal["formal", "informal", "prefer_formal", "prefer_informal"] | None = Field(
        None, description="Form of address; `prefer_...` changes nothing if the model was not trained with it."
    )
    domain: str = Field("", max_length=40, description="Domain of the text, if the model was trained with its tag.")
    split_sentences: bool = Field(True, description="Whether texts are split into sentences.")
    terms: list[OwnTerm] = Field([], max_length=1000, description="Source terms and their required translations.")
    stream: bool = Field(False, description="Whether the answer is sent as server-sent events while the text grows.")

    def ask(self) -> Ask:
        """The requested task."""
        options: dict[str, Any] = {
            "beam_size": self.beam_size,
            "n_best": self.n_best,
            "length_penalty": self.length_penalty,
            "sampling": None if self.sampling is None else self.sampling.model_dump(),
            "prefix": self.prefix or None,
            "guards": None if self.guards else False,
            "protect": None if self.protect else False,
            "formality": self.formality,
            "domain": self.domain or None,
        }
        split: Split = "sentences" if self.split_sentences and not self.prefix else "never"
        tags = self.handling()
        if tags is not None or self.terms:
            self._refuse_plain_options()
        terms = [(each.source, each.target) for each in self.terms]
        wide = "beam_size and n_best"
        return Ask(self.text, self.target_lang, self.source_lang, self.model, options, split, tags, terms, wide=wide)

    def _refuse_plain_options(self) -> None:
        """Raises `Refusal` for what texts with tags or terms cannot have."""
        given = {"prefix": self.prefix, "stream": self.stream, "n_best": self.n_best not in (None, 1)}
        for name, value in given.items():
            if value:
                raise bad_request(f"{name}: only for text without tags and terms")


async def translate(service: Service, call: Call) -> Reply:
    """Translate texts, with n-best lists, scores and the translation of each sentence."""
    asked = call.read(Translate)
    if asked.stream:
        following = await follow(service, call.client, asked.ask())
        return Reply(events=_events(following), close=following.close)
    return Reply(_answered(await service.translate(call.client, asked.ask())))


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` while words appear, with what will not change any more as `certain`; then `done`, or `error`."""
    growth = Growth()
    async for item in items:
        if isinstance(item, Progress):
            if not growth.is_worth(item):
                continue
            yield event({"text": item.number, "translation": item.text, "certain": item.certain}, "partial")
        elif isinstance(item, Refusal):
            yield event(error(item).value, "error")
        else:
            yield event(_answered(item), "done")


def _answered(answers: Sequence[Answer]) -> dict[str, Any]:
    return {"format": FORMAT, "translations": [shown(answer) for answer in answers]}


def shown(answer: Answer) -> dict[str, Any]:
    """A translated text, with each of its sentences."""
    return {
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


async def models(service: Service, call: Call) -> Reply:
    """List the models and the limits of the service."""
    found = [
        {
            "name": model.name,
            "ready": model.pool.ready,
            "use": model.use,
            "snapshots": model.pool.info.get("snapshots", 0),
            "directions": [
                *({**each._asdict(), "through": ""} for each in model.directions),
                *({**each._asdict(), "through": between} for each, between in model.pivots.items()),
            ],
            "decoding": model.pool.info.get("decoding", {}),
        }
        for model in service.catalog.models
    ]
    limits = service.limits
    bounds = {"characters": limits.characters, "texts": limits.texts, "beam": limits.beam, "n_best": limits.n_best}
    return Reply({"format": FORMAT, "models": found, "limits": bounds})


async def live(service: Service, call: Call) -> Reply:
    """Succeeds while the process answers."""
    return Reply({"format": FORMAT, "live": True})


async def ready(service: Service, call: Call) -> Reply:
    """Whether every model can translate: 503 while one loads or has no engine, and while the service ends."""
    models = {model.name: model.pool.ready for model in service.catalog.models}
    state = {"format": FORMAT, "ready": service.ready, "models": models}
    return Reply(state, 200 if service.ready else 503)


async def metrics(service: Service, call: Call) -> Reply:
    """The metrics for Prometheus."""
    for model in service.catalog.models:
        service.metrics.waiting.labels(model.name).set(model.pool.waiting)
        service.metrics.decoding.labels(model.name).set(model.pool.decoding)
        service.metrics.ready.labels(model.name).set(model.pool.ready)
    return Reply(content=service.metrics.text(), media_type=MEDIA_TYPE)


CHARACTERS = 2000


class Explain(BaseModel):
    """A request of `/api/v1/attention`, `/api/v1/steps` and `/api/v1/beam`."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=CHARACTERS, description="One sentence.")
    source_lang: str = Field("", max_length=20, description="Source language; detected if omitted.")
    target_lang: str = Field(
        "", max_length=20, description="Target language; may be omitted if the models have only one."
    )
    model: str = Field("", max_length=200, description="Name of a model.")
    beam_size: int | None = Field(None, description="Beam size.")
    prefix: str = Field("", max_length=CHARACTERS, description="Beginning of the translation.")
    target: str | None = Field(
        None, max_length=CHARACTERS, description="A translation to inspect instead of the model's own."
    )
    every_head: bool = Field(False, description="Whether to return the weights of each head, and not only their means.")


async def _document(service: Service, call: Call) -> dict[str, Any]:
    asked = call.read(Explain)
    if asked.prefix and asked.target is not None:
        raise bad_request("prefix: not with target, which is a whole translation; leave one of them out")
    ask = Ask([asked.text], asked.target_lang, asked.source_lang, asked.model, {"beam_size": asked.beam_size})
    options = asked.model_dump(include={"beam_size", "prefix", "target", "every_head"}, exclude_none=True)
    document: dict[str, Any] = await service.inspect(call.client, ask, "explain_text", options)
    return document


async def attention(service: Service, call: Call) -> Reply:
    """The attention of a sentence and its translation: the document of docs/schema/page-1.json."""
    document = await _document(service, call)
    seen = {key: value for key, value in document.items() if key not in ("steps", "beam")}
    return Reply({"format": FORMAT, "attention": seen})


async def steps(service: Service, call: Call) -> Reply:
    """Every token of a translation with its probability, and what else could have stood there."""
    return _part(await _document(service, call), "steps")


async def beam(service: Service, call: Call) -> Reply:
    """The search for a translation, as a tree of hypotheses."""
    return _part(await _document(service, call), "beam")


def _part(document: dict[str, Any], name: str) -> Reply:
    return Reply({"format": FORMAT, **{key: document.get(key) for key in ("model", "translation", name)}})


ROUTES = (
    Route("POST", "/api/v1/translate", OWN, translate, Translated, form=Translate, streams=True),
    Route("GET", "/api/v1/models", OWN, models, Models),
    Route("GET", "/api/v1/health/live", OWN, live, Live, public=True, counted=False),
    Route("GET", "/api/v1/health/ready", OWN, ready, Ready, public=True, counted=False, statuses=(200, 503)),
    Route("GET", "/metrics", OWN, metrics, Content(MEDIA_TYPE), counted=False),
    Route("POST", "/api/v1/attention", OWN, attention, Attention, form=Explain),
    Route("POST", "/api/v1/steps", OWN, steps, Steps, form=Explain),
    Route("POST", "/api/v1/beam", OWN, beam, Beam, form=Explain),
)
