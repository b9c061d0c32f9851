"""The fields and files of a request: untrusted, so the size and the time of a body are bounded before it is parsed."""

import asyncio
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from limelight.serving.limits import Limits
from limelight.serving.refusal import Refusal, bad_request, beyond, of_validation

MAX_FIELDS = 1000
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"

Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True)
class Upload:
    """A file of a request. Not a tuple, which would be valid as a list of texts."""

    name: str
    content: bytes


async def read_body(request: Request, limits: Limits, *, upload: bool) -> bytes:
    """The whole body. Raises `Refusal`: 413 above the limit, 408 when it takes too long, 415 for a compressed one; and
    `ClientDisconnect` when the client has left."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refusal(415, "encoding", "compressed bodies are not read: send it without Content-Encoding")
    limit, option = (limits.document, "--max-upload") if upload else (limits.body, "--max-body")
    announced, body = request.headers.get("content-length", "0"), bytearray()
    size = int(announced) if announced.isdecimal() else 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            chunks = aiter(request.stream())
            while size <= limit and (chunk := await anext(chunks, None)) is not None:
                body += chunk
                size = max(size, len(body))
    except TimeoutError:
        message = f"the body did not arrive within {limits.body_seconds:g} s: send it without pauses"
        raise Refusal(408, "slow_body", message) from None
    if size > limit:
        remedy = "divide the document" if upload else "send less at a time"
        raise Refusal(413, "too_large", beyond(f"the body has {size:,} bytes", limit, option, remedy))
    return bytes(body)


def read_query(query: bytes) -> dict[str, Any]:
    """The fields of a query string, or of a form. Raises `Refusal`."""
    try:
        fields = parse_qs(query.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise bad_request(f"the form is not UTF-8, or has more than {MAX_FIELDS} fields") from None
    return _single(fields)


def _single(fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The fields; only a repeated one is a list."""
    return {key: values[0] if len(values) == 1 else values for key, values in fields.items()}


async def read_fields(request: Request, body: bytes) -> dict[str, Any]:
    """The fields of a body; a file is an `Upload`. Raises `Refusal` for a body that cannot be read."""
    if not body.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_object = body.lstrip().startswith(b"{")
    if kind == JSON or kind.endswith("+json") or (not kind and is_object):
        return _object(body)
    if kind in (FORM, ""):
        if is_object:  # curl sends JSON so, unless it is told otherwise
            raise bad_request(f"the body looks like JSON, and comes as a form: add the header Content-Type: {JSON}")
        return read_query(body)
    if kind == MULTIPART:
        return await _multipart(request, body)
    raise Refusal(415, "media_type", f"the body must be {JSON}, {FORM} or {MULTIPART}")


def _object(body: bytes) -> dict[str, Any]:
    """A JSON object. The parser bounds depth and digits, and refuses half of a surrogate pair."""
    try:
        value = from_json(body.removeprefix(BOM_UTF8), allow_inf_nan=False)
    except ValueError as error:
        raise bad_request(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad_request("the body must be a JSON object: {...}")
    return value


async def _multipart(request: Request, body: bytes) -> dict[str, Any]:
    charset = parse_options_header(request.headers["content-type"])[1].get(b"charset", b"utf-8").lower()
    if charset not in (b"utf-8", b"utf8", b"us-ascii"):  # some codecs take quadratic time, or make half of a pair
        raise Refusal(415, "charset", "the form must be UTF-8: leave out the charset of its Content-Type")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    fields = defaultdict[str, list[Any]](list)
    try:
        form = await Request(request.scope, receive).form(max_files=1, max_fields=MAX_FIELDS, max_part_size=len(body))
        for key, value in form.multi_items():
            fields[key].append(
                Upload(value.filename or "", await value.read()) if isinstance(value, UploadFile) else value
            )
        await form.close()
    except (MultiPartException, ValueError, AttributeError, LookupError):
        raise bad_request("invalid multipart body, or more than one file") from None
    return _single(fields)


def read_form(form: type[Form], fields: Any) -> Form:
    """The fields in this form. Raises `Refusal` that names the first one that does not fit."""
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise of_validation(error) from None
