"""The API of LibreTranslate, and the address that OmegaT's plugins for local machine translation ask.

Fields come as JSON, as a form or in the query, and so does the key; errors are `{"error": ...}`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from limelight.serving.call import Api, Asked, Call, JsonObject
from limelight.serving.dialects.deepl import Language, as_list, translated
from limelight.serving.refusal import Refusal
from limelight.serving.service import Ask, TagHandling, require_within
from limelight.text.languages import language_name


def failure(refusal: Refusal) -> JsonObject:
    """A refusal. A language that is not known has LibreTranslate's own message, which its clients look for."""
    if refusal.code == "language" and " is not supported;" in refusal.message:
        return {"error": refusal.message.partition(";")[0]}
    return {"error": refusal.message}


API = Api("libretranslate", failure, denied=403, key_field="api_key")

Texts = Annotated[str | list[str], Field(min_length=1)]


class Directed(Asked):
    """The languages of a request."""

    source: Language
    target: Language

    def ask(self, texts: Sequence[str], **options: Any) -> Ask:
        """What is asked for."""
        return Ask(texts, self.target, "" if self.source == "auto" else self.source, options=options)


class Translate(Directed):
    """A request."""

    q: Texts
    format: Literal["text", "html", "markdown"] = "text"
    alternatives: int = Field(0, ge=0)


@API.route("/translate", "POST")
async def translate(call: Call, form: Translate) -> JsonObject:
    """Translate a text, or a list of texts, whose answer has lists."""
    require_within("alternatives", form.alternatives, 0, call.service.limits.n_best - 1, "--max-n-best")
    tags = None if form.format == "text" else TagHandling(form.format)
    answers = []
    for answer in await translated(call, form.ask(as_list(form.q), tags=tags, n_best=form.alternatives + 1)):
        shown: JsonObject = {"translatedText": answer.text}
        if form.source == "auto":
            shown["detectedLanguage"] = _detected(answer.language, answer.detected.get(answer.language, 1.0))
        if form.alternatives:
            shown["alternatives"] = [
                alternative for alternative in dict.fromkeys(answer.alternatives) if alternative != answer.text
            ]
        answers.append(shown)
    return {name: [shown[name] for shown in answers] for name in answers[0]} if isinstance(form.q, list) else answers[0]


def _detected(language: str, probability: float) -> JsonObject:
    """A language, and how likely it is in percent."""
    return {"confidence": round(100 * probability, 1), "language": language}


@API.route("/languages", public=True)
async def languages(call: Call) -> list[JsonObject]:
    """List the languages with their targets. Weblate and Discourse look here for a target, too."""
    targets: dict[str, list[str]] = {}
    for source, target in call.service.catalog.directions:
        targets.setdefault(source, []).append(target)
        targets.setdefault(target, [])
    return [{"code": code, "name": language_name(code), "targets": into} for code, into in targets.items()]


class Detect(Asked):
    """A request."""

    q: Texts


@API.route("/detect", "POST")
async def detect(call: Call, form: Detect) -> list[JsonObject]:
    """Detect the language of a text."""
    probabilities = await call.service.detect(call.client, "\n".join(as_list(form.q)))
    return [_detected(code, likely) for code, likely in probabilities.items()]


@API.route("/health", public=True, counted=False)
async def health(call: Call) -> JsonObject:
    """Succeeds while the process answers."""
    return {"status": "ok"}


class OmegaT(Directed):
    """A request of a plugin of OmegaT, whose key is `api_key` in the address."""

    text: str


@API.route("/omegat")
async def omegat(call: Call, form: OmegaT) -> JsonObject:
    """Translate the text of one segment."""
    (answer,) = await translated(call, form.ask([form.text]))
    return {"translation": answer.text}
