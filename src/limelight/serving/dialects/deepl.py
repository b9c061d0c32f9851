"""The API of DeepL: texts, languages and usage; its glossaries are in `glossaries.py`, its documents in `documents.py`.

Shapes and traps are those of the official client (deepl 1.32): errors are `message` and `detail`, both strings;
characters are counted where it asks for them; English and Portuguese are targets with a region alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from limelight.config.directions import Direction, same_language
from limelight.serving.asks import Ask, Split, TagHandling
from limelight.serving.call import Api, Asked, Call, JsonObject
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Client, Service
from limelight.text.languages import language_name

UNLIMITED = 1_000_000_000_000
"""DeepL's value for no limit."""
VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}
"""Targets that its clients take with a region alone."""


def failure(refusal: Refusal) -> JsonObject:
    """A refusal."""
    return {"message": refusal.message, "code": refusal.code}


API = Api("deepl", failure, ("/v2/", "/v3/"), denied=403, key_field="auth_key")

OneOrMore = BeforeValidator(
    lambda value: value if isinstance(value, list) else [value], json_schema_input_type=str | list[str]
)
Language = Annotated[str, Field(min_length=2, max_length=20)]
SPLIT: dict[str, Split] = {"0": "never", "1": "sentences", "nonewlines": "across lines"}
SPELLED = {"true": "1", "false": "0"}
Formality = Literal["default", "more", "less", "prefer_more", "prefer_less"]
FORMALITIES = {
    "more": "formal",
    "less": "informal",
    "prefer_more": "prefer_formal",
    "prefer_less": "prefer_informal",
}
REQUIRED = {"formal": "prefer_more", "informal": "prefer_less"}
"""Forms of address that a model is refused for which has no choice, and what to ask instead."""
REFUSED = ("style_id", "custom_instructions", "translation_memory_id", "output_format")
"""Fields that would change a translation."""


def as_names(value: Any) -> Any:
    """Names of tags: a list, or a string with commas between them."""
    values = value if isinstance(value, list) else [value]
    parts = [part for each in values for part in (each.split(",") if isinstance(each, str) else [each])]
    return [each.strip() if isinstance(each, str) else each for each in parts if each != ""]


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
        names = ("ignore_tags", "splitting_tags", "non_splitting_tags")
        given = [name for name in names if getattr(self, name)]
        if given and self.tag_handling not in ("xml", "html"):
            raise bad_request(f"{given[0]}: only for xml and html: give tag_handling, too")
        if not self.tag_handling:
            return None
        xml = self.tag_handling == "xml"
        ignored, splitting, inline = (
            tuple(each.rpartition(":")[2] if xml else each.lower() for each in getattr(self, name)) for name in names
        )
        return TagHandling(self.tag_handling, ignored, splitting, inline, self.outline_detection)


class WithGlossary(Asked):
    """Settings of a text or a document."""

    target_lang: Language
    source_lang: str = Field("", max_length=20)
    formality: Formality = "default"
    glossary_id: str = Field("", max_length=100)
    glossary_ids: Names = Field([], max_length=5)

    @property
    def form(self) -> str:
        """The form of address."""
        return FORMALITIES.get(self.formality, "")

    def files(self, call: Call) -> list[tuple[str, int]]:
        """The files of the glossaries. Raises `Refusal` if one has no terms for the direction, for settings that would
        change a translation and that no model here has, and for a form of address that no model chooses."""
        for name in REFUSED:
            if call.fields.get(name):
                raise bad_request(f"{name} is not supported: leave it out")
        require_form(call.service, self.form, self.source_lang, self.target_lang)
        named = [*filter(None, [self.glossary_id]), *self.glossary_ids]
        return call.service.glossaries.files(call.client.key, named, self.source_lang, self.target_lang)


def require_form(service: Service, form: str, source: str, target: str) -> None:
    """Raises `Refusal` for a form of address that no model chooses in this language."""
    if form in REQUIRED:
        ways = service.ways(source, target)
        if not any(way.direction.target in way.model.formality for way in ways):
            language, instead = ways[0].direction.target or target, REQUIRED[form]
            raise bad_request(
                f"formality: no model here chooses the form of address in {language}: leave it out, or use {instead}"
            )


class Translate(Tagging, WithGlossary):
    """A request. `context`, `preserve_formatting` and what is not known change nothing."""

    text: Annotated[Annotated[list[str], Field(min_length=1)], OneOrMore]
    split_sentences: Annotated[
        Literal["0", "1", "nonewlines"], BeforeValidator(lambda value: SPELLED.get(str(value).lower(), str(value)))
    ] = "1"
    show_billed_characters: bool = False
    model_type: str = Field("", max_length=40)
    tag_handling_version: Literal["v1", "v2"] | None = None


@API.post("/v2/translate")
async def translate(call: Call, asked: Translate) -> JsonObject:
    """Translate texts."""
    ask = Ask(
        asked.text,
        asked.target_lang,
        asked.source_lang,
        options={"formality": asked.form or None},
        split=SPLIT[asked.split_sentences],
        tags=asked.handling(),
        glossaries=asked.files(call),
    )
    translations = []
    for text, answer in zip(asked.text, await translated(call.service, call.client, ask), strict=True):
        found: JsonObject = {"detected_source_language": (answer.language or asked.source_lang).upper()}
        found["text"] = answer.text
        if asked.show_billed_characters:
            found["billed_characters"] = len(text)
        if asked.model_type:
            found["model_type_used"] = asked.model_type
        translations.append(found)
    return {"translations": translations}


async def translated(service: Service, client: Client, ask: Ask) -> list[Answer]:
    """The answers. Raises `Refusal`.

    Weblate saves the settings of a service only if that translates `test` from English to German, whatever languages it
    will be asked for. The answer is known.
    """
    try:
        return await service.translate(client, ask)
    except Refusal as refusal:
        if refusal.code == "language" and [*ask.texts, ask.source.lower(), ask.target.lower()] == ["test", "en", "de"]:
            return [Answer("Test", "", Direction("en", "de"))]
        raise


class Languages(Asked):
    """`type` comes in the query, or in the body of a GET, where the official client puts it."""

    type: Literal["source", "target"] = "source"


@API.get("/v2/languages")
@API.post("/v2/languages")
async def languages(call: Call, asked: Languages) -> list[JsonObject]:
    """List the source or the target languages."""
    catalog = call.service.catalog
    catalog.require_known()
    found = dict.fromkeys(getattr(direction, asked.type) for direction in catalog.directions)
    if asked.type == "source":
        return [{"language": code.upper(), "name": language_name(code)} for code in found]
    chooses = {language for model in catalog.models for language in model.formality}
    return [
        {
            "language": code,
            "name": language_name(code),
            "supports_formality": any(same_language(code, each) for each in chooses),
        }
        for known in found
        for code in VARIANTS.get(known.lower(), (known.upper(),))
    ]


FEATURES = {
    "translate_text": ("tag_handling", "glossary", "auto_detection"),
    "translate_document": ("glossary", "auto_detection"),
    "glossary": (),
}
"""What can be asked for, and what languages can have there. DeepL's other resources have no languages."""


class LanguagesOf(Asked):
    """What the languages are for."""

    resource: Literal[
        "translate_text", "translate_document", "glossary", "write", "voice", "style_rules", "translation_memory"
    ] = Field("translate_text", validation_alias=AliasChoices("resource", "product"))


@API.get("/v3/languages")
async def languages_of(call: Call, asked: LanguagesOf) -> list[JsonObject]:
    """List each language once, whether as a source, as a target, or as both; Weblate asks for this."""
    if asked.resource not in FEATURES:
        return []
    call.service.catalog.require_known()
    directions = call.service.catalog.directions
    sources = {each.source for each in directions} - {""}
    targets = {each.target for each in directions} - {""}
    variants = [
        f"{code.lower()}{variant[2:]}" for code in sorted(targets) for variant in VARIANTS.get(code.lower(), ())
    ]
    found = []
    for code in [*sorted(sources | targets), *variants]:
        names = [name for name in FEATURES[asked.resource] if code in sources or name != "auto_detection"]
        found.append(
            {
                "lang": code,
                "name": language_name(code),
                "usable_as_source": code in sources,
                "usable_as_target": code in targets or code in variants,
                "status": "stable",
                "features": {name: {"status": "stable"} for name in names},
            }
        )
    return found


@API.get("/v2/usage")
@API.post("/v2/usage")
async def usage(call: Call) -> JsonObject:
    """How many characters were translated since the start of the service."""
    return {"character_count": call.service.used.get(call.client.key, 0), "character_limit": UNLIMITED}
