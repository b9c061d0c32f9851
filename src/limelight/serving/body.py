"""The body of a request: untrusted, so its size, depth and time are bounded before anything is made of it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from limelight.serving.call import Upload
from limelight.serving.refusal import Refusal, bad_request, beyond

MAX_FIELDS = 1000
MAX_KEYS = 10_000
"""Maximum keys of all objects of a JSON body."""
SMALL = 64 << 10
"""Bytes of a body that are read even if the shared memory is used up."""
DRAINED = 16 << 20
"""A body of at most so many announced bytes is read and thrown away, so that its sender gets to the answer."""
DISCARDED = 256
"""Maximum number of parts, as they arrive, that are read and discarded of a body without an announced size."""

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientLeftError(Exception):
    """The client has closed its connection."""


async def read_body(
    receive: Receive,
    headers: Mapping[str, str],
    *,
    limit: int,
    seconds: float,
    option: str = "--max-body",
) -> bytes:
    """The whole body, decompressed; `option` of the service raises the limit. It is decompressed when all of it has
    arrived, so a client that stops before holds no more memory than it has sent. What is more than `SMALL` bytes needs
    `room`.

    Raises `Refusal`: 413 above `limit` bytes, 408 when it takes too long, 415 for a compression that is not known, 400
    for a damaged one, 503 without room; `ClientLeftError` when the client is gone.
    """
    announced = headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(f"the body has {int(announced):,} bytes", limit, option)
    inflate = _inflater(headers.get("content-encoding", "identity").strip().lower())
    parts, size = [], 0
    chunks = _chunks(receive)
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    if closes(headers):
                        await _discard(chunks)
                    raise _too_large(f"the body has more than {limit:,} bytes", limit, option)
                parts.append(chunk)
        body = inflate(b"".join(parts), limit)
    except TimeoutError:
        raise Refusal(
            408, "slow_body", f"the body did not arrive within {seconds:g} s: send it without pauses"
        ) from None
    if len(body) > limit:
        raise _too_large(f"the body has more than {limit:,} bytes", limit, option)
    return body


async def _discard(chunks: AsyncIterator[bytes]) -> None:
    """Read what still arrives of a body within a second, at most `DISCARDED` parts: if the connection ended with bytes
    that were not read, its sender would see a reset instead of the answer."""
    parts = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            async for _ in chunks:
                parts += 1
                if parts == DISCARDED:
                    return


def closes(headers: Mapping[str, str]) -> bool:
    """Whether the connection has to end with a refusal of the body: what is still to come is not worth reading."""
    announced = headers.get("content-length", "")
    return not announced.isdecimal() or int(announced) > DRAINED


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _too_large(what: str, limit: int, option: str) -> Refusal:
    remedy = "divide the document" if option == "--max-upload" else "send less at a time"
    return Refusal(413, "too_large", beyond(what, limit, option, remedy))


def _inflater(encoding: str) -> Callable[[bytes, int], bytes]:
    """A decompressor of bodies: returns at most one byte more than the limit."""
    if encoding in ("", "identity"):
        return lambda body, _: body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Refusal(415, "encoding", "the body is compressed in a way that is not known: use gzip or none")

    def inflate(body: bytes, limit: int) -> bytes:
        if not body:
            return b""
        stream = zlib.decompressobj(zlib.MAX_WBITS | 32)  # finds out by itself whether it is gzip or zlib
        try:
            found = stream.decompress(body, limit + 1)
        except zlib.error:
            raise bad_request("the compressed body is damaged") from None
        if len(found) <= limit and not stream.eof:
            raise bad_request("the compressed body is cut off")
        if stream.eof and stream.unused_data:
            raise bad_request("the compressed body goes on after its end: compress it as one part")
        return found

    return inflate


def read_query(query: bytes) -> dict[str, Any]:
    """The fields of a query string."""
    return _pairs(query)


async def read_fields(body: bytes, headers: Headers) -> tuple[dict[str, Any], dict[str, Upload]]:
    """The fields and files of a body. Raises `Refusal` for one that cannot be read, naming what it should be."""
    if not body.strip():
        return {}, {}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind:
        kind = JSON if body.lstrip().startswith(b"{") else FORM
    if kind == JSON or kind.endswith("+json"):
        return _object(body), {}
    if kind == FORM:
        if body.lstrip().startswith(b"{"):  # curl sends JSON so, unless it is told otherwise
            raise bad_request(f"the body looks like JSON, and comes as a form: add the header Content-Type: {JSON}")
        return _pairs(body), {}
    if kind == MULTIPART:
        return await _multipart(body, headers)
    raise Refusal(415, "media_type", f"the body must be {JSON}, {FORM} or {MULTIPART}")


def _pairs(text: bytes) -> dict[str, Any]:
    try:
        decoded = text.decode("utf-8")  # curl and browsers' forms send characters as they are, too
        pairs = parse_qsl(decoded, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except UnicodeDecodeError:
        raise bad_request("the text is not UTF-8") from None
    except ValueError:
        raise bad_request(f"the form has more than {MAX_FIELDS} fields: send less at a time") from None
    return _collected(pairs)


def _collected(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The fields; a repeated one is a list."""
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        _require_text(value)
        found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _object(body: bytes) -> dict[str, Any]:
    """A JSON object without the traps: no duplicate keys, no NaN, no numbers without end, no depth without end."""
    keys = 0

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal keys
        found = dict(pairs)
        keys += len(pairs)
        if len(found) < len(pairs):
            raise bad_request("the JSON has the same key twice")
        if keys > MAX_KEYS:
            raise bad_request(f"the JSON has more than {MAX_KEYS} keys: send less at a time")
        return found

    def no_constant(name: str) -> Any:
        raise bad_request(f"the JSON has {name}, which is not a number")

    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=once, parse_constant=no_constant)
        if _ESCAPED_SURROGATE.search(body):
            _require_text(json.dumps(value, ensure_ascii=False))
    except UnicodeDecodeError:
        raise bad_request("the body is not UTF-8") from None
    except RecursionError:
        raise bad_request("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise bad_request(f"the body is not valid JSON at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # the only other one of Python's parser
        most = sys.get_int_max_str_digits()
        raise bad_request(f"the JSON has a number of more than {most} digits: send a smaller one") from None
    if not isinstance(value, dict):
        raise bad_request("the body must be a JSON object: {...}")
    return value


def _require_text(text: str) -> None:
    if _SURROGATE.search(text):
        raise bad_request("the text has half of a surrogate pair, which is not a character")


def _of_multipart(headers: Headers) -> Headers:
    """The headers for the parser of multipart bodies. Raises `Refusal`, 415, for another charset than UTF-8: Python's
    codecs have some that take quadratic time."""
    _, parameters = parse_options_header(headers.get("content-type", ""))
    charset = parameters.get(b"charset", b"utf-8").decode("latin-1").strip().lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Refusal(415, "charset", "the form must be UTF-8: leave out the charset of its Content-Type")
    boundary = parameters.get(b"boundary", b"").decode("latin-1")
    return Headers({"content-type": f'{MULTIPART}; boundary="{boundary}"'} if boundary else {"content-type": MULTIPART})


class _InMemory(MultiPartParser):
    """A parser that keeps files in memory."""

    spool_max_size = sys.maxsize


async def _multipart(body: bytes, headers: Headers) -> tuple[dict[str, Any], dict[str, Upload]]:
    headers = _of_multipart(headers)

    async def stream() -> AsyncIterator[bytes]:
        yield body

    pairs: list[tuple[str, str]] = []
    uploads: dict[str, Upload] = {}
    try:
        parser = _InMemory(
            headers,
            stream(),  # type: ignore[arg-type]  # any asynchronous iterator is read
            max_files=1,
            max_fields=MAX_FIELDS,
            max_part_size=len(body),
        )
        form = await parser.parse()
        for key, value in form.multi_items():
            if isinstance(value, UploadFile):
                uploads[key] = Upload(value.filename or "", await value.read())
            else:
                pairs.append((key, value))
        await form.close()
    except (MultiPartException, FormParserError, KeyError, ValueError, AttributeError, LookupError):
        raise bad_request("invalid multipart body, or more than one file") from None
    return _collected(pairs), uploads
