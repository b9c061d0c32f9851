"""The API of LibreTranslate, and the address that OmegaT's plugins for local machine translation ask.

Fields come as JSON, as a form or in the query, and so does the key; errors are `{"error": ...}`.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from limelight.serving.asks import Ask, TagHandling, require_within
from limelight.serving.call import Api, Asked, Call, JsonObject
from limelight.serving.dialects.deepl import translated
from limelight.serving.refusal import Refusal, bad_request
from limelight.text.languages import language_name


def failure(refusal: Refusal) -> JsonObject:
    """A refusal. A language that is not known has LibreTranslate's own message, which its clients look for."""
    if refusal.code == "language" and " is not supported;" in refusal.message:
        return {"error": refusal.message.partition(";")[0]}
    return {"error": refusal.message}


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


@API.post("/translate")
async def translate(call: Call, asked: Translate) -> JsonObject:
    """Translate a text, or a list of texts, whose answer has lists."""
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
    )
    answers = await translated(call.service, call.client, ask)
    found: dict[str, list[Any]] = {"translatedText": [answer.text for answer in answers]}
    if automatic:
        found["detectedLanguage"] = [
            _detected(answer.language, answer.detected.get(answer.language, 0.0)) for answer in answers
        ]
    if count:
        ranks = [dict.fromkeys(answer.rank(each + 1) for each in range(count)) for answer in answers]
        found["alternatives"] = [
            [text for text in texts if text != answer.text] for texts, answer in zip(ranks, answers, strict=True)
        ]
    return dict(found) if many else {name: value[0] for name, value in found.items()}


def _detected(language: str, probability: float) -> JsonObject:
    """A language, and how likely it is in percent."""
    return {"confidence": round(100 * probability, 1), "language": language}


ALSO = {"he": ("iw",), "nb": ("no",), "no": ("nb",), "zh-hans": ("zh",), "zh-hant": ("zt",), "id": ("in",)}
"""Other codes under which clients look for a language; each stands for the same one in requests."""


def _codes(language: str) -> tuple[str, ...]:
    """The code of a language, and others for it."""
    return language, *ALSO.get(language.lower().replace("_", "-"), ())


@API.get("/languages", public=True)
async def languages(call: Call) -> list[JsonObject]:
    """List the source languages with their targets."""
    call.service.catalog.require_known()
    targets: dict[str, list[str]] = {}
    for direction in call.service.catalog.directions:
        for source in _codes(direction.source):
            targets.setdefault(source, []).extend(_codes(direction.target))
    return [{"code": code, "name": language_name(code), "targets": into} for code, into in targets.items()]


class Detect(Asked):
    """A request."""

    q: str | list[str] = ""


@API.post("/detect")
async def detect(call: Call, asked: Detect) -> list[JsonObject]:
    """Detect the language of a text."""
    require_fields(call, "q")
    found = await call.service.detect(call.client, asked.q if isinstance(asked.q, str) else "\n".join(asked.q))
    return [_detected(code, likely) for code, likely in found.items()]


@API.get("/health", public=True, counted=False)
async def health(call: Call) -> JsonObject:
    """Succeeds while the process answers."""
    return {"status": "ok"}


class OmegaT(Asked):
    """A request of a plugin of OmegaT, whose key is `api_key` in the address."""

    text: str
    source: str = Field(min_length=1, max_length=20)
    target: str = Field(min_length=1, max_length=20)


@API.get("/omegat")
async def omegat(call: Call, asked: OmegaT) -> JsonObject:
    """Translate the text of one segment."""
    ask = Ask([asked.text], asked.target, "" if asked.source == "auto" else asked.source)
    (answer,) = await translated(call.service, call.client, ask)
    return {"translation": answer.text}
