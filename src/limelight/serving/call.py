"""A request as the dialects see it, and the routes of a dialect.

    @API.route("/v2/translate", "POST")
    async def translate(call: Call, form: Translate) -> JsonObject: ...

The type of `form` declares the fields of the request. Answers are JSON, or a `Response`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response as Response
from starlette.routing import compile_path

from limelight.serving.fields import Upload
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Client, Service

JsonObject = dict[str, Any]


class JSONResponse(Response):
    """An answer in JSON; a number that JSON does not have is null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return to_json(content, inf_nan_mode="null")  # several times as fast as the standard library


@dataclass(frozen=True, slots=True)
class Call:
    """A request."""

    service: Service
    client: Client
    request: Request
    fields: Mapping[str, Any]
    """Fields of the query and of the body, in any form; the body takes precedence. A repeated field is a list."""
    path: Mapping[str, str]
    """The variable parts of the address."""

    @property
    def file(self) -> Upload:
        """The file. Raises `Refusal` where there is none."""
        file = self.fields.get("file")
        if not isinstance(file, Upload):
            raise bad_request("file: there is none; send it as multipart/form-data")
        return file

    def refuse(self, names: Sequence[str]) -> None:
        """Raises `Refusal` for a field that would change the answer, and is not empty or false."""
        for name in names:
            if self.fields.get(name):
                raise bad_request(f"{name}: not supported by this service; leave it out")


class Asked(BaseModel):
    """The fields of a request; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, use_attribute_docstrings=True)


class Strict(Asked):
    """The fields of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Route:
    """A path and its handler, which takes a call and, if it has an argument `form`, the fields of the request."""

    method: str
    path: str
    api: Api
    handler: Callable[..., Awaitable[Any]]
    public: bool = False
    """Whether no key is needed. The body of such a request is not read."""
    counted: bool = True
    """Whether the metrics count it: probes are not counted."""
    status: int = 200
    upload: bool = False
    """Whether the body may be as large as a document, and may have a file."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path; a variable part is a group."""
        return compile_path(self.path)[0]

    @cached_property
    def form(self) -> type[BaseModel] | None:
        """The fields of the request; None if it has none."""
        return get_type_hints(self.handler).get("form")


Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])


@dataclass(eq=False)
class Api:
    """A dialect: its errors, its keys, and its routes."""

    name: str
    failure: Callable[[Refusal], JsonObject]
    """The answer for a refusal that the clients of this API understand."""
    prefixes: tuple[str, ...] = ("/",)
    """Unknown paths that begin like this are refused in this dialect."""
    denied: int = 401
    """Status for a missing or unknown key."""
    key_field: str = ""
    """Field of the request that may hold the key; only a header if empty."""
    routes: list[Route] = field(default_factory=list)

    def route(self, path: str, method: str = "GET", **more: Any) -> Callable[[Handler], Handler]:
        """A decorator that adds a route with this handler; `more` are the fields of `Route`."""

        def add(handler: Handler) -> Handler:
            self.routes.append(Route(method, path, self, handler, **more))
            return handler

        return add
