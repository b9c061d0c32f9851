"""Our own API for one sentence seen from inside: attention, the probability of every token, the beam.

POST /api/v1/attention      the weights of every kind, as the page draws them
POST /api/v1/steps          each token with its probability, and what else could have stood there
POST /api/v1/beam           the search as a tree
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Reply, Route
from limelight.serving.dialects.answers import FORMAT, Attention, Beam, Steps
from limelight.serving.dialects.own import OWN
from limelight.serving.service import Ask, Service

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
    ask = Ask([asked.text], asked.target_lang, asked.source_lang, asked.model, {"beam_size": asked.beam_size})
    options = asked.model_dump(include={"beam_size", "prefix", "target", "every_head"}, exclude_none=True)
    document: dict[str, Any] = await service.inspect(call.client, ask, "explain_text", options)
    return document


async def attention(service: Service, call: Call) -> Reply:
    """The attention of a sentence and its translation: the document of docs/schema/page-1.json."""
    document = await _document(service, call)
    return Reply(
        {"format": FORMAT, "attention": {key: document[key] for key in document if key not in ("steps", "beam")}}
    )


async def steps(service: Service, call: Call) -> Reply:
    """Every token of a translation with its probability, and what else could have stood there."""
    document = await _document(service, call)
    return Reply(
        {
            "format": FORMAT,
            "model": document["model"],
            "translation": document["translation"],
            "steps": document["steps"],
        }
    )


async def beam(service: Service, call: Call) -> Reply:
    """The search for a translation, as a tree of hypotheses."""
    document = await _document(service, call)
    return Reply(
        {
            "format": FORMAT,
            "model": document["model"],
            "translation": document["translation"],
            "beam": document.get("beam"),
        }
    )


ROUTES = (
    Route("POST", "/api/v1/attention", OWN, attention, Attention, form=Explain),
    Route("POST", "/api/v1/steps", OWN, steps, Steps, form=Explain),
    Route("POST", "/api/v1/beam", OWN, beam, Beam, form=Explain),
)
