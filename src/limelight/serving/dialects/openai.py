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
from limelight.serving.asks import Ask, require_within
from limelight.serving.call import Api, Asked, Call, Result, plain
from limelight.serving.dialects.deepl import translated
from limelight.serving.dialects.events import Following, Progress, event, follow, streamed
from limelight.serving.dialects.prompts import Prompt, read_prompt
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Service
from limelight.serving.stored import usable

MAX_MESSAGES = 1000
REFUSED = ("tools", "functions", "logprobs", "top_logprobs", "audio", "web_search_options")
"""Fields whose value would have to change the answer, unless it is empty or false."""
PLAIN_KEYS = {"type", "title", "description", "default"}
"""Keywords of a string in a schema that fit every translation."""
Written = Callable[[Sequence[str]], str]
"""Makes the content of an answer of the translated texts."""
_PAIR = re.compile(r"([A-Za-z_]+)-([A-Za-z_]+)")


class Problem(Result):
    """The reason for an error."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: None
    code: str


class Failure(Result):
    """An error."""

    error: Problem


def failure(refusal: Refusal) -> Failure:
    """A refusal."""
    kind: Any = "invalid_request_error" if refusal.status < 500 else "server_error"
    return Failure(error=Problem(message=refusal.message, type=kind, param=None, code=refusal.code))


API = Api("openai", failure)


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
    def parts(self) -> list[Part | dict[str, Any]]:
        """The parts of its content."""
        return [Part(type="text", text=self.content or "")] if not isinstance(self.content, list) else self.content

    @property
    def plain(self) -> str:
        """The text of its parts."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Part))

    @property
    def text(self) -> str:
        """The whole text. Raises `Refusal` for a part that is not text."""
        if not all(isinstance(part, Part) for part in self.parts):
            raise bad_request("messages: only text can be translated, and the last message of the user has other parts")
        return "".join(part.text for part in self.parts if isinstance(part, Part))


class StreamOptions(Asked):
    """Options of a stream."""

    include_usage: bool = False


class Completion(Asked):
    """A request."""

    model: str = Field(max_length=200)
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = 1
    response_format: dict[str, Any] | None = None
    """`json_object`, or a `json_schema` with one string: the answer is JSON."""


class Said(Result):
    """A translation."""

    role: Literal["assistant"]
    content: str


class Choice(Result):
    """One of the n-best translations."""

    index: int
    message: Said
    finish_reason: Literal["stop"]
    logprobs: None


class Usage(Result):
    """What was counted: characters of the source, tokens of the translations of all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completed(Result):
    """The answer without streaming."""

    id: str
    object: Literal["chat.completion"]
    created: int
    """Seconds since 1970."""
    model: str
    choices: list[Choice]
    usage: Usage


@API.post("/v1/chat/completions")
async def completions(call: Call, asked: Completion) -> Completed:
    """Translate what the last message of the user asks for."""
    service = call.service
    _refuse_settings(call, asked)
    users = [message for message in asked.messages if message.role == "user"]
    if not users:
        raise bad_request("messages: there is none with the role user, whose text would be translated")
    system = "\n\n".join(each.plain for each in asked.messages if each.role in ("system", "developer"))
    prompt = read_prompt(system, users[-1].text)
    write = _form(asked.response_format or {}, prompt)
    ask = _ask(service, asked, prompt)
    head: dict[str, Any] = {"id": f"chatcmpl-{token_hex(12)}", "created": int(time.time()), "model": asked.model}
    if asked.stream:
        usage = asked.stream_options is not None and asked.stream_options.include_usage
        following = await follow(call, ask)
        events = _chunks(following, head, ask, None if write is _text else write, usage=usage)
        return streamed(following, events)  # type: ignore[return-value]
    answers = await translated(service, call.client, ask)
    choices = []
    for index in range(asked.n):
        said = Said(role="assistant", content=write([answer.rank(index) for answer in answers]))
        choices.append(Choice(index=index, message=said, finish_reason="stop", logprobs=None))
    return Completed(object="chat.completion", choices=choices, usage=_usage(ask, answers, asked.n), **head)


def _refuse_settings(call: Call, asked: Completion) -> None:
    """Raises `Refusal` for what an answer cannot have, by its name."""
    for name in REFUSED:
        unused = name in ("tools", "functions") and "none" in (
            call.fields.get("tool_choice"),
            call.fields.get("function_call"),
        )
        if call.fields.get(name) and not unused:
            raise bad_request(f"{name}: not supported by a translator; leave it out")
    if call.fields.get("modalities") not in (None, [], ["text"]):
        raise bad_request("modalities: only text is supported")
    require_within("n", asked.n, 1, call.service.limits.n_best, "--max-n-best")
    if asked.stream and asked.n > 1:
        raise bad_request(f"n must be 1 in a stream, not {asked.n}: leave out n or stream")


# ---- the form of the answer


def _text(texts: Sequence[str]) -> str:
    return texts[0]


def _form(form: dict[str, Any], prompt: Prompt) -> Written:
    """What makes the content of an answer. Raises `Refusal` for a `response_format` that a translation cannot have."""
    kind = form.get("type", "text")
    if kind == "text":
        return _text if prompt.shape == "text" else lambda texts: _json(prompt.value(texts))
    if kind == "json_object":
        as_it_is = prompt.shape in ("list", "object", "nested")
        return lambda texts: _json(prompt.value(texts) if as_it_is else {"translation": prompt.value(texts)})
    if kind != "json_schema":
        raise bad_request("response_format: its type must be text, json_object or json_schema")
    name = _field(form.get("json_schema"), prompt)
    return lambda texts: _json({name: prompt.value(texts)} if name else prompt.value(texts))


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _field(given: Any, prompt: Prompt) -> str:
    """The one field of a schema that takes the whole answer; empty if its fields are those of the message. Raises
    `Refusal` for other schemas."""
    schema = given.get("schema") if isinstance(given, dict) else None
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(fields, dict) and isinstance(schema, dict) and schema.get("type", "object") == "object":
        if prompt.shape == "object" and set(fields) == set(prompt.keys) and all(map(_is_text, fields.values())):
            return ""
        if len(fields) == 1:
            ((name, field),) = fields.items()
            items = field.get("items") if isinstance(field, dict) and field.get("type") == "array" else None
            if prompt.shape in ("text", "parts") and _is_text(field):
                return str(name)
            if prompt.shape == "list" and _is_text(items) and set(field) <= {*PLAIN_KEYS, "items"}:
                return str(name)
    needed = {"list": "one field, an array of strings", "object": "the fields of the message, all of them strings"}
    what = needed.get(prompt.shape, "one field, a string without other constraints")
    raise bad_request(f"response_format: the json_schema of this message must be an object with {what}")


def _is_text(field: Any) -> bool:
    return isinstance(field, dict) and field.get("type") == "string" and set(field) <= PLAIN_KEYS


async def _chunks(
    items: Following, head: dict[str, Any], ask: Ask, write: Written | None, *, usage: bool
) -> AsyncIterator[str]:
    """Sentence by sentence, each when it is done; with `write`, what that makes of the whole answer."""
    head = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    sent = ""
    async for item in items:
        if isinstance(item, Refusal):
            yield event(plain(failure(item)))
            return
        if isinstance(item, Progress):
            text = "" if write else item.certain
        else:
            text = (write or _text)([answer.text for answer in item])
        if text.startswith(sent) and text != sent:
            yield chunk({"content": text[len(sent) :]})
            sent = text
        if not isinstance(item, Progress):
            yield chunk({}, "stop")
            if usage:
                yield event({**head, "choices": [], "usage": plain(_usage(ask, item))})
    yield "data: [DONE]\n\n"


def _usage(ask: Ask, answers: Sequence[Answer], choices: int = 1) -> Usage:
    """Characters of the source, whose tokens are not known here, and tokens of all choices."""
    prompt = sum(map(len, ask.texts))
    tokens = (answer.found.get("tokens", [0]) for answer in answers)
    completion = sum(each[: rank + 1][-1] for each in tokens for rank in range(choices))
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def _ask(service: Service, asked: Completion, prompt: Prompt) -> Ask:
    """The texts with the model and direction that the model's name and the prompt stand for. Raises `Refusal` if the
    two name different languages."""
    options, wide = ({"n_best": asked.n}, "n") if asked.n > 1 else ({}, "")
    name, colon, pair = asked.model.rpartition(":")
    if not colon and any(asked.model == each.name for each in service.catalog.models):
        name, pair = asked.model, ""
    found = _PAIR.fullmatch(pair)
    if pair and found is None:
        raise _no_model(service)
    source, target = found.groups() if found else ("", "")
    if target and prompt.targets and not any(same_language(each, target) for each in prompt.targets):
        asks = " and ".join(prompt.targets)
        raise _conflict(f"the prompt asks for a translation into {asks[:40]}", asked.model)
    if source and prompt.source and not same_language(source, prompt.source):
        raise _conflict(f"the prompt asks for a translation from {prompt.source[:20]}", asked.model)
    if not target and len(prompt.targets) == 1:
        (target,) = prompt.targets
    return Ask(prompt.texts, target, source or prompt.source, name, options, terms=usable(prompt.terms), wide=wide)


def _conflict(what: str, model: str) -> Refusal:
    return bad_request(f"{what}, and the model {model} does not: give the name of a model alone", "language")


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


class Listed(Result):
    """A model and one of its directions."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(Result):
    """The names of models."""

    object: Literal["list"]
    data: list[Listed]


def _listed(name: str) -> Listed:
    return Listed(id=name, object="model", created=0, owned_by="limelight")


@API.get("/v1/models")
async def models(call: Call) -> Models:
    """List the names that a request may have as its `model`: a model and a direction."""
    call.service.catalog.require_known()
    return Models(object="list", data=[_listed(name) for name in model_names(call.service)])


@API.get("/v1/models/{id}")
async def model(call: Call) -> Listed:
    """Information on one of these names."""
    call.service.catalog.require_known()
    name = call.path["id"]
    if name not in (*model_names(call.service), *(each.name for each in call.service.catalog.translators)):
        raise _no_model(call.service)
    return _listed(name)
