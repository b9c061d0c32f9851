"""A request and its answer as the dialects see them, and the routes of a dialect.

    @API.post("/v2/translate")
    async def translate(call: Call, asked: Translate) -> Translated: ...

The types of the arguments and of the result are the schema of the route.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect as ClientDisconnect
from starlette.responses import JSONResponse, StreamingResponse
from starlette.responses import Response as Response

from limelight.serving.refusal import Refusal
from limelight.serving.service import Client, Service


class Upload(NamedTuple):
    """A file of a request."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A request."""

    service: Service
    client: Client
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the query and of the body, in any form; the body takes precedence. A repeated field is a list."""
    path: Mapping[str, str] = field(default_factory=dict)
    """The variable parts of the address."""
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    base_url: str = ""
    """The public address of the service."""


class Asked(BaseModel):
    """The fields of a request; fields that are not known change nothing."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class Strict(BaseModel):
    """The fields of a request; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Result(BaseModel):
    """A JSON object of an answer, with these fields and no others. Fields that are not set are not in it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True)
class Route:
    """A path and its handler, which takes a call and, if it has a second argument, the fields of the request."""

    method: str
    path: str
    api: Api
    handler: Callable[..., Awaitable[Any]]
    public: bool = False
    """Whether no key is needed. The body of such a request is not read."""
    counted: bool = True
    """Whether the metrics count it: probes are not counted."""
    status: int = 200
    statuses: tuple[int, ...] = ()
    """Further statuses of the same answer."""
    upload: bool = False
    """Whether the body may be as large as a document, and may have a file."""
    media_type: str = "application/json"
    """Of the answer, for the OpenAPI document."""

    @cached_property
    def types(self) -> dict[str, Any]:
        """Those of the arguments, and of the result as `return`."""
        return get_type_hints(self.handler, include_extras=True)

    @property
    def form(self) -> type[BaseModel] | None:
        """The fields of the request; None if it has none."""
        return self.types.get("asked")


Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


class Api:
    """A dialect: its errors, where its key stands, and its routes.

    Args:
        failure: makes the answer that the clients of this API understand of a refusal.
        denied: the status for a key that is missing or unknown.
        key_field: the field of a request that may hold the key; only a header if it is empty.
        key_in_json: whether that may be a field of a JSON body. If not, JSON without a key in its headers is refused
            before the body is read.
        own: whether it is our own: clients of the others send empty fields as null.
    """

    def __init__(
        self,
        name: str,
        failure: Callable[[Refusal], Result],
        *,
        denied: int = 401,
        key_field: str = "",
        key_in_json: bool = True,
        own: bool = False,
    ) -> None:
        self.name, self.failure, self.denied = name, failure, denied
        self.key_field, self.key_in_json, self.own = key_field, key_in_json, own
        self.routes: list[Route] = []

    def route(self, method: str, path: str, **more: Any) -> Callable[[Handler], Handler]:
        """A decorator that adds a route with this handler; `more` are the fields of `Route`."""

        def add(handler: Handler) -> Handler:
            self.routes.append(Route(method, path, self, handler, **more))
            return handler

        return add

    def get(self, path: str, **more: Any) -> Callable[[Handler], Handler]:
        """See `route`."""
        return self.route("GET", path, **more)

    def post(self, path: str, **more: Any) -> Callable[[Handler], Handler]:
        """See `route`."""
        return self.route("POST", path, **more)

    def delete(self, path: str, **more: Any) -> Callable[[Handler], Handler]:
        """See `route`; the answer is empty."""
        return self.route("DELETE", path, status=204, **more)


def plain(value: Any) -> Any:
    """An answer as JSON takes it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    return [plain(each) for each in value] if isinstance(value, list) else value


def content(data: bytes, media_type: str, **headers: str) -> Response:
    """An answer that is not JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(data, headers=named, media_type=media_type)


def json_content(value: Any, status: int) -> Response:
    """An answer with another status than that of its route."""
    return JSONResponse(plain(value), status)


def event_stream(events: AsyncIterator[str], end: Callable[[], Awaitable[None]]) -> Response:
    """Server-sent events as they come; `end` is called after the last one, or when the client has left."""
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers, background=BackgroundTask(end))
