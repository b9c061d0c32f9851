"""The API of LibreTranslate, and the address that OmegaT's plugins for local machine translation ask.

Fields come as JSON, as a form or in the query, and so does the key; errors are `{"error": ...}`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from limelight.serving.asks import Ask, TagHandling, require_within
from limelight.serving.call import Api, Asked, Call, Result
from limelight.serving.dialects.deepl import translated
from limelight.serving.documents import SUFFIXES
from limelight.serving.refusal import Refusal, bad_request
from limelight.text.languages import language_name


class Failure(Result):
    """An error."""

    error: str


def failure(refusal: Refusal) -> Failure:
    """A refusal. A language that is not known has LibreTranslate's own message, which its clients look for."""
    if refusal.code == "language" and " is not supported;" in refusal.message:
        return Failure(error=refusal.message.partition(";")[0])
    return Failure(error=refusal.message)


API = Api("libretranslate", failure, denied=403, key_field="api_key")


def require_fields(call: Call, *names: str) -> None:
    """Raises `Refusal`, in LibreTranslate's words, for a field that is missing."""
    for name in names:
        if not call.fields.get(name):
            raise bad_request(f"Invalid request: missing {name} parameter")


class Translate(Asked):
    """A request."""

    q: str | list[str] = ""
    source: str = Field("", max_length=20)
    target: str = Field("", max_length=20)
    format: str = Field("text", max_length=20)
    alternatives: int = Field(0, ge=0)


class Detected(Result):
    """A language, and how likely it is."""

    confidence: float = Field(ge=0, le=100)
    """In percent."""
    language: str


class Translated(Result):
    """The answer; its fields are lists if `q` is one."""

    translatedText: str | list[str]  # noqa: N815  # LibreTranslate's name
    detectedLanguage: Detected | list[Detected] = Field([])  # noqa: N815
    """With the source `auto`."""
    alternatives: list[str] | list[list[str]] = Field([])
    """Present if requested."""


@API.post("/translate")
async def translate(call: Call, asked: Translate) -> Translated:
    """Translate a text, or a list of texts."""
    require_fields(call, "q", "source", "target")
    if asked.format not in ("text", "html", "markdown"):
        raise bad_request(f"{asked.format} format is not supported: use text, html or markdown")
    require_within("alternatives", asked.alternatives, 0, call.service.limits.n_best - 1, "--max-n-best")
    many, automatic, count = isinstance(asked.q, list), asked.source == "auto", asked.alternatives
    ask = Ask(
        asked.q if isinstance(asked.q, list) else [asked.q],
        asked.target,
        "" if automatic else asked.source,
        options={"n_best": count + 1} if count else {},
        tags=None if asked.format == "text" else TagHandling(asked.format),
        wide="number of alternatives" if count else "",
    )
    answers = await translated(call.service, call.client, ask)
    found: dict[str, list[Any]] = {"translatedText": [answer.text for answer in answers]}
    if automatic:
        found["detectedLanguage"] = [
            Detected(confidence=_percent(answer.detected.get(answer.language, 0.0)), language=answer.language)
            for answer in answers
        ]
    if count:
        ranks = [dict.fromkeys(answer.rank(each + 1) for each in range(count)) for answer in answers]
        found["alternatives"] = [
            [text for text in texts if text != answer.text] for texts, answer in zip(ranks, answers, strict=True)
        ]
    return Translated(**(found if many else {name: value[0] for name, value in found.items()}))


def _percent(probability: float) -> float:
    return round(100 * probability, 1)


ALSO = {"he": ("iw",), "nb": ("no",), "no": ("nb",), "zh-hans": ("zh",), "zh-hant": ("zt",), "id": ("in",)}
"""Other codes under which clients look for a language; each stands for the same one in requests."""


def _codes(language: str) -> tuple[str, ...]:
    """The code of a language, and others for it."""
    return language, *ALSO.get(language.lower().replace("_", "-"), ())


class Named(Result):
    """A language."""

    code: str
    name: str


class Language(Named):
    """A source language, and its targets."""

    targets: list[str]


@API.get("/languages", public=True)
async def languages(call: Call) -> list[Language]:
    """List the source languages with their targets."""
    call.service.catalog.require_known()
    targets: dict[str, list[str]] = {}
    for direction in call.service.catalog.directions:
        for source in _codes(direction.source):
            targets.setdefault(source, []).extend(_codes(direction.target))
    return [Language(code=code, name=language_name(code), targets=into) for code, into in targets.items()]


class Detect(Asked):
    """A request."""

    q: str | list[str] = ""


@API.post("/detect")
async def detect(call: Call, asked: Detect) -> list[Detected]:
    """Detect the language of a text."""
    require_fields(call, "q")
    found = await call.service.detect(call.client, asked.q if isinstance(asked.q, str) else "\n".join(asked.q))
    return [Detected(confidence=_percent(likely), language=code) for code, likely in found.items()]


class Suggestion(Asked):
    """A translation that somebody would prefer."""

    q: str = ""
    s: str = ""


@API.post("/suggest")
async def suggest(call: Call, asked: Suggestion) -> Failure:
    """Suggestions of better translations are not collected."""
    raise Refusal(403, "suggestions", "Suggestions are disabled on this server.")


class Health(Result):
    """The state of the process."""

    status: Literal["ok"]


@API.get("/health", public=True, counted=False)
async def health(call: Call) -> Health:
    """Succeeds while the process answers."""
    return Health(status="ok")


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


@API.get("/frontend/settings", public=True)
async def settings(call: Call) -> Settings:
    """The limits of the service and what it can do, for pages."""
    service = call.service
    service.catalog.require_known()
    source, target = next(iter(service.catalog.directions), ("", ""))
    keyed = service.keys is not None
    return Settings(
        apiKeys=keyed,
        charLimit=service.limits.characters,
        filesTranslation=True,
        frontendTimeout=500,
        keyRequired=keyed,
        language=Pair(
            source=Named(code=source, name=language_name(source)), target=Named(code=target, name=language_name(target))
        ),
        suggestions=False,
        supportedFilesFormat=list(SUFFIXES),
    )


class OmegaT(Asked):
    """A request of a plugin of OmegaT, whose key is `api_key` in the address."""

    text: str
    source: str = Field(min_length=1, max_length=20)
    target: str = Field(min_length=1, max_length=20)


class Translation(Result):
    """The answer."""

    translation: str


@API.get("/omegat")
async def omegat(call: Call, asked: OmegaT) -> Translation:
    """Translate the text of one segment."""
    ask = Ask([asked.text], asked.target, "" if asked.source == "auto" else asked.source)
    (answer,) = await translated(call.service, call.client, ask)
    return Translation(translation=answer.text)
