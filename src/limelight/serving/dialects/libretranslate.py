"""The API of LibreTranslate: `/translate`, `/languages`, `/detect`, `/suggest`, `/health`, `/frontend/settings`.

Fields come as JSON, as a form or in the query, and so does the key; errors are `{"error": ...}`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.asks import Ask, TagHandling, require_within
from limelight.serving.call import Call, Dialect, Reply, Result, Route
from limelight.serving.dialects.deepl import translated
from limelight.serving.documents import SUFFIXES
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Service
from limelight.text.languages import language_name


def error(refusal: Refusal) -> Reply:
    """`{"error": ...}`."""
    return Reply({"error": refusal.message})


class Failure(Result):
    """An error."""

    error: str


LIBRETRANSLATE = Dialect("libretranslate", error, Failure, denied=403, key_field="api_key", forms=True)


class Translate(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore")

    q: str | list[str]
    source: str = Field(min_length=1, max_length=20)
    target: str = Field(min_length=1, max_length=20)
    format: str = Field("text", max_length=20)
    alternatives: int = Field(0, ge=0)


class Detected(Result):
    """A language, and how likely it is."""

    confidence: float = Field(ge=0, le=100, description="In percent.")
    language: str


class Translated(Result):
    """The answer; its fields are lists where `q` is one."""

    translatedText: str | list[str]  # noqa: N815  # LibreTranslate's name
    detectedLanguage: Detected | list[Detected] = Field([], description="With the source `auto`.")  # noqa: N815
    alternatives: list[str] | list[list[str]] = Field([], description="Present if requested.")


async def translate(service: Service, call: Call) -> Reply:
    """Translate a text, or a list of them."""
    for name in ("q", "source", "target"):
        if not call.fields.get(name):
            raise bad_request(f"Invalid request: missing {name} parameter")
    asked = call.read(Translate)
    if asked.format not in ("text", "html", "markdown"):
        raise bad_request(f"{asked.format} format is not supported: use text, html or markdown")
    require_within("alternatives", asked.alternatives, 0, service.limits.n_best - 1, "--max-n-best")
    many, automatic = isinstance(asked.q, list), asked.source == "auto"
    texts = asked.q if isinstance(asked.q, list) else [asked.q]
    options, wide = ({"n_best": asked.alternatives + 1}, "number of alternatives") if asked.alternatives else ({}, "")
    tags = None if asked.format == "text" else TagHandling(asked.format)
    ask = Ask(texts, asked.target, "" if automatic else asked.source, options=options, tags=tags, wide=wide)
    answers = await translated(service, call.client, ask)
    found: dict[str, Any] = {"translatedText": [answer.text for answer in answers]}
    if automatic:
        found["detectedLanguage"] = [_detected(answer) for answer in answers]
    if asked.alternatives:
        found["alternatives"] = [_alternatives(answer, asked.alternatives) for answer in answers]
    return Reply(found if many else {name: value[0] for name, value in found.items()})


def _detected(answer: Answer) -> dict[str, Any]:
    return {"confidence": _percent(answer.detected.get(answer.language, 0.0)), "language": answer.language}


def _alternatives(answer: Answer, number: int) -> list[str]:
    """Number of different translations."""
    found = dict.fromkeys(answer.rank(each + 1) for each in range(number))
    return [text for text in found if text != answer.text]


def _percent(probability: float) -> float:
    return round(100 * probability, 1)


ALSO = {"he": ("iw",), "nb": ("no",), "no": ("nb",), "zh-hans": ("zh",), "zh-hant": ("zt",), "id": ("in",)}
"""Other codes under which clients look for a language; each stands for the same one in requests."""


class Language(Result):
    """A source language, and its targets."""

    code: str
    name: str
    targets: list[str]


async def languages(service: Service, call: Call) -> Reply:
    """List the source languages with their targets."""
    service.catalog.require_known()
    targets: dict[str, list[str]] = {}
    for direction in service.catalog.directions:
        for source in _codes(direction.source):
            targets.setdefault(source, []).extend(_codes(direction.target))
    return Reply([{"code": code, "name": language_name(code), "targets": into} for code, into in targets.items()])


def _codes(language: str) -> tuple[str, ...]:
    """The code of a language, and others for it."""
    return language, *ALSO.get(language.lower().replace("_", "-"), ())


class Detect(BaseModel):
    """A request."""

    q: str | list[str]


async def detect(service: Service, call: Call) -> Reply:
    """Detect the language of a text."""
    if not call.fields.get("q"):
        raise bad_request("Invalid request: missing q parameter")
    asked = call.read(Detect)
    text = asked.q if isinstance(asked.q, str) else "\n".join(asked.q)
    found = await service.detect(call.client, text)
    return Reply([{"confidence": _percent(likely), "language": code} for code, likely in found.items()])


class Suggestion(BaseModel):
    """A translation that somebody would prefer."""

    q: str
    s: str
    source: str = Field(max_length=20)
    target: str = Field(max_length=20)


class Suggested(Result):
    """That a suggestion was taken."""

    success: bool


async def suggest(service: Service, call: Call) -> Reply:
    """Suggestions of better translations are not collected."""
    raise Refusal(403, "suggestions", "Suggestions are disabled on this server.")


class Health(Result):
    """The state of the process."""

    status: Literal["ok"]


async def health(service: Service, call: Call) -> Reply:
    """Succeeds while the process answers."""
    return Reply({"status": "ok"})


class Named(Result):
    """A language."""

    code: str
    name: str


class Pair(Result):
    """Default values of a form."""

    source: Named
    target: Named


class Settings(Result):
    """What LibreTranslate's own pages ask for."""

    apiKeys: bool  # noqa: N815  # these are LibreTranslate's names
    charLimit: int  # noqa: N815
    filesTranslation: bool  # noqa: N815
    frontendTimeout: int  # noqa: N815
    keyRequired: bool  # noqa: N815
    language: Pair
    suggestions: bool
    supportedFilesFormat: list[str]  # noqa: N815


async def settings(service: Service, call: Call) -> Reply:
    """The limits of the service and what it can do, for pages."""
    service.catalog.require_known()
    directions = service.catalog.directions
    first = directions[0] if directions else None
    shown: Literal[""] | str = first.source if first else ""
    target = first.target if first else ""
    return Reply(
        {
            "apiKeys": service.keys is not None,
            "charLimit": service.limits.characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": service.keys is not None,
            "language": {
                "source": {"code": shown, "name": language_name(shown)},
                "target": {"code": target, "name": language_name(target)},
            },
            "suggestions": False,
            "supportedFilesFormat": list(SUFFIXES),
        }
    )


ROUTES = (
    Route("POST", "/translate", LIBRETRANSLATE, translate, Translated, form=Translate),
    Route("GET", "/languages", LIBRETRANSLATE, languages, list[Language], public=True),
    Route("POST", "/detect", LIBRETRANSLATE, detect, list[Detected], form=Detect),
    Route("POST", "/suggest", LIBRETRANSLATE, suggest, Suggested, form=Suggestion),
    Route("GET", "/health", LIBRETRANSLATE, health, Health, public=True, counted=False),
    Route("GET", "/frontend/settings", LIBRETRANSLATE, settings, Settings, public=True),
)
