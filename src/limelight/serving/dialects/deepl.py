"""The API of DeepL: texts, languages, usage and glossaries; its documents are in `documents.py`.
Version 2, and of version 3 what Weblate needs: it makes a glossary again where it cannot be changed.

Shapes and traps were taken from the official client (deepl 1.32): an error has a `message`, which is a string;
characters are counted where it asks for them; English and Portuguese are targets with a region alone.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from limelight.config.directions import same_language
from limelight.serving.call import Api, Asked, Call, JsonObject, Response
from limelight.serving.fields import read_form
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Ask, TagHandling
from limelight.serving.stored import StoredGlossary, read_entries
from limelight.text.languages import language_name

UNLIMITED = 1_000_000_000_000
"""DeepL's value for no limit."""
VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}
"""Targets that its clients take with a region alone."""


def failure(refusal: Refusal) -> JsonObject:
    """A refusal."""
    return {"message": refusal.message, "code": refusal.code}


API = Api("deepl", failure, ("/v2/", "/v3/"), denied=403, key_field="auth_key")

LINE_BREAK = re.compile(r"(?<=\S)[ \t]*(?:\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*(?=\S)")
"""A single line break, which is a space where `split_sentences` is `nonewlines`."""
FORMALITIES = {
    "more": "formal",
    "less": "informal",
    "prefer_more": "prefer_formal",
    "prefer_less": "prefer_informal",
}
REFUSED = ("glossary_ids", "style_id", "custom_instructions", "translation_memory_id", "output_format")
"""Fields that would change the answer."""


def as_list(value: Any) -> Any:
    """A list, also of a single value."""
    return value if isinstance(value, list) else [value]


def as_names(value: Any) -> Any:
    """Names of tags: a list, or a string with commas between them."""
    parts = [part for name in as_list(value) for part in (name.split(",") if isinstance(name, str) else [name])]
    return [name.strip() if isinstance(name, str) else name for name in parts if name != ""]


def as_split(value: Any) -> str:
    """A boolean, or a number, as DeepL spells it."""
    return {"true": "1", "false": "0"}.get(str(value).lower(), str(value))


Language = Annotated[str, Field(min_length=2, max_length=20)]
OneOrMore = BeforeValidator(as_list, json_schema_input_type=str | list[str])
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[
    Annotated[list[Name], Field(max_length=100)], BeforeValidator(as_names, json_schema_input_type=str | list[Name])
]


class Tagging(Asked):
    """How a request says that its texts have tags."""

    tag_handling: Literal["xml", "html", "markdown", ""] | None = None
    """The kind of markup in the texts; if omitted, tags are kept like variables."""
    ignore_tags: Names = Field([])
    """Names of elements whose content is not translated."""
    splitting_tags: Names = Field([])
    """Names of tags that end a sentence."""
    non_splitting_tags: Names = Field([])
    """Names of tags that do not end a sentence."""
    outline_detection: bool = True
    """Whether XML tags without adjacent text also end a sentence."""

    def handling(self) -> TagHandling | None:
        """How tags are read; None for plain text. Raises `Refusal` for names of tags in such a text."""
        kind, lists = self.tag_handling, (self.ignore_tags, self.splitting_tags, self.non_splitting_tags)
        if any(lists) and kind not in ("xml", "html"):
            raise bad_request("ignore_tags, splitting_tags: only for xml and html: give tag_handling, too")
        ignored, splitting, inline = (
            [name.rpartition(":")[2] if kind == "xml" else name.lower() for name in names] for names in lists
        )
        return TagHandling(kind, ignored, splitting, inline, self.outline_detection) if kind else None


class WithGlossary(Asked):
    """Settings of a text or a document."""

    target_lang: Language
    source_lang: str = Field("", max_length=20)
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"
    glossary_id: str = Field("", max_length=100)

    def ask(self, call: Call, texts: Sequence[str], **options: Any) -> Ask:
        """What is asked for. Raises `Refusal` for a glossary without terms for the direction, and for settings that
        would change a translation and that no model here has."""
        call.refuse(REFUSED)
        if self.glossary_id:
            options["glossary_file"] = call.service.glossaries.file(
                call.client.key, self.glossary_id, self.source_lang, self.target_lang
            )
        options["formality"] = FORMALITIES.get(self.formality)
        return Ask(texts, self.target_lang, self.source_lang, options=options)


class Translate(Tagging, WithGlossary):
    """A request. `context`, `preserve_formatting` and what is not known change nothing."""

    text: Annotated[Annotated[list[str], Field(min_length=1)], OneOrMore]
    split_sentences: Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(as_split)] = "1"
    show_billed_characters: bool = False
    model_type: str = Field("", max_length=40)


@API.route("/v2/translate", "POST")
async def translate(call: Call, form: Translate) -> JsonObject:
    """Translate texts."""
    texts = form.text
    if form.split_sentences == "nonewlines":
        texts = [LINE_BREAK.sub(" ", text) for text in texts]
    ask = form.ask(call, texts, lines=form.split_sentences == "0", tags=form.handling())
    translations = list[JsonObject]()
    for text, answer in zip(form.text, await translated(call, ask), strict=True):
        language = (answer.language or form.source_lang).upper()
        translations.append({"detected_source_language": language, "text": answer.text})
        if form.show_billed_characters:
            translations[-1]["billed_characters"] = len(text)
        if form.model_type:
            translations[-1]["model_type_used"] = form.model_type
    return {"translations": translations}


async def translated(call: Call, ask: Ask) -> list[Answer]:
    """The answers. Raises `Refusal`.

    Weblate saves the settings of a service only if that translates `test` from English to German, whatever languages it
    will be asked for. The answer is known.
    """
    try:
        return await call.service.translate(call.client, ask)
    except Refusal as refusal:
        if refusal.code == "language" and [*ask.texts, ask.source.lower(), ask.target.lower()] == ["test", "en", "de"]:
            return [Answer("Test", "", "en", "de")]
        raise


class Languages(Asked):
    """`type` comes in the query, or in the body of a GET, where the official client puts it."""

    type: Literal["source", "target"] = "source"


@API.route("/v2/languages")
@API.route("/v2/languages", "POST")
async def languages(call: Call, form: Languages) -> list[JsonObject]:
    """List the source or the target languages."""
    known = dict.fromkeys(getattr(direction, form.type) for direction in call.service.catalog.directions)
    if form.type == "source":
        return [{"language": code.upper(), "name": language_name(code)} for code in known]
    chooses = [language for model in call.service.catalog.models for language in model.pool.info.get("formality", ())]
    return [
        {
            "language": code,
            "name": language_name(code),
            "supports_formality": any(same_language(code, language) for language in chooses),
        }
        for name in known
        for code in VARIANTS.get(name.lower(), (name.upper(),))
    ]


class Resource(Asked):
    """What languages are asked for. There are none of `write`, which rephrases texts."""

    resource: str


@API.route("/v3/languages")
async def languages_of(call: Call, form: Resource) -> list[JsonObject]:
    """List the languages of a resource, each once."""
    sources, targets = [
        {known["language"]: known for known in await languages(call, read_form(Languages, {"type": side}))}
        for side in ("source", "target")
    ]
    return [
        {
            "lang": code,
            "name": known["name"],
            "usable_as_source": code in sources,
            "usable_as_target": code in targets,
            "features": {"formality": {}} if known.get("supports_formality") else {},
        }
        for code, known in (sources | targets).items()
        if form.resource in ("translate_text", "translate_document", "glossary")
    ]


@API.route("/v2/usage")
@API.route("/v2/usage", "POST")
async def usage(call: Call) -> JsonObject:
    """How many characters were translated since the start of the service."""
    return {"character_count": call.service.used[call.client.key], "character_limit": UNLIMITED}


# ---- glossaries: each is for one direction, and is not changed

SEPARATORS = {"tsv": "\t", "csv": ","}


class NewGlossary(Asked):
    """A glossary."""

    name: Annotated[str, Field(min_length=1, max_length=1024)]
    source_lang: Language
    target_lang: Language
    entries: str
    """A term a line: its source, a tab or a comma, and its target."""
    entries_format: Literal["tsv", "csv"] = "tsv"


class NewGlossaries(Asked):
    """A glossary in version 3; a dictionary has the fields of a glossary but for its name."""

    name: str
    dictionaries: list[JsonObject] = Field(min_length=1, max_length=1)


def _shown(glossary: StoredGlossary) -> JsonObject:
    return {
        "ready": True,
        "glossary_id": glossary.id,
        "name": glossary.name,
        "creation_time": glossary.created,
        "source_lang": glossary.source,
        "target_lang": glossary.target,
        "entry_count": glossary.entries.count("\n") + 1,
    }


def _with_dictionary(shown: JsonObject) -> JsonObject:
    return {**shown, "dictionaries": [shown]}


def _glossary_of(call: Call) -> StoredGlossary:
    return call.service.glossaries.find(call.client.key, call.path["id"])


@API.route("/v2/glossaries", "POST", status=201)
async def create(call: Call, form: NewGlossary) -> JsonObject:
    """Create a glossary."""
    languages = form.source_lang, form.target_lang
    call.service.catalog.ways(*languages)
    entries = await asyncio.to_thread(read_entries, form.entries, SEPARATORS[form.entries_format])
    source, target = (re.split("[-_]", language)[0].lower() for language in languages)
    new = StoredGlossary(owner=call.client.key, name=form.name, source=source, target=target, entries=entries)
    return _shown(await asyncio.shield(call.service.glossaries.add(new)))  # whole, also where the client leaves


@API.route("/v3/glossaries", "POST", status=201)
async def create_with_dictionary(call: Call, form: NewGlossaries) -> JsonObject:
    """Create a glossary with one dictionary."""
    return _with_dictionary(await create(call, read_form(NewGlossary, {**form.dictionaries[0], "name": form.name})))


@API.route("/v2/glossaries")
async def several(call: Call) -> JsonObject:
    """List the glossaries."""
    return {"glossaries": list(map(_shown, call.service.glossaries.list(call.client.key)))}


@API.route("/v3/glossaries")
async def several_with_dictionaries(call: Call) -> JsonObject:
    """List the glossaries, each with its dictionary."""
    return {"glossaries": list(map(_with_dictionary, (await several(call))["glossaries"]))}


@API.route("/v2/glossaries/{id}")
async def details(call: Call) -> JsonObject:
    """A glossary."""
    return _shown(_glossary_of(call))


@API.route("/v2/glossaries/{id}/entries")
async def entries(call: Call) -> Response:
    """The terms of a glossary."""
    return Response(_glossary_of(call).entries, media_type="text/tab-separated-values; charset=utf-8")


@API.route("/v2/glossaries/{id}", "DELETE", status=204)
@API.route("/v3/glossaries/{id}", "DELETE", status=204)
async def delete(call: Call) -> None:
    """Delete a glossary."""
    await call.service.glossaries.delete(call.client.key, call.path["id"])


@API.route("/v2/glossary-language-pairs")
async def pairs(call: Call) -> JsonObject:
    """List the directions that glossaries can have."""
    directions = call.service.catalog.directions
    return {"supported_languages": [{"source_lang": one, "target_lang": other} for one, other in directions]}
