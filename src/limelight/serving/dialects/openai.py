"""The chat completions of OpenAI, for programs that know nothing else: the last message of the user is translated.

The model is `NAME:en-de`, `en-de` alone, or a name alone if the model has one direction or the prompt says into which
language; `prompts.py` reads what the messages ask for. Settings of sampling, which clients send unasked, are ignored:
the answer is the model's best translation.
"""

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from secrets import token_hex
from typing import Any, Literal

from pydantic import Field

from limelight.config.directions import same_language
from limelight.serving.call import Api, Asked, Call, JsonObject
from limelight.serving.dialects.deepl import translated
from limelight.serving.dialects.prompts import Prompt, read_prompt
from limelight.serving.events import Progress, event, streamed
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Ask, Service
from limelight.serving.stored import usable

MAX_MESSAGES = 1000
REFUSED = ("tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options")
"""Fields that would change the answer."""
PLAIN_KEYS = {"type", "title", "description", "default"}
"""Keywords of a field in a schema that fit every translation."""
_PAIR = re.compile(r"([A-Za-z_]+)-([A-Za-z_]+)")


def failure(refusal: Refusal) -> JsonObject:
    """A refusal."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}}


API = Api("openai", failure, ("/v1/",))


class Message(Asked):
    """A message of the conversation."""

    role: str = Field(max_length=20)
    content: str | list[dict[str, Any]] | None = None
    """Only the last message of the user is used; it has text alone."""

    @property
    def text(self) -> str | None:
        """The text of its parts; None where it has other parts."""
        if not isinstance(self.content, list):
            return self.content or ""
        texts = [str(part.get("text") or "") for part in self.content if part.get("type") in ("text", "input_text")]
        return "".join(texts) if len(texts) == len(self.content) else None


class Completion(Asked):
    """A request."""

    model: str = Field(max_length=200)
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: dict[str, Any] = Field({})
    """`include_usage`: whether the last event has the usage."""
    n: Literal[1] = 1
    response_format: dict[str, Any] = Field({})
    """`json_object`, or a `json_schema` with one string: the answer is JSON."""


@API.route("/v1/chat/completions", "POST")
async def completions(call: Call, form: Completion) -> Any:
    """Translate what the last message of the user asks for."""
    call.refuse(REFUSED)
    prompt = _prompt(form.messages)
    write = partial(_content, _field(form.response_format, prompt.form), prompt)
    ask = _ask(call.service, form, prompt)
    head = {"id": f"chatcmpl-{token_hex(12)}", "created": int(time.time()), "model": form.model}
    if form.stream:
        is_whole = bool(form.response_format) or prompt.form is not None or len(prompt.texts) > 1
        make = partial(_chunks, head, ask, write, whole=is_whole, usage=bool(form.stream_options.get("include_usage")))
        return await streamed(call.service.log, partial(call.service.translate, call.client, ask), make)
    answers = await translated(call, ask)
    message = {"role": "assistant", "content": write(answers)}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    return {**head, "object": "chat.completion", "choices": choices, "usage": _usage(ask, answers)}


def _prompt(messages: Sequence[Message]) -> Prompt:
    """What the messages ask for. Raises `Refusal`, also where the last message of the user is not a text."""
    texts = [message.text for message in messages if message.role == "user"]
    if not texts:
        raise bad_request("messages: there is none with the role user, whose text would be translated")
    if texts[-1] is None:
        raise bad_request("messages: only text can be translated, and the last message of the user has other parts")
    system = "\n\n".join(message.text or "" for message in messages if message.role in ("system", "developer"))
    return read_prompt(system, texts[-1])


def _content(field: str, prompt: Prompt, answers: Sequence[Answer]) -> str:
    """The content of an answer: JSON with this field, JSON like the message's, or a text."""
    value = prompt.value([answer.text for answer in answers])
    value = {field: value} if field else value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(response_format: dict[str, Any], form: Any) -> str:
    """The field of a JSON answer that takes the whole translation; empty for a text, and for JSON like the message's.
    Raises `Refusal` for a `response_format` that a translation cannot have."""
    kind = response_format.get("type", "text")
    if kind in ("text", "json_object"):
        return "translation" if kind == "json_object" and form is None else ""
    try:
        ((name, field),) = response_format["json_schema"]["schema"]["properties"].items()
        if form is None and field["type"] == "string" and set(field) <= PLAIN_KEYS:
            return str(name)
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    raise bad_request("response_format: text, json_object, or a json_schema of an object with one string, for a text")


async def _chunks(
    head: JsonObject,
    ask: Ask,
    write: Callable[[Sequence[Answer]], str],
    items: AsyncIterator[Any],
    *,
    whole: bool,
    usage: bool,
) -> AsyncIterator[str]:
    """Sentence by sentence, each when it is done; with `whole` only the whole answer."""
    head = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: JsonObject, reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    sent = ""
    async for item in items:
        if isinstance(item, Refusal):
            yield event(failure(item))
            return
        is_progress = isinstance(item, Progress)
        text = item.text if is_progress else write(item)
        if text.startswith(sent) and text != sent and not (is_progress and whole):
            yield chunk({"content": text[len(sent) :]})
            sent = text
        if not is_progress:
            yield chunk({}, "stop")
            if usage:
                yield event({**head, "choices": [], "usage": _usage(ask, item)})
    yield "data: [DONE]\n\n"


def _usage(ask: Ask, answers: Sequence[Answer]) -> JsonObject:
    """Characters of the source, whose tokens are not known here, and tokens of the translations."""
    prompt, completion = sum(map(len, ask.texts)), sum(answer.tokens for answer in answers)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _ask(service: Service, form: Completion, prompt: Prompt) -> Ask:
    """The texts with the model and direction that the model's name and the prompt stand for. Raises `Refusal` if the
    two name different languages."""
    name, source, target = _model_named(service, form.model)
    if (target and prompt.targets and not any(same_language(language, target) for language in prompt.targets)) or (
        source and prompt.source and not same_language(source, prompt.source)
    ):
        languages = f"from {prompt.source[:20] or source} into {' and '.join(prompt.targets)[:40] or target}"
        message = f"the prompt asks for a translation {languages}, and the model {form.model} does not"
        raise bad_request(f"{message}: give the name of a model alone", "language")
    if not target and len(prompt.targets) == 1:
        (target,) = prompt.targets
    return Ask(prompt.texts, target, source or prompt.source, name, {"terms": usable(prompt.terms)})


def _model_named(service: Service, name: str) -> tuple[str, str, str]:
    """The model, the source and the target language of a name; empty where it leaves them open. Raises `Refusal`."""
    if name in (names := model_names(service)):
        return names[name]
    if not name or any(name == model.name for model in service.catalog.models):
        return name, "", ""
    model, _, pair = name.rpartition(":")
    if (match := _PAIR.fullmatch(pair)) is None:
        listed = ", ".join(names)
        raise Refusal(404, "model_not_found", f"there is no such model; there are: {listed}")
    return model, match[1], match[2]


def model_names(service: Service) -> dict[str, tuple[str, str, str]]:
    """The names of each model with each of its directions, and their model, source and target language; a model of
    several directions also alone, for prompts that say which."""
    names = dict[str, tuple[str, str, str]]()
    for model in service.catalog.translators:
        if len(model.directions) != 1:
            names[model.name] = model.name, "", ""
        names |= {f"{model.name}:{pair}": (model.name, *pair) for pair in (*model.directions, *model.pivots)}
    return names


@API.route("/v1/models")
async def models(call: Call) -> JsonObject:
    """List the names that a request may have as its `model`: a model and a direction."""
    call.service.catalog.require_known()
    common = {"object": "model", "created": 0, "owned_by": "limelight"}
    return {"object": "list", "data": [{"id": name, **common} for name in model_names(call.service)]}
