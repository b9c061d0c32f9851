"""Translation memories of clients: a key sends segments, which its translations reuse in every API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Reply, Result, Route
from limelight.serving.dialects.answers import FORMAT, Format
from limelight.serving.dialects.own import OWN
from limelight.serving.refusal import bad_request
from limelight.serving.service import Service
from limelight.serving.stored import Sent, StoredMemory


class Segment(BaseModel):
    """A text and its translation."""

    model_config = ConfigDict(extra="forbid")

    source: str
    target: str


class NewMemory(BaseModel):
    """A memory: its segments, or a file of them as the part `file` of a form (`multipart/form-data`)."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200, description="Shown in `origin` of matches.")
    source_lang: str = Field(min_length=2, max_length=20)
    target_lang: str = Field(min_length=2, max_length=20)
    segments: list[Segment] = []


class Memory(Result):
    """A memory."""

    id: str
    name: str
    source_lang: str
    target_lang: str
    segments: int = Field(description="Their number.")
    created: str


class Added(Memory):
    """A new memory."""

    format: Format
    left_out: int = Field(description="Segments of the file that cannot be used.")
    reason: str = Field(description="That of the first of them; empty if there are none.")


class Listed(Result):
    """The memories of a client."""

    format: Format
    memories: list[Memory]


def _shown(memory: StoredMemory) -> dict[str, Any]:
    languages = {"source_lang": memory.source, "target_lang": memory.target}
    named = {"id": memory.id, "name": memory.name}
    return {**named, **languages, "segments": memory.segments, "created": memory.created}


async def create(service: Service, call: Call) -> Reply:
    """Store a translation memory."""
    asked = call.read(NewMemory)
    if ("file" in call.uploads) == bool(asked.segments):
        raise bad_request("segments: send them, or a file of them as the part file of a form, and not both")
    (way, *_) = await service.ways(asked.source_lang, asked.target_lang)
    sent = Sent(pairs=[(each.source, each.target) for each in asked.segments])
    if "file" in call.uploads:
        sent = Sent(call.uploads["file"].name or "file", call.uploads["file"].content)
    source, target = way.direction
    new = StoredMemory(owner=call.client.key, name=asked.name, source=source, target=target)
    new, left_out = await service.memories.add(new, sent)
    return Reply(
        {"format": FORMAT, **_shown(new), "left_out": len(left_out), "reason": left_out[0] if left_out else ""}, 201
    )


async def several(service: Service, call: Call) -> Reply:
    """List the translation memories of this key."""
    return Reply({"format": FORMAT, "memories": [_shown(each) for each in service.memories.list(call.client.key)]})


async def delete(service: Service, call: Call) -> Reply:
    """Delete a translation memory."""
    await service.memories.delete(call.client.key, call.path["id"])
    return Reply(status=204)


ROUTES = (
    Route("POST", "/api/v1/memory", OWN, create, Added, form=NewMemory, statuses=(201,), upload=True),
    Route("GET", "/api/v1/memory", OWN, several, Listed),
    Route("DELETE", "/api/v1/memory/{id}", OWN, delete, None, statuses=(204,)),
)
