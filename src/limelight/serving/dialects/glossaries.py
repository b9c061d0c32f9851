"""The glossaries of DeepL: version 2 with one direction each, version 3 with any number of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from limelight.serving.call import Asked, Call, JsonObject, Response
from limelight.serving.dialects.deepl import API, Language
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.stored import Dictionary, StoredGlossary, read_entries

Name = Annotated[str, Field(min_length=1, max_length=1024)]
_INDEXED = re.compile(r"dictionaries\[(\d{1,3})\]\.(\w+)")


class Pair(Asked):
    """The direction of a dictionary."""

    source_lang: Language
    target_lang: Language


class Entries(Pair):
    """The terms of one direction."""

    entries: str
    """A term a line: its source, a tab or a comma, and its target."""
    entries_format: Literal["tsv", "csv"] = "tsv"

    def read(self, call: Call, before: Dictionary | None = None) -> Dictionary:
        """The glossary as a dictionary. Raises `Refusal` for a direction that no model has, and for an invalid term."""
        call.service.catalog.ways(self.source_lang, self.target_lang)
        separator = "\t" if self.entries_format == "tsv" else ","
        return read_entries(self.source_lang, self.target_lang, self.entries, separator, before)


class OneDirection(Entries):
    """A glossary of version 2."""

    name: Name


class Changed(Asked):
    """What is to change in a glossary: its name, or the entries of one direction, which are added."""

    name: Name | None = None
    dictionaries: list[Entries] = Field([], max_length=1)

    @model_validator(mode="before")
    @classmethod
    def _with_list(cls, fields: Any) -> Any:
        """The fields of a form of the client for Node, `dictionaries[0].source_lang`, as a list of objects."""
        parts: dict[int, dict[str, Any]] = {}
        for name, value in fields.items() if isinstance(fields, Mapping) else ():
            if match := _INDEXED.fullmatch(name):
                parts.setdefault(int(match[1]), {})[match[2]] = value
        return {**fields, "dictionaries": [parts[number] for number in sorted(parts)]} if parts else fields


class NewMultilingual(Changed):
    """A glossary of version 3."""

    name: Name
    dictionaries: list[Entries] = Field(min_length=1, max_length=100)


def _counted(each: Dictionary) -> JsonObject:
    return {"source_lang": each.source, "target_lang": each.target, "entry_count": len(each.terms)}


def _one(glossary: StoredGlossary) -> JsonObject:
    """The answer of version 2."""
    shown = _many(glossary)
    (dictionary,) = shown.pop("dictionaries")
    return {"ready": True, **shown, **dictionary}


def _many(glossary: StoredGlossary) -> JsonObject:
    """The answer of version 3."""
    named = {"glossary_id": glossary.id, "name": glossary.name, "creation_time": glossary.created}
    return {**named, "dictionaries": list(map(_counted, glossary.dictionaries))}


def _found(call: Call, *, single: bool = False) -> StoredGlossary:
    glossary = call.service.glossaries.find(call.client.key, call.path["id"])
    if single and len(glossary.dictionaries) != 1:
        raise Refusal(404, "glossary", "Glossary not found")
    return glossary


@API.post("/v2/glossaries", status=201)
async def create(call: Call, asked: OneDirection) -> JsonObject:
    """Create a glossary of one direction."""
    dictionary = await asyncio.to_thread(asked.read, call)
    return _one(await call.service.glossaries.add(call.client.key, asked.name, [dictionary]))


@API.get("/v2/glossaries")
async def several(call: Call) -> JsonObject:
    """List the glossaries of one direction."""
    found = call.service.glossaries.list(call.client.key)
    return {"glossaries": [_one(each) for each in found if len(each.dictionaries) == 1]}


@API.get("/v2/glossaries/{id}")
async def details(call: Call) -> JsonObject:
    """A glossary of one direction."""
    return _one(_found(call, single=True))


@API.get("/v2/glossaries/{id}/entries")
async def entries(call: Call) -> Response:
    """The terms of a glossary of one direction."""
    (dictionary,) = _found(call, single=True).dictionaries
    return Response(dictionary.entries, media_type="text/tab-separated-values; charset=utf-8")


@API.delete("/v2/glossaries/{id}")
@API.delete("/v3/glossaries/{id}")
async def delete(call: Call) -> None:
    """Delete a glossary."""
    await call.service.glossaries.delete(call.client.key, call.path["id"])


@API.get("/v2/glossary-language-pairs")
async def pairs(call: Call) -> JsonObject:
    """List the directions that glossaries can have."""
    directions = call.service.catalog.directions
    return {"supported_languages": [{"source_lang": one, "target_lang": other} for one, other in directions]}


@API.post("/v3/glossaries", status=201)
async def create_many(call: Call, asked: NewMultilingual) -> JsonObject:
    """Create a glossary."""
    dictionaries = [await asyncio.to_thread(each.read, call) for each in asked.dictionaries]
    return _many(await call.service.glossaries.add(call.client.key, asked.name, dictionaries))


@API.get("/v3/glossaries")
async def several_many(call: Call) -> JsonObject:
    """List the glossaries."""
    return {"glossaries": list(map(_many, call.service.glossaries.list(call.client.key)))}


@API.get("/v3/glossaries/{id}")
async def details_many(call: Call) -> JsonObject:
    """A glossary."""
    return _many(_found(call))


@API.route("PATCH", "/v3/glossaries/{id}")
async def change(call: Call, asked: Changed) -> JsonObject:
    """Rename a glossary, or add terms of a direction; a term that is there gets the new target."""

    def changed(glossary: StoredGlossary) -> StoredGlossary:
        if asked.name is not None:
            glossary = glossary.model_copy(update={"name": asked.name})
        for each in asked.dictionaries:
            fitting = [known for known in glossary.dictionaries if known.fits(each.source_lang, each.target_lang)]
            glossary = glossary.with_dictionary(each.read(call, fitting[0] if fitting else None))
        return glossary

    return _many(await call.service.glossaries.change(call.client.key, call.path["id"], changed))


@API.get("/v3/glossaries/{id}/entries")
async def entries_many(call: Call, asked: Pair) -> JsonObject:
    """The terms of one direction of a glossary."""
    found = _found(call).dictionary(asked.source_lang, asked.target_lang)
    terms = {"source_lang": found.source, "target_lang": found.target, "entries": found.entries}
    return {"dictionaries": [{**terms, "entries_format": "tsv"}]}


@API.route("PUT", "/v3/glossaries/{id}/dictionaries")
async def put_dictionary(call: Call, asked: Entries) -> JsonObject:
    """Replace the terms of a direction."""
    new = await asyncio.to_thread(asked.read, call)
    await call.service.glossaries.change(call.client.key, call.path["id"], lambda each: each.with_dictionary(new))
    return _counted(new)


@API.delete("/v3/glossaries/{id}/dictionaries")
async def delete_dictionary(call: Call, asked: Pair) -> None:
    """Delete the terms of a direction."""

    def without(glossary: StoredGlossary) -> StoredGlossary:
        gone = glossary.dictionary(asked.source_lang, asked.target_lang)
        left = tuple(each for each in glossary.dictionaries if each is not gone)
        if not left:
            raise bad_request("this is the only dictionary of the glossary: delete the glossary")
        return glossary.model_copy(update={"dictionaries": left})

    await call.service.glossaries.change(call.client.key, call.path["id"], without)
