"""Documents of clients: each is read by a process of its own, and its segments are translated as other texts are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import NamedTuple

from limelight.child import KILLED, Child, ChildEndedError, ChildFaultError, ChildKilledError, Header
from limelight.documents.document import reader
from limelight.errors import RunError
from limelight.formats.registry import DOCX, FORMATS, suffix_of
from limelight.serving.asks import Ask
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Client, Service
from limelight.text.marking import CODES

SUFFIXES = (*FORMATS, DOCX)
CHUNK = 64
"""Number of segments that are sent to the engines at a time, so that a document takes turns with other requests."""
CHARACTERS = 10_000
"""Maximum characters of these segments."""
SECONDS = 120.0
"""Time limit for reading a document, and again for writing it."""
UNPACKED = 64 << 20
"""Maximum bytes of the content of a packed document."""
THREADS = ThreadPoolExecutor(128, "document")
"""Wait for the processes of documents."""


class Segment(NamedTuple):
    """A part of a document."""

    text: str
    """With a character for each code, see `formats/unit.py`."""
    codes: tuple[tuple[str, str], ...] = ()
    """Role and name of each."""


def document_name(name: str, data: bytes) -> str:
    """The last part of a name, which may be any path, with an ending. Raises `Refusal`, 415, for formats that are not
    read."""
    name = "".join(each for each in PurePosixPath(name.replace("\\", "/")).name if each.isprintable())[-120:]
    if not suffix_of(name):
        name = f"{name or 'document'}{_guessed(data)}"
    if suffix_of(name) not in SUFFIXES:
        raise Refusal(415, "format", f"this kind of document is not supported; supported are: {', '.join(SUFFIXES)}")
    return name


def _guessed(data: bytes) -> str:
    """The ending of a file that was sent without one, as clients do; none for what is neither text nor DOCX."""
    head = data[:200].lstrip().lower()
    if data.startswith(b"PK\x03\x04"):
        return DOCX
    is_text = b"\0" not in data or data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not is_text or head.startswith((b"%pdf-", b"{\\rtf")):
        return ""
    return ".html" if head.startswith((b"<!doctype html", b"<html")) else ".txt"


class OpenDocument:
    """A document whose process waits for its translations. It has to be closed."""

    def __init__(self) -> None:
        self._child = Child(f"{reader.__module__}:{reader.__name__}", silence=SECONDS)
        self.segments: Sequence[Segment] = ()
        self.characters = 0

    async def read(self, name: str, data: bytes, source: str, target: str, most: int) -> None:
        """Read the segments. Raises `Refusal`."""
        header = {"name": name, "source": source, "target": target, "unpacked": UNPACKED, "segments": most}
        content = await self._call(header, data)
        self.segments, self.characters = await asyncio.to_thread(_counted, content)

    async def written(self, texts: Mapping[Segment, str]) -> bytes:
        """The file with the translations of its segments. Raises `Refusal` where it cannot be written."""
        content = await asyncio.to_thread(lambda: json.dumps([texts[segment] for segment in self.segments]).encode())
        return await self._call({}, content)

    def close(self) -> None:
        """End its process."""
        self._child.close()

    async def _call(self, header: Header, data: bytes) -> bytes:
        try:
            loop = asyncio.get_running_loop()
            _, content = await loop.run_in_executor(THREADS, self._child.call, header, data)
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


async def open_document(name: str, data: bytes, source: str, target: str, most: int = 50_000) -> OpenDocument:
    """Read a document of at most so many segments. Raises `Refusal`, 400, for one with more, one that is damaged, or
    hostile, or not what its name says."""
    opened = OpenDocument()
    try:
        await opened.read(name, data, source, target, most)
    except BaseException:
        opened.close()
        raise
    return opened


async def translate_document(
    service: Service, client: Client, opened: OpenDocument, ask: Ask, *, copies: bool = False
) -> bytes:
    """The translated document. Raises `Refusal`, also for one in the target language, unless `copies`."""
    sample = CODES.sub(" ", " ".join(segment.text for segment in opened.segments[:CHUNK]))
    way = await service.way(client, ask.source, ask.target, sample)
    if way.changes_nothing and not copies:
        raise bad_request("Source and target language are equal.", "document")
    texts: list[str] = []
    # What the document says several times is translated once.
    different = await asyncio.to_thread(lambda: list(dict.fromkeys(opened.segments)))
    limit = None if service.keys is None else service.keys.limit(client.key)
    for some in chunks(different, min(CHARACTERS, limit or CHARACTERS)):
        await _pay(service, client, sum(len(segment.text) for segment in some))
        texts += await service.segments(client, way, some, {**ask.engine_options(), "first": len(texts) + 1})
    return await opened.written(dict(zip(different, texts, strict=True)))


async def _pay(service: Service, client: Client, characters: int) -> None:
    """Count characters for the key, when its rate permits them. Raises `Refusal` for more than it ever permits."""
    while service.keys is not None:
        try:
            return service.keys.spend(client.key, characters)
        except Refusal as refusal:
            if refusal.retry_after is None:
                raise
            await asyncio.sleep(refusal.retry_after)


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
