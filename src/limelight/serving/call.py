"""A request and its answer as the dialects see them: no web framework in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, WithJsonSchema

from limelight.serving.refusal import Refusal, of_validation
from limelight.serving.service import Client, Service

Fields = TypeVar("Fields", bound=BaseModel)


class Upload(NamedTuple):
    """A file of a request."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A request."""

    client: Client
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the query and of the body, in any form; the body takes precedence. A repeated field is a list."""
    path: Mapping[str, str] = field(default_factory=dict)
    """The variable parts of the address."""
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    base_url: str = ""
    """The public address of the service; only for uploads, as making it takes time."""

    def read(self, form: type[Fields]) -> Fields:
        """The fields in this form. Raises `Refusal` that names the first one that does not fit."""
        try:
            return form.model_validate(self.fields)
        except ValidationError as error:
            raise of_validation(error) from None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: a JSON value, or bytes of another kind, or events as they come."""

    value: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    media_type: str = "application/json"
    events: AsyncIterator[str] | None = None
    """Server-sent events, each a whole one."""
    close: Callable[[], None] | None = None
    """Called when the events have ended, or the client has left."""


Handler = Callable[[Service, Call], Awaitable[Reply]]


PAGE = "x-page-1"
"""Marks, in the schema of an answer, a part of `docs/schema/page-1.json`: the OpenAPI document has it there."""


def of_page(name: str) -> WithJsonSchema:
    """The schema of such a part, or of the whole `document`."""
    return WithJsonSchema({PAGE: name})


class Result(BaseModel):
    """A JSON object of an answer, with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Content(NamedTuple):
    """An answer that is not JSON."""

    media_type: str
    binary: bool = False


class Dialect(NamedTuple):
    """Properties of an API besides its paths."""

    name: str
    error: Callable[[Refusal], Reply]
    """A refusal in the words that the clients of this API understand."""
    failure: type[Result]
    """Its body, for the OpenAPI document."""
    denied: int = 401
    """The status for a key that is missing or unknown."""
    key_field: str = ""
    """The field of a request that may hold the key; only a header where it is empty."""
    key_in_json: bool = True
    """Whether that may be a field of a JSON body, and not of a form or the query alone. Else a request with JSON and no
    key in its header is refused before its body has arrived."""
    forms: bool = False
    """Whether its clients send forms, too: the OpenAPI document describes them."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path and its handler."""

    method: str
    path: str
    dialect: Dialect
    handler: Handler
    answer: Any
    """The type of the answer, for the OpenAPI document: a type of JSON that pydantic knows, a `Content`, or None for an
    empty answer."""
    public: bool = False
    """Whether no key is needed."""
    counted: bool = True
    """Whether the metrics count it: probes are not counted."""
    form: type[BaseModel] | None = None
    """The fields of the request, for the OpenAPI document; None if it has none."""
    statuses: tuple[int, ...] = (200,)
    """HTTP statuses of these answers."""
    streams: bool = False
    """Whether the answer comes as server-sent events if the request asks for a stream."""
    upload: bool = False
    """Whether the body may be as large as a document."""
