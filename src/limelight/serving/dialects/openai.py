"""The chat completions of OpenAI, for programs that know nothing else: the last message of the user is translated.

The model is `NAME:en-de`, a name alone where the model has one direction, or `en-de` alone. Settings of sampling, which
clients send unasked, are ignored: the answer is the model's best translation.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from secrets import token_hex
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Dialect, Reply, Result, Route
from limelight.serving.dialects.events import Following, Progress, event, follow
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Answer, Ask, Service

MAX_MESSAGES = 1000
_PAIR = re.compile(r"([A-Za-z_]+)-([A-Za-z_]+)")


def error(refusal: Refusal) -> Reply:
    """`{"error": {"message", "type", "param", "code"}}`."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    return Reply({"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}})


class Problem(Result):
    """Why there is no answer."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: None
    code: str


class Failure(Result):
    """An error."""

    error: Problem


OPENAI = Dialect("openai", error, Failure)


class Part(BaseModel):
    """A part of a message; only text can be translated."""

    type: Literal["text", "input_text"]
    text: str


class Message(BaseModel):
    """One of the conversation."""

    role: str = Field(max_length=20)
    content: str | list[Part | dict[str, Any]] | None = Field(
        None, description="Only the last message of the user is used; it has text alone."
    )

    @property
    def text(self) -> str:
        """All of it. Raises `Refusal` for a part that is no text."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        parts = [part.text for part in self.content if isinstance(part, Part)]
        if len(parts) < len(self.content):
            raise bad_request("messages: only text can be translated, and the last message of the user has other parts")
        return "".join(parts)


class StreamOptions(BaseModel):
    """What a stream has besides text."""

    include_usage: bool = False


class Completion(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore")

    model: str = Field(max_length=200)
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)

    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = 1


class Said(Result):
    """A translation."""

    role: Literal["assistant"]
    content: str


class Choice(Result):
    """One of the best translations."""

    index: int
    message: Said
    finish_reason: Literal["stop"]
    logprobs: None


class Usage(Result):
    """What was counted: characters of the source, tokens of the translation."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completed(Result):
    """The answer, where it is no stream."""

    id: str
    object: Literal["chat.completion"]
    created: int = Field(description="Seconds since 1970.")
    model: str
    choices: list[Choice]
    usage: Usage


async def completions(service: Service, call: Call) -> Reply:
    """Translate the last message of the user."""
    asked = call.read(Completion)
    users = [message for message in asked.messages if message.role == "user"]
    if not users:
        raise bad_request("messages: there is none with the role user, whose text would be translated")
    ask = _ask(service, asked, users[-1].text)
    head = {"id": f"chatcmpl-{token_hex(12)}", "created": int(time.time()), "model": asked.model}
    if asked.stream:
        if asked.n > 1:
            raise bad_request("n: a stream has one choice")
        usage = asked.stream_options is not None and asked.stream_options.include_usage
        following = await follow(service, call.client, ask)
        return Reply(events=_chunks(following, head, ask, usage=usage), close=following.close)
    (answer,) = await service.translate(call.client, ask)
    texts = [answer.text, *(answer.alternative(number) for number in range(asked.n - 1))]
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        for index, text in enumerate(texts)
    ]
    return Reply({**head, "object": "chat.completion", "choices": choices, "usage": _usage(ask, answer)})


async def _chunks(items: Following, head: dict[str, Any], ask: Ask, *, usage: bool) -> AsyncIterator[str]:
    """Text word by word, as soon as the search has settled it."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event({**head, "object": "chat.completion.chunk", "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    sent = ""
    async for item in items:
        if isinstance(item, Refusal):
            yield event(error(item).value)
            return
        text = item.settled if isinstance(item, Progress) else item[0].text
        if text.startswith(sent) and text != sent:
            yield chunk({"content": text[len(sent) :]})
            sent = text
        if not isinstance(item, Progress):
            yield chunk({}, "stop")
            if usage:
                yield event({**head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(ask, item[0])})
    yield "data: [DONE]\n\n"


def _usage(ask: Ask, answer: Answer) -> dict[str, int]:
    """In characters and tokens: the source is not counted in tokens, as it is never taken apart here."""
    prompt = len(ask.texts[0])
    completion = sum(len(sentence["tokens"]) for sentence in answer.sentences)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _ask(service: Service, asked: Completion, text: str) -> Ask:
    """The text with the model and direction that the model's name stands for."""
    options = {"n_best": asked.n} if asked.n > 1 else {}
    name, colon, pair = asked.model.rpartition(":")
    if not colon:
        name, pair = (
            (asked.model, "") if any(asked.model == each.name for each in service.catalog.models) else ("", pair)
        )
    found = _PAIR.fullmatch(pair)
    if pair and found is None:
        there = ", ".join(model_names(service))
        raise Refusal(404, "model_not_found", f"there is no such model; there are: {there}")
    source, target = found.groups() if found else ("", "")
    return Ask([text], target, source, name, options)


def model_names(service: Service) -> list[str]:
    """Each model with each of its directions."""
    return [
        f"{model.name}:{direction}" if direction else model.name
        for model in service.catalog.translators
        for direction in (model.directions or ("",))
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


async def models(service: Service, call: Call) -> Reply:
    """List the names that a request may have as its `model`: a model and a direction."""
    service.catalog.require_known()
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "limelight"} for name in model_names(service)]
    return Reply({"object": "list", "data": data})


ROUTES = (
    Route("POST", "/v1/chat/completions", OPENAI, completions, Completed, form=Completion, streams=True),
    Route("GET", "/v1/models", OPENAI, models, Models),
)
