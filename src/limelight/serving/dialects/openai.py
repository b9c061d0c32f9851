"""The chat completions of OpenAI, for programs that know nothing else: the last message of the user is translated.

The model is `NAME:en-de`, `en-de` alone, or a name alone if the model has one direction or the prompt says into which
language; `prompts.py` reads what the messages ask for. Settings of sampling, which clients send unasked, are ignored:
the answer is the model's best translation.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from secrets import token_hex
from typing import Any, Literal

from pydantic import Field

from limelight.config.directions import same_language
from limelight.serving.asks import Ask
from limelight.serving.call import Api, Asked, Call, JsonObject
from limelight.serving.dialects.deepl import translated
from limelight.serving.dialects.prompts import Prompt, read_prompt
from limelight.serving.events import Following, Progress, event, follow, streamed
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Service
from limelight.serving.stored import usable

MAX_MESSAGES = 1000
REFUSED = ("tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options")
"""Fields whose value would have to change the answer, unless it is empty or false."""
PLAIN_KEYS = {"type", "title", "description", "default", "items"}
"""Keywords of a field in a schema that fit every translation."""
Written = Callable[[Sequence[str]], str]
"""Makes the content of an answer of the translated texts."""
_PAIR = re.compile(r"([A-Za-z_]+)-([A-Za-z_]+)")


def failure(refusal: Refusal) -> JsonObject:
    """A refusal."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}}


API = Api("openai", failure, ("/v1/",))


class Part(Asked):
    """A part of a message; only text can be translated."""

    type: Literal["text", "input_text"]
    text: str


class Message(Asked):
    """A message of the conversation."""

    role: str = Field(max_length=20)
    content: str | list[Part | dict[str, Any]] | None = None
    """Only the last message of the user is used; it has text alone."""

    @property
    def parts(self) -> list[str | None]:
        """The text of each part of its content; None for other parts."""
        if not isinstance(self.content, list):
            return [self.content or ""]
        return [part.text if isinstance(part, Part) else None for part in self.content]


class StreamOptions(Asked):
    """Options of a stream."""

    include_usage: bool = False


class Completion(Asked):
    """A request."""

    model: str = Field(max_length=200)
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    n: Literal[1] = 1
    response_format: dict[str, Any] = Field({})
    """`json_object`, or a `json_schema` with one string: the answer is JSON."""


@API.post("/v1/chat/completions")
async def completions(call: Call, asked: Completion) -> JsonObject:
    """Translate what the last message of the user asks for."""
    for name in REFUSED:
        if call.fields.get(name):
            raise bad_request(f"{name}: not supported by a translator; leave it out")
    prompt = _prompt(asked)
    write, ask = _form(asked.response_format, prompt), _ask(call.service, asked, prompt)
    head = {"id": f"chatcmpl-{token_hex(12)}", "created": int(time.time()), "model": asked.model}
    if asked.stream:
        following = await follow(call, ask)
        whole = bool(asked.response_format) or prompt.form is not None or len(prompt.texts) > 1
        events = _chunks(following, head, ask, write, whole=whole, usage=asked.stream_options.include_usage)
        return streamed(following, events)
    answers = await translated(call.service, call.client, ask)
    message = {"role": "assistant", "content": write([answer.text for answer in answers])}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    return {**head, "object": "chat.completion", "choices": choices, "usage": _usage(ask, answers)}


def _prompt(asked: Completion) -> Prompt:
    """What the messages ask for. Raises `Refusal`, also where the last message of the user is not a text."""
    system = [each.parts for each in asked.messages if each.role in ("system", "developer")]
    users = [message for message in asked.messages if message.role == "user"]
    if not users:
        raise bad_request("messages: there is none with the role user, whose text would be translated")
    if None in users[-1].parts:
        raise bad_request("messages: only text can be translated, and the last message of the user has other parts")
    return read_prompt("\n\n".join("\n".join(filter(None, parts)) for parts in system),
                       "".join(filter(None, users[-1].parts)))  # fmt: skip


def _form(form: dict[str, Any], prompt: Prompt) -> Written:
    """What makes the content of an answer. Raises `Refusal` for a `response_format` that a translation cannot have."""
    kind, name = form.get("type", "text"), ""
    if kind == "json_object" and prompt.form is None:
        name = "translation"
    elif kind == "json_schema":
        name = _field(form.get("json_schema"), prompt.form)
    elif kind not in ("text", "json_object"):
        raise bad_request("response_format: its type must be text, json_object or json_schema")

    def write(texts: Sequence[str]) -> str:
        value = {name: prompt.value(texts)} if name else prompt.value(texts)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return write


def _field(given: Any, form: Any) -> str:
    """The one field of a schema that takes the whole answer; empty if its fields are those of the message. Raises
    `Refusal` for other schemas."""
    schema = given.get("schema") if isinstance(given, dict) else None
    fields = schema.get("properties") if isinstance(schema, dict) else None
    fields = fields if isinstance(fields, dict) and all(isinstance(each, dict) for each in fields.values()) else {}
    if isinstance(form, dict) and set(fields) == set(form):
        return ""
    needed = "string" if form is None else "array" if isinstance(form, list) else "object"
    if len(fields) == 1:
        ((name, field),) = fields.items()
        if field.get("type") == needed and set(field) <= PLAIN_KEYS:
            return str(name)
    raise bad_request(
        f"response_format: the json_schema of this message must be an object with one field, of type {needed}"
    )


async def _chunks(
    items: Following, head: JsonObject, ask: Ask, write: Written, *, whole: bool, usage: bool
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
        if is_progress and whole:
            continue
        text = item.text if is_progress else write([answer.text for answer in item])
        if text.startswith(sent) and text != sent:
            yield chunk({"content": text[len(sent) :]})
            sent = text
        if not is_progress:
            yield chunk({}, "stop")
            if usage:
                yield event({**head, "choices": [], "usage": _usage(ask, item)})
    yield "data: [DONE]\n\n"


def _usage(ask: Ask, answers: Sequence[Answer]) -> JsonObject:
    """Characters of the source, whose tokens are not known here, and tokens of the translations."""
    prompt = sum(map(len, ask.texts))
    completion = sum(answer.found.get("tokens", 0) for answer in answers)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _ask(service: Service, asked: Completion, prompt: Prompt) -> Ask:
    """The texts with the model and direction that the model's name and the prompt stand for. Raises `Refusal` if the
    two name different languages."""
    name, colon, pair = asked.model.rpartition(":")
    if not colon and any(asked.model == each.name for each in service.catalog.models):
        name, pair = asked.model, ""
    found = _PAIR.fullmatch(pair)
    if pair and found is None:
        raise _no_model(service)
    source, target = found.groups() if found else ("", "")
    if (target and prompt.targets and not any(same_language(each, target) for each in prompt.targets)) or (
        source and prompt.source and not same_language(source, prompt.source)
    ):
        languages = f"from {prompt.source[:20] or source} into {' and '.join(prompt.targets)[:40] or target}"
        message = f"the prompt asks for a translation {languages}, and the model {asked.model} does not"
        raise bad_request(f"{message}: give the name of a model alone", "language")
    if not target and len(prompt.targets) == 1:
        (target,) = prompt.targets
    return Ask(prompt.texts, target, source or prompt.source, name, terms=usable(prompt.terms))


def _no_model(service: Service) -> Refusal:
    there = ", ".join(model_names(service))
    return Refusal(404, "model_not_found", f"there is no such model; there are: {there}")


def model_names(service: Service) -> list[str]:
    """Each model with each of its directions; one of several directions also alone, for prompts that say which."""
    return [
        name
        for model in service.catalog.translators
        for name in (
            *([model.name] if len(model.directions) != 1 else []),
            *(f"{model.name}:{direction}" for direction in (*model.directions, *model.pivots)),
        )
    ]


def _listed(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "limelight"}


@API.get("/v1/models")
async def models(call: Call) -> JsonObject:
    """List the names that a request may have as its `model`: a model and a direction."""
    call.service.catalog.require_known()
    return {"object": "list", "data": [_listed(name) for name in model_names(call.service)]}


@API.get("/v1/models/{id}")
async def model(call: Call) -> JsonObject:
    """Information on one of these names."""
    call.service.catalog.require_known()
    name = call.path["id"]
    if name not in (*model_names(call.service), *(each.name for each in call.service.catalog.translators)):
        raise _no_model(call.service)
    return _listed(name)
