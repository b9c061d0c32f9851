"""Documents of clients: each is read by a process of its own, and its segments are translated as other texts are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from limelight.child import KILLED, Child, ChildEndedError, ChildFaultError, ChildKilledError, Header
from limelight.documents.document import reader
from limelight.errors import RunError
from limelight.formats.registry import DOCX, FORMATS, suffix_of
from limelight.serving.catalog import Way
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Client, Service, preferred_form
from limelight.text.marking import CODES

SUFFIXES = (*FORMATS, DOCX)
CHUNK = 64
"""Number of segments that are sent to the engines at a time, so that a document takes turns with other requests."""
CHARACTERS = 10_000
"""Maximum characters of these segments."""
PASSING = ("overloaded", "queue_timeout", "too_many_requests", "quota", "loading", "unavailable", "engine_ended")
"""What passes by itself: not the deadline, after which the same would be computed again."""
TRIES = 10
"""How often they are sent again while the service has no room."""
SECONDS = 120.0
"""Time limit for reading a document, and again for writing it."""
UNPACKED = 64 << 20
"""Maximum bytes of the content of a packed document."""


class Segment(NamedTuple):
    """A part of a document."""

    text: str
    """With a character for each code, see `formats/unit.py`."""
    codes: tuple[tuple[str, str], ...] = ()
    """Role and name of each."""


class File(NamedTuple):
    """An uploaded file."""

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

    def __init__(self) -> None:
        self._child = Child(f"{reader.__module__}:{reader.__name__}", silence=SECONDS)
        self._thread = ThreadPoolExecutor(1, "document")  # waits for the process; others answer meanwhile
        self.segments: Sequence[Segment] = ()
        self.characters = 0

    async def read(self, file: File, source: str, target: str, most: int) -> None:
        """Read the segments. Raises `Refusal`."""
        header = {"name": file.name, "source": source, "target": target, "unpacked": UNPACKED, "segments": most}
        content = await self._call(header, file.data)
        self.segments, self.characters = await asyncio.to_thread(_counted, content)

    async def written(self, texts: Mapping[Segment, str]) -> bytes:
        """The file with the translations of its segments. Raises `Refusal` where it cannot be written."""
        content = await asyncio.to_thread(lambda: json.dumps([texts[segment] for segment in self.segments]).encode())
        return await self._call({}, content)

    def close(self) -> None:
        """End its process."""
        self._child.process.kill()
        with suppress(RuntimeError):  # closed before
            self._thread.submit(self._child.close)
        self._thread.shutdown(wait=False)

    async def _call(self, header: Header, data: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            _, content = await loop.run_in_executor(self._thread, self._child.call, header, data)
        except ChildKilledError:
            message = (
                f"the process that reads this document was {KILLED}: try again later, or ask the operator for more "
                "memory or a lower --max-documents"
            )
            raise Refusal(503, "reader_killed", message, retry_after=10) from None
        except ChildEndedError:
            what = "this document takes more than 60 s of CPU time, or 1 GiB of memory, to read"
            raise Refusal(413, "document", f"{what}: divide it") from None
        except ChildFaultError:  # ours, so it is logged, and the client is not told
            raise
        except RunError as error:
            raise bad_request(str(error), "document") from None
        return content


def _counted(content: bytes) -> tuple[list[Segment], int]:
    """The segments, and the number of their characters; takes seconds for many."""
    segments = [Segment(text, tuple(map(tuple, codes))) for text, codes in json.loads(content)]
    return segments, sum(len(CODES.sub("", segment.text)) for segment in segments)


async def open_document(file: File, source: str, target: str, most: int = 50_000) -> OpenDocument:
    """Read a document of at most so many segments. Raises `Refusal`, 400, for one with more, one that is damaged, or
    hostile, or not what its name says."""
    opened = OpenDocument()
    try:
        await opened.read(file, source, target, most)
    except BaseException:
        opened.close()
        raise
    return opened


class Order(NamedTuple):
    """Settings of the translation of a document."""

    target: str
    source: str = ""
    """Detected if empty."""
    glossaries: Sequence[tuple[str, int]] = ()
    """Files of glossaries."""
    formality: str = ""
    """The form of address, as of `--formality`; the one that the target language names, if empty."""
    copies: bool = False
    """Whether a document in the target language comes back as it is; otherwise it is refused, as by DeepL."""

    @property
    def options(self) -> dict[str, Any]:
        """Those of its tasks."""
        options = {"glossaries": self.glossaries, "formality": self.formality or preferred_form(self.target)}
        return {name: value for name, value in options.items() if value}


async def translate_document(service: Service, client: Client, opened: OpenDocument, order: Order) -> bytes:
    """The translated document. Raises `Refusal`."""
    try:
        sample = CODES.sub(" ", " ".join(segment.text for segment in opened.segments[:CHUNK]))
        way = await service.way(client, order.source, order.target, sample)
        if way.changes_nothing and not order.copies:
            raise bad_request("Source and target language are equal.", "document")
        texts: list[str] = []
        # What the document says several times is translated once.
        different = await asyncio.to_thread(lambda: list(dict.fromkeys(opened.segments)))
        limit = None if service.keys is None else service.keys.limit(client.key)
        for some in chunks(different, min(CHARACTERS, limit or CHARACTERS)):
            texts += await _translated(service, client, way, some, order.options | {"first": len(texts) + 1})
        return await opened.written(dict(zip(different, texts, strict=True)))
    finally:
        opened.close()


async def _translated(
    service: Service, client: Client, way: Way, some: Sequence[Segment], options: dict[str, Any]
) -> list[str]:
    """Some segments; sent again while there is no room. They count for the key once."""
    paid = service.keys is None
    for _ in range(TRIES):
        try:
            if service.keys is not None and not paid:
                service.keys.spend(client.key, sum(len(segment.text) for segment in some))
                paid = True
            return await service.segments(client, way, some, options)
        except Refusal as refusal:
            if refusal.code not in PASSING or refusal.status == 413:
                raise
            last = refusal
            await asyncio.sleep(refusal.retry_after or 1)
    raise last


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
