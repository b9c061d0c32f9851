"""The glossaries of DeepL: version 2 with one direction each, version 3 with any number of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from limelight.serving.call import Call, Content, Reply, Result, Route
from limelight.serving.dialects.deepl import DEEPL
from limelight.serving.refusal import bad_request
from limelight.serving.service import Service
from limelight.serving.stored import Dictionary, StoredGlossary, read_entries

Language = Annotated[str, Field(min_length=2, max_length=20)]
Name = Annotated[str, Field(min_length=1, max_length=1024)]


class GivenEntries(BaseModel):
    """The terms of one direction."""

    model_config = ConfigDict(extra="ignore")

    source_lang: Language
    target_lang: Language
    entries: str = Field(description="A term a line: its source, a tab or a comma, and its target.")
    entries_format: Literal["tsv", "csv"] = "tsv"

    def read(self, service: Service, before: Dictionary | None = None) -> Dictionary:
        """The glossary as a dictionary. Raises `Refusal` for a direction that no model has, and for an invalid term."""
        service.catalog.ways(self.source_lang, self.target_lang)
        separator = "\t" if self.entries_format == "tsv" else ","
        return read_entries(self.source_lang, self.target_lang, self.entries, separator, before)


_INDEXED = re.compile(r"dictionaries\[(\d{1,3})\]\.(\w+)")


def with_list(fields: Any) -> Any:
    """The fields of a form that the client for Node sends, `dictionaries[0].source_lang`, as a list of objects."""
    if not isinstance(fields, Mapping) or "dictionaries" in fields:
        return fields
    parts: dict[int, dict[str, Any]] = {}
    others = {}
    for name, value in fields.items():
        if match := _INDEXED.fullmatch(name):
            parts.setdefault(int(match[1]), {})[match[2]] = value
        else:
            others[name] = value
    return {**others, "dictionaries": [parts[number] for number in sorted(parts)]} if parts else fields


class NewGlossary(GivenEntries):
    """A glossary of version 2."""

    name: Name


class NewMultilingual(BaseModel):
    """A glossary of version 3."""

    _with_list = model_validator(mode="before")(with_list)

    name: Name
    dictionaries: list[GivenEntries] = Field(min_length=1, max_length=100)


class Changed(BaseModel):
    """What is to change in a glossary: its name, or the entries of one direction, which are added."""

    _with_list = model_validator(mode="before")(with_list)

    name: Name | None = None
    dictionaries: list[GivenEntries] = Field([], max_length=1)


class Pair(BaseModel):
    """The direction of a dictionary."""

    source_lang: Language
    target_lang: Language


class Glossary(Result):
    """A glossary of version 2."""

    glossary_id: str
    name: str
    ready: bool
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class Glossaries(Result):
    """Glossaries of a client that have one direction."""

    glossaries: list[Glossary]


class LanguagePair(Result):
    """A direction."""

    source_lang: str
    target_lang: str


class Pairs(Result):
    """The directions that glossaries can have."""

    supported_languages: list[LanguagePair]


class Counted(LanguagePair):
    """The terms of one direction."""

    entry_count: int


class Multilingual(Result):
    """A glossary of version 3."""

    glossary_id: str
    name: str
    creation_time: str
    dictionaries: list[Counted]


class Multilinguals(Result):
    """All glossaries of a client."""

    glossaries: list[Multilingual]


class Listed(LanguagePair):
    """The terms of one direction."""

    entries: str
    entries_format: Literal["tsv"]


class ListedEntries(Result):
    """The terms of one direction."""

    dictionaries: list[Listed]


TSV = Content("text/tab-separated-values; charset=utf-8")


def _one(glossary: StoredGlossary) -> dict[str, Any]:
    """The answer of version 2."""
    (only,) = glossary.dictionaries
    languages = {"source_lang": only.source, "target_lang": only.target}
    named = {"glossary_id": glossary.id, "name": glossary.name, "ready": True}
    return {**named, **languages, "creation_time": glossary.created, "entry_count": len(only.terms)}


def _counted(each: Dictionary) -> dict[str, Any]:
    return {"source_lang": each.source, "target_lang": each.target, "entry_count": len(each.terms)}


def _many(glossary: StoredGlossary) -> dict[str, Any]:
    """The answer of version 3."""
    dictionaries = [_counted(each) for each in glossary.dictionaries]
    named = {"glossary_id": glossary.id, "name": glossary.name, "creation_time": glossary.created}
    return {**named, "dictionaries": dictionaries}


def _found(service: Service, call: Call) -> StoredGlossary:
    return service.glossaries.find(call.client.key, call.path["id"])


def _single(service: Service, call: Call) -> StoredGlossary:
    glossary = _found(service, call)
    if len(glossary.dictionaries) != 1:
        raise service.glossaries.not_found()
    return glossary


async def create(service: Service, call: Call) -> Reply:
    """Create a glossary of one direction."""
    asked = call.read(NewGlossary)
    dictionary = await asyncio.to_thread(asked.read, service)
    return Reply(_one(await service.glossaries.add(call.client.key, asked.name, [dictionary])), 201)


async def several(service: Service, call: Call) -> Reply:
    """List the glossaries of one direction."""
    found = service.glossaries.list(call.client.key)
    return Reply({"glossaries": [_one(each) for each in found if len(each.dictionaries) == 1]})


async def details(service: Service, call: Call) -> Reply:
    """A glossary of one direction."""
    return Reply(_one(_single(service, call)))


async def entries(service: Service, call: Call) -> Reply:
    """The terms of a glossary of one direction."""
    (only,) = _single(service, call).dictionaries
    return Reply(content=only.entries.encode(), media_type=TSV.media_type)


async def delete(service: Service, call: Call) -> Reply:
    """Delete a glossary."""
    await service.glossaries.delete(call.client.key, call.path["id"])
    return Reply(status=204)


async def pairs(service: Service, call: Call) -> Reply:
    """List the directions that glossaries can have."""
    service.catalog.require_known()
    found = [{"source_lang": each.source, "target_lang": each.target} for each in service.catalog.directions]
    return Reply({"supported_languages": found})


async def create_many(service: Service, call: Call) -> Reply:
    """Create a glossary."""
    asked = call.read(NewMultilingual)
    dictionaries = [await asyncio.to_thread(each.read, service) for each in asked.dictionaries]
    return Reply(_many(await service.glossaries.add(call.client.key, asked.name, dictionaries)), 201)


async def several_many(service: Service, call: Call) -> Reply:
    """List the glossaries."""
    return Reply({"glossaries": [_many(each) for each in service.glossaries.list(call.client.key)]})


async def details_many(service: Service, call: Call) -> Reply:
    """A glossary."""
    return Reply(_many(_found(service, call)))


async def change(service: Service, call: Call) -> Reply:
    """Rename a glossary, or add terms of a direction; a term that is there gets the new target."""
    asked = call.read(Changed)

    def changed(glossary: StoredGlossary) -> StoredGlossary:
        if asked.name is not None:
            glossary = glossary.model_copy(update={"name": asked.name})
        for each in asked.dictionaries:
            fitting = [known for known in glossary.dictionaries if known.fits(each.source_lang, each.target_lang)]
            glossary = glossary.with_dictionary(each.read(service, fitting[0] if fitting else None))
        return glossary

    return Reply(_many(await service.glossaries.change(call.client.key, call.path["id"], changed)))


async def entries_many(service: Service, call: Call) -> Reply:
    """The terms of one direction of a glossary."""
    asked = call.read(Pair)
    found = _found(service, call).dictionary(asked.source_lang, asked.target_lang)
    shown = {"source_lang": found.source, "target_lang": found.target}
    return Reply({"dictionaries": [{**shown, "entries": found.entries, "entries_format": "tsv"}]})


async def put_dictionary(service: Service, call: Call) -> Reply:
    """Replace the terms of a direction."""
    asked = call.read(GivenEntries)
    new = await asyncio.to_thread(asked.read, service)
    await service.glossaries.change(call.client.key, call.path["id"], lambda glossary: glossary.with_dictionary(new))
    return Reply(_counted(new))


async def delete_dictionary(service: Service, call: Call) -> Reply:
    """Delete the terms of a direction."""
    asked = call.read(Pair)

    def without(glossary: StoredGlossary) -> StoredGlossary:
        gone = glossary.dictionary(asked.source_lang, asked.target_lang)
        left = tuple(each for each in glossary.dictionaries if each is not gone)
        if not left:
            raise bad_request("this is the only dictionary of the glossary: delete the glossary")
        return glossary.model_copy(update={"dictionaries": left})

    await service.glossaries.change(call.client.key, call.path["id"], without)
    return Reply(status=204)


ROUTES = (
    Route("POST", "/v2/glossaries", DEEPL, create, Glossary, form=NewGlossary, statuses=(201,)),
    Route("GET", "/v2/glossaries", DEEPL, several, Glossaries),
    Route("GET", "/v2/glossaries/{id}", DEEPL, details, Glossary),
    Route("GET", "/v2/glossaries/{id}/entries", DEEPL, entries, TSV),
    Route("DELETE", "/v2/glossaries/{id}", DEEPL, delete, None, statuses=(204,)),
    Route("GET", "/v2/glossary-language-pairs", DEEPL, pairs, Pairs),
    Route("POST", "/v3/glossaries", DEEPL, create_many, Multilingual, form=NewMultilingual, statuses=(201,)),
    Route("GET", "/v3/glossaries", DEEPL, several_many, Multilinguals),
    Route("GET", "/v3/glossaries/{id}", DEEPL, details_many, Multilingual),
    Route("PATCH", "/v3/glossaries/{id}", DEEPL, change, Multilingual, form=Changed),
    Route("DELETE", "/v3/glossaries/{id}", DEEPL, delete, None, statuses=(204,)),
    Route("GET", "/v3/glossaries/{id}/entries", DEEPL, entries_many, ListedEntries, form=Pair),
    Route("PUT", "/v3/glossaries/{id}/dictionaries", DEEPL, put_dictionary, Counted, form=GivenEntries),
    Route("DELETE", "/v3/glossaries/{id}/dictionaries", DEEPL, delete_dictionary, None, form=Pair, statuses=(204,)),
)
