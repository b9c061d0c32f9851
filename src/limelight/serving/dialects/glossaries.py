"""The glossaries of DeepL's API, version 2: each is for one direction, and is not changed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from limelight.serving.call import Asked, Call, JsonObject, Response
from limelight.serving.dialects.deepl import API, Language
from limelight.serving.stored import StoredGlossary, read_entries

SEPARATORS = {"tsv": "\t", "csv": ","}


class NewGlossary(Asked):
    """A glossary."""

    name: Annotated[str, Field(min_length=1, max_length=1024)]
    source_lang: Language
    target_lang: Language
    entries: str
    """A term a line: its source, a tab or a comma, and its target."""
    entries_format: Literal["tsv", "csv"] = "tsv"


def _shown(glossary: StoredGlossary) -> JsonObject:
    return {
        "ready": True,
        "glossary_id": glossary.id,
        "name": glossary.name,
        "creation_time": glossary.created,
        "source_lang": glossary.source,
        "target_lang": glossary.target,
        "entry_count": len(glossary.terms),
    }


def _found(call: Call) -> StoredGlossary:
    return call.service.glossaries.find(call.client.key, call.path["id"])


@API.post("/v2/glossaries", status=201)
async def create(call: Call, asked: NewGlossary) -> JsonObject:
    """Create a glossary."""
    languages = asked.source_lang, asked.target_lang
    call.service.catalog.ways(*languages)
    entries = await asyncio.to_thread(read_entries, asked.entries, SEPARATORS[asked.entries_format])
    source, target = (each.replace("_", "-").partition("-")[0].lower() for each in languages)
    new = StoredGlossary(owner=call.client.key, name=asked.name, source=source, target=target, entries=entries)
    return _shown(await call.service.glossaries.add(new))


@API.get("/v2/glossaries")
async def several(call: Call) -> JsonObject:
    """List the glossaries."""
    return {"glossaries": list(map(_shown, call.service.glossaries.list(call.client.key)))}


@API.get("/v2/glossaries/{id}")
async def details(call: Call) -> JsonObject:
    """A glossary."""
    return _shown(_found(call))


@API.get("/v2/glossaries/{id}/entries")
async def entries(call: Call) -> Response:
    """The terms of a glossary."""
    return Response(_found(call).entries, media_type="text/tab-separated-values; charset=utf-8")


@API.delete("/v2/glossaries/{id}")
async def delete(call: Call) -> None:
    """Delete a glossary."""
    await call.service.glossaries.delete(call.client.key, call.path["id"])


@API.get("/v2/glossary-language-pairs")
async def pairs(call: Call) -> JsonObject:
    """List the directions that glossaries can have."""
    directions = call.service.catalog.directions
    return {"supported_languages": [{"source_lang": one, "target_lang": other} for one, other in directions]}
