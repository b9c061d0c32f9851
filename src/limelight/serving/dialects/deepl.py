"""The API of DeepL: `/v2/translate`, `/v2/languages`, `/v2/usage`, and `/v3/languages`, which Weblate asks for.

Shapes and traps are those of the official client (deepl 1.32): errors are `message` and `detail`, both strings;
characters are counted where it asks for them; English and Portuguese are targets with a region alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from limelight.config.directions import Direction, same_language
from limelight.serving.asks import Ask, Split
from limelight.serving.call import Call, Dialect, Reply, Result, Route
from limelight.serving.dialects.tags import Names, Tagging
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Client, Service
from limelight.text.languages import language_name

UNLIMITED = 1_000_000_000_000
"""DeepL's value for no limit."""

VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}
"""Targets that its clients take with a region alone."""


def error(refusal: Refusal) -> Reply:
    """`{"message": ..., "code": ...}`."""
    return Reply({"message": refusal.message, "code": refusal.code})


class Failure(Result):
    """An error."""

    message: str
    code: str


DEEPL = Dialect("deepl", error, Failure, denied=403, key_field="auth_key", key_in_json=False, forms=True)


def as_list(value: Any) -> Any:
    """A single text becomes a list."""
    return value if isinstance(value, list) else [value]


OneOrMore = BeforeValidator(as_list, json_schema_input_type=str | list[str])
Texts = Annotated[Annotated[list[str], Field(min_length=1)], OneOrMore]
SPLIT: dict[str, Split] = {"0": "never", "1": "sentences", "nonewlines": "across lines"}
SPELLED = {"true": "1", "false": "0", "1": "1", "0": "0"}
Formality = Literal["default", "more", "less", "prefer_more", "prefer_less"]
FORMALITIES = {
    "default": None,
    "more": "formal",
    "less": "informal",
    "prefer_more": "prefer_formal",
    "prefer_less": "prefer_informal",
}


REQUIRED = {"formal": "prefer_more", "informal": "prefer_less"}
"""Forms of address that a model is refused for which has no choice, and what to ask instead."""

REFUSED = {
    "style_id": "styles",
    "custom_instructions": "instructions",
    "translation_memory_id": "translation memories",
}
"""Fields that would change a translation, and what they ask for."""


class WithGlossary(BaseModel):
    """The glossaries of a request."""

    glossary_id: str | None = Field(None, max_length=100)
    glossary_ids: Names = Field([], max_length=5)

    def files_of(self, service: Service, client: Client, source: str, target: str) -> list[tuple[str, int]]:
        """Their files. Raises `Refusal` if one has no terms for the direction."""
        named = [*filter(None, [self.glossary_id]), *self.glossary_ids]
        return service.glossaries.files(client.key, named, source, target)


class Translate(Tagging, WithGlossary):
    """A request. `context`, `preserve_formatting` and what is not known change nothing."""

    model_config = ConfigDict(extra="ignore")

    text: Texts
    target_lang: str = Field(min_length=2, max_length=20)
    source_lang: str | None = Field(None, max_length=20)
    split_sentences: Annotated[
        Literal["0", "1", "nonewlines"],
        BeforeValidator(lambda value: SPELLED.get(str(value).lower(), value)),
    ] = "1"
    formality: Formality | None = None
    show_billed_characters: bool = False
    model_type: str | None = Field(None, max_length=40)
    tag_handling_version: Literal["v1", "v2"] | None = None


class Translation(Result):
    """A translated text."""

    detected_source_language: str
    text: str
    billed_characters: int = Field(0, description="Present if requested.")
    model_type_used: str = Field("", description="Where the request has `model_type`: the same.")


class Translated(Result):
    """The answer."""

    translations: list[Translation] = Field(description="One for each text, in their order.")


async def translate(service: Service, call: Call) -> Reply:
    """Translate texts."""
    asked = call.read(Translate)
    refuse_settings(call)
    form = FORMALITIES[asked.formality] if asked.formality else None
    await require_form(service, form, asked.source_lang or "", asked.target_lang)
    ask = Ask(
        asked.text,
        asked.target_lang,
        asked.source_lang or "",
        options={"formality": form},
        split=SPLIT[asked.split_sentences],
        tags=asked.handling(),
        glossaries=asked.files_of(service, call.client, asked.source_lang or "", asked.target_lang),
    )
    answers = await translated(service, call.client, ask)
    return Reply({"translations": [_shown(asked, *each) for each in zip(asked.text, answers, strict=True)]})


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


async def require_form(service: Service, form: str | None, source: str, target: str) -> None:
    """Raises `Refusal` for a form of address that no model chooses in this language."""
    if form not in REQUIRED:
        return
    ways = await service.ways(source, target)
    if not any(way.direction.target in way.model.formality for way in ways):
        language = ways[0].direction.target or target
        raise bad_request(
            f"formality: no model here chooses the form of address in {language}: leave it out, or use {REQUIRED[form]}"
        )


def refuse_settings(call: Call) -> None:
    """Raises `Refusal` for settings that would change a translation, and that no model here has."""
    for name, what in REFUSED.items():
        if call.fields.get(name):
            raise bad_request(f"{name}: {what} are not supported: leave it out")


def _shown(asked: Translate, text: str, answer: Answer) -> dict[str, Any]:
    source = answer.language or asked.source_lang or ""
    shown: dict[str, Any] = {"detected_source_language": source.upper(), "text": answer.text}
    if asked.show_billed_characters:
        shown["billed_characters"] = len(text)
    if asked.model_type:
        shown["model_type_used"] = asked.model_type
    return shown


class Languages(BaseModel):
    """`type` comes in the query, or in the body of a GET, where the official client puts it."""

    type: Literal["source", "target"] = "source"


class Language(Result):
    """A language."""

    language: str
    name: str
    supports_formality: bool = Field(False, description="Of targets alone.")


async def languages(service: Service, call: Call) -> Reply:
    """List the source or the target languages."""
    kind = call.read(Languages).type
    service.catalog.require_known()
    found = dict.fromkeys(getattr(direction, kind) for direction in service.catalog.directions)
    if kind == "source":
        return Reply([{"language": code.upper(), "name": language_name(code)} for code in found])
    codes = [variant for code in found for variant in VARIANTS.get(code.lower(), (code.upper(),))]
    chooses = {language for model in service.catalog.models for language in model.formality}
    return Reply(
        [
            {
                "language": code,
                "name": language_name(code),
                "supports_formality": any(same_language(code, each) for each in chooses),
            }
            for code in codes
        ]
    )


FEATURES = {
    "translate_text": ("tag_handling", "glossary", "auto_detection"),
    "translate_document": ("glossary", "auto_detection"),
    "glossary": (),
}
"""What can be asked for, and what languages can have there. The resources of DeepL beside these have no languages."""


class LanguagesOf(BaseModel):
    """What the languages of version 3 are for; DeepL has called it a product, too."""

    resource: Literal[
        "translate_text", "translate_document", "glossary", "write", "voice", "style_rules", "translation_memory"
    ] = Field("translate_text", validation_alias=AliasChoices("resource", "product"))


class Feature(Result):
    """What a language can have."""

    status: Literal["stable"]


class LanguageOf(Result):
    """A language, and what can be done with it."""

    lang: str
    name: str
    usable_as_source: bool
    usable_as_target: bool
    status: Literal["stable"]
    features: dict[str, Feature]


async def languages_of(service: Service, call: Call) -> Reply:
    """List each language once, whether as a source, as a target, or as both."""
    resource = call.read(LanguagesOf).resource
    if resource not in FEATURES:
        return Reply([])
    service.catalog.require_known()
    directions = service.catalog.directions
    sources = {code for each in directions if (code := each.source)}
    targets = {code for each in directions if (code := each.target)}
    shown = [
        _language(code, resource, source=code in sources, target=code in targets) for code in sorted(sources | targets)
    ]
    variants = [variant for code in sorted(targets) for variant in VARIANTS.get(code.lower(), ())]
    return Reply(shown + [_language(_tag(code), resource, source=False, target=True) for code in variants])


def _tag(code: str) -> str:
    """`en-GB` for `EN-GB`."""
    language, _, region = code.partition("-")
    return f"{language.lower()}-{region}"


def _language(code: str, resource: str, *, source: bool, target: bool) -> dict[str, Any]:
    features = [name for name in FEATURES[resource] if source or name != "auto_detection"]
    return {
        "lang": code,
        "name": language_name(code),
        "usable_as_source": source,
        "usable_as_target": target,
        "status": "stable",
        "features": {name: {"status": "stable"} for name in features},
    }


class Usage(Result):
    """What was translated since the start of the service."""

    character_count: int
    character_limit: int


async def usage(service: Service, call: Call) -> Reply:
    """How many characters were translated since the start of the service."""
    return Reply({"character_count": service.used.get(call.client.key, 0), "character_limit": UNLIMITED})


ROUTES = (
    Route("POST", "/v2/translate", DEEPL, translate, Translated, form=Translate),
    Route("GET", "/v2/languages", DEEPL, languages, list[Language], form=Languages),
    Route("POST", "/v2/languages", DEEPL, languages, list[Language], form=Languages),
    Route("GET", "/v3/languages", DEEPL, languages_of, list[LanguageOf], form=LanguagesOf),
    Route("GET", "/v2/usage", DEEPL, usage, Usage),
    Route("POST", "/v2/usage", DEEPL, usage, Usage),
)
