"""Documents of clients: each is read by a process of its own, and its segments are translated as other texts are."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from limelight.serving.catalog import Way
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.segments import Lookup, Segment
from limelight.serving.service import Client, Service
from limelight.text.units.registry import DOCX, FORMATS, suffix_of
from limelight.text.units.unit import CODES

SUFFIXES = (*FORMATS, DOCX)
CHUNK = 64
"""Segments that are sent to the engines at a time, so that a document takes turns with other requests."""
CHARACTERS = 10_000
"""Of these segments."""
PASSING = ("overloaded", "queue_timeout", "too_many_requests", "quota", "loading", "unavailable", "engine_ended")
"""What passes by itself: not the deadline, after which the same would be computed again."""
TRIES = 10
"""How often they are sent again while the service has no room."""
SECONDS = 120.0
"""How long a document may take to be read, and again to be written."""
UNPACKED = 64 << 20
"""Bytes of all that is in a packed document."""
LINE = 1 << 16


Result = TypeVar("Result")


class File(NamedTuple):
    """A file that was sent."""

    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        """Its ending, which says what it is."""
        return suffix_of(self.name)


def sent_file(name: str, data: bytes) -> File:
    """The file with the last part of its name, which may be any path. Raises `Refusal`, 415, for formats that are not
    read."""
    name = "".join(each for each in PurePosixPath(name.replace("\\", "/")).name if each.isprintable())[-120:]
    if not suffix_of(name):
        name = f"{name or 'document'}{_sniffed(data)}"
    if suffix_of(name) not in SUFFIXES:
        raise Refusal(415, "format", f"this kind of document is not supported; supported are: {', '.join(SUFFIXES)}")
    return File(name, data)


def _sniffed(data: bytes) -> str:
    """The ending of a file that has none; of an unsupported format where it is binary."""
    head = data[:200].lstrip().lower()
    if data.startswith(b"PK\x03\x04"):
        return DOCX if b"word/" in data else ".zip"
    for begin, suffix in ((b"%pdf-", ".pdf"), (b"{\\rtf", ".rtf")):
        if head.startswith(begin):
            return suffix
    if b"\x00" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ".bin"
    return ".html" if head.startswith((b"<!doctype html", b"<html")) else ".txt"


class OpenDocument:
    """A document whose process waits for its translations. It has to be closed."""

    def __init__(self, process: asyncio.subprocess.Process, segments: Sequence[Segment]) -> None:
        self._process, self.segments = process, segments
        self.characters = sum(len(CODES.sub("", segment.text)) for segment in segments)

    @classmethod
    def of(cls, process: asyncio.subprocess.Process, answer: bytes) -> OpenDocument:
        """The document that a process has read. It takes seconds for many segments."""
        return cls(process, [Segment(text, tuple(map(tuple, codes))) for text, codes in json.loads(answer)])

    async def written(self, texts: Mapping[Segment, str]) -> bytes:
        """The file with the translations of its segments. Raises `Refusal` where it cannot be written."""
        content = await asyncio.to_thread(lambda: json.dumps([texts[segment] for segment in self.segments]).encode())
        return await _answer(self._process, {}, content)

    def close(self) -> None:
        """Let its process end."""
        with suppress(ProcessLookupError):
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()


async def open_document(file: File, source: str, target: str, most: int = 50_000) -> OpenDocument:
    """Read a document of at most so many segments. Raises `Refusal`, 400, for one with more, one that is damaged, or
    hostile, or not what its name says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "limelight.documents.process",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=LINE,
    )  # fmt: skip
    opened = OpenDocument(process, [])
    try:
        header = {"name": file.name, "source": source, "target": target, "unpacked": UNPACKED, "segments": most}
        answer = await _answer(process, header, file.data)
        return await asyncio.to_thread(OpenDocument.of, process, answer)
    except BaseException:
        opened.close()
        raise


async def _answer(process: asyncio.subprocess.Process, header: dict[str, Any], data: bytes) -> bytes:
    """Send a message and return what comes back. Raises `Refusal`."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            process.stdin.write(json.dumps({**header, "size": len(data)}).encode() + b"\n" + data)
            with suppress(ConnectionError):
                await process.stdin.drain()
            found = json.loads(await process.stdout.readuntil(b"\n"))
            if "error" in found:
                raise bad_request(str(found["error"]), "document")
            return await process.stdout.readexactly(found["size"])
    except (asyncio.IncompleteReadError, TimeoutError):
        raise Refusal(
            413, "document", "this document takes more than 60 s of CPU time, or 1 GiB of memory, to read: divide it"
        ) from None


class Order(NamedTuple):
    """How a document is to be translated."""

    target: str
    source: str = ""
    """Found out where it is empty."""
    terms: Lookup | None = None


async def translate_document(service: Service, client: Client, opened: OpenDocument, order: Order) -> bytes:
    """The document in the other language. Raises `Refusal`."""
    try:
        sample = CODES.sub(" ", " ".join(segment.text for segment in opened.segments[:CHUNK]))
        way = await service.way(client, order.source, order.target, sample)
        texts: list[str] = []
        different = await asyncio.to_thread(
            lambda: list(dict.fromkeys(opened.segments))
        )  # what the document says several times is translated once
        limit = None if service.keys is None else service.keys.limit(client.key)
        for some in chunks(different, min(CHARACTERS, limit or CHARACTERS)):
            texts += await _translated(service, client, way, some, order.terms)
        return await opened.written(dict(zip(different, texts, strict=True)))
    finally:
        opened.close()


async def _translated(
    service: Service, client: Client, way: Way, some: Sequence[Segment], terms: Lookup | None
) -> list[str]:
    """Some segments; sent again while there is no room. They count for the key once."""
    characters = sum(len(segment.text) for segment in some)
    await _patiently(lambda: _paid(service, client, characters))
    return await _patiently(lambda: service.segments(client, way, some, terms))


async def _paid(service: Service, client: Client, characters: int) -> None:
    """Count characters for a key. Raises `Refusal`, 413, for more than it may ever translate in a minute."""
    if service.keys is None:
        return
    limit = service.keys.limit(client.key)
    if limit is not None and characters > limit:
        message = (
            f"a part of this document has {characters} characters, and this key may translate {limit} a minute: divide "
            "it, or ask the operator for a key with more --characters-per-minute"
        )
        raise Refusal(413, "quota", message)
    service.keys.spend(client.key, characters)


async def _patiently(ask: Callable[[], Awaitable[Result]]) -> Result:
    """What becomes of a request; it is repeated where that may help."""
    for tries in range(TRIES):
        try:
            return await ask()
        except Refusal as refusal:
            if refusal.code not in PASSING or tries == TRIES - 1:
                raise
            await asyncio.sleep(refusal.retry_after or 1)
    raise AssertionError


def chunks(segments: Sequence[Segment], most: int) -> Iterator[list[Segment]]:
    """The segments, some at a time, with at most so many characters; a longer one is alone."""
    some, size = list[Segment](), 0
    for segment in segments:
        if some and (len(some) == CHUNK or size + len(segment.text) > most):
            yield some
            some, size = [], 0
        some.append(segment)
        size += len(segment.text)
    if some:
        yield some
