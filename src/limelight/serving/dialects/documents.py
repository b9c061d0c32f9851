"""Documents of clients, in the words of DeepL and of LibreTranslate: sent, translated, and fetched.

Each is read by a process of its own, and its segments are translated as other texts are.
"""

import asyncio
import json
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from pydantic import Field

from limelight.child import Child, ChildEndedError, Header
from limelight.documents.document import reader
from limelight.errors import UserError
from limelight.formats.lines import chunks
from limelight.formats.registry import SUFFIXES, suffix_of
from limelight.serving.call import Asked, Call, JsonObject, Response
from limelight.serving.dialects import deepl, libretranslate
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Ask, Client, Service
from limelight.serving.uploads import Document
from limelight.text.marking import CODES

CHUNK = 64
"""Number of segments that are sent to the engines at a time, so that a document takes turns with other requests."""
CHARACTERS = 160 * CHUNK
"""Characters of these segments after which no further one is added."""
SECONDS = 120.0
"""Time limit for reading a document, and again for writing it."""
UNPACKED = 64 << 20
"""Maximum bytes of the content of a packed document."""
THREADS = ThreadPoolExecutor(128, "document")
"""Wait for the processes of documents."""
STATUS_SECONDS = 3.0
"""How long an answer about a document waits for its end: the clients ask again after five seconds."""


class DeepLDocument(deepl.WithGlossary):
    """Fields of an upload in DeepL's API."""

    filename: str = Field("", max_length=500)


class DocumentKey(Asked):
    """The key of a document."""

    document_key: str = Field(max_length=200)


@deepl.API.route("/v2/document", "POST", upload=True)
async def upload(call: Call, form: DeepLDocument) -> JsonObject:
    """Send a document to be translated."""
    document = await _begun(call, form.filename, form.ask(call, ()))
    return {"document_id": document.id, "document_key": document.key}


@deepl.API.route("/v2/document/{id}", "POST")
async def status(call: Call, form: DocumentKey) -> JsonObject:
    """How far the translation of a document is; waits for it, for at most three seconds."""
    document = call.service.uploads.find(call.path["id"], form.document_key)
    if document.work is not None:
        await asyncio.wait({document.work}, timeout=STATUS_SECONDS)
    answer = {"document_id": document.id, "status": document.status}
    if document.status == "done":
        return {**answer, "billed_characters": document.characters}
    return {**answer, **({"error_message": document.refusal.message} if document.refusal else {"seconds_remaining": 1})}


@deepl.API.route("/v2/document/{id}/result", "POST")
async def result(call: Call, form: DocumentKey) -> Response:
    """Fetch the translation of a document."""
    return _file(*call.service.uploads.take(call.path["id"], form.document_key))


def _file(name: str, data: bytes) -> Response:
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(data, headers=headers, media_type="application/octet-stream")


@libretranslate.API.route("/translate_file", "POST", upload=True)
async def translate_file(call: Call, form: libretranslate.Directed) -> JsonObject:
    """Translate a document, and say where it is fetched."""
    document = await _begun(call, "", form.ask([]), copies=True)
    assert document.work is not None
    try:
        await asyncio.shield(document.work)
    except (asyncio.CancelledError, Refusal):
        call.service.uploads.forget(document)
        call.service.require_open()
        raise
    path = PurePosixPath(document.name)
    document.name = f"{path.stem}_{form.target}{path.suffix}"
    address = f"{call.request.base_url}download_file/{document.id}{document.key}.{quote(document.name)}"
    return {"translatedFileUrl": address}


@libretranslate.API.route("/download_file/{name}", public=True)
async def download(call: Call) -> Response:
    """Fetch a translated document. Only the client that has sent it knows its name."""
    known = call.path["name"].partition(".")[0]
    return _file(*call.service.uploads.take(known[:32], known[32:]))


# ---- from a file to its translation


class Segment(NamedTuple):
    """A part of a document."""

    text: str
    """With a character for each code, see `formats/unit.py`."""
    codes: tuple[tuple[str, str], ...] = ()
    """Role and name of each."""


async def _begun(call: Call, name: str, ask: Ask, *, copies: bool = False) -> Document:
    """A document that was read, and whose translation has begun. One in the target language already is refused, unless
    `copies`. Raises `Refusal`: 400 for one that is damaged, or hostile, or not what its name says."""
    service, sent = call.service, call.file
    service.require_open()
    name = document_name(name or sent.name)
    (way, *_) = service.catalog.ways(ask.source, ask.target)
    header: Header = {
        "name": name,
        "source": ask.source,
        "target": way.direction.target or ask.target,
        "unpacked": UNPACKED,
        "segments": service.limits.segments,
    }
    with ExitStack() as undo:
        document = service.uploads.add(name, call.client.id, len(sent.content))
        undo.callback(service.uploads.forget, document)
        child = Child(f"{reader.__module__}:{reader.__name__}", silence=SECONDS)
        undo.callback(child.close)
        read = await _called(child, header, sent.content)
        segments, document.characters = await asyncio.to_thread(_counted, read)
        undo.pop_all()

    async def translated() -> bytes:
        texts = await _translations(service, call.client, segments, ask, copies=copies)
        return await _called(child, {}, json.dumps(texts).encode())

    def end(work: asyncio.Future[bytes]) -> None:
        child.close()
        if not work.cancelled() and (error := work.exception()):
            if not isinstance(error, Refusal):
                service.log.fault(error)
            traceback.clear_frames(error.__traceback__)  # which would keep the segments

    service.uploads.begin(document, translated()).add_done_callback(end)
    return document


def _counted(content: bytes) -> tuple[list[Segment], int]:
    """The segments, and the number of their characters; takes seconds for many. Half of a surrogate pair, which a JSON
    or YAML file can have, is not a character."""
    segments = [
        Segment(text.encode(errors="replace").decode(), tuple(map(tuple, codes))) for text, codes in json.loads(content)
    ]
    return segments, sum(len(CODES.sub("", segment.text)) for segment in segments)


def document_name(name: str) -> str:
    """The last part of a name, which may be any path. Raises `Refusal`, 415, for formats that are not read."""
    name = "".join(character for character in PurePosixPath(name.replace("\\", "/")).name if character.isprintable())[
        -120:
    ]
    if suffix_of(name) not in SUFFIXES:
        raise Refusal(415, "format", f"this kind of document is not supported; supported are: {', '.join(SUFFIXES)}")
    return name


async def _called(child: Child, header: Header, data: bytes) -> bytes:
    """The answer of the process of a document. Raises `Refusal`."""
    try:
        _, content = await asyncio.get_running_loop().run_in_executor(THREADS, child.call, header, data)
    except ChildEndedError as error:
        message = (
            f"the process that reads this document ended ({error}); it may take 60 s of CPU time and 1 GiB of memory: "
            "divide the document, or ask the operator for a lower --max-documents"
        )
        raise Refusal(413, "document", message) from None
    except UserError as error:  # other errors are ours: they are logged, and the client is not told
        raise bad_request(str(error), "document") from None
    return content


async def _translations(
    service: Service, client: Client, segments: Sequence[Segment], ask: Ask, *, copies: bool
) -> list[str]:
    """The translations of the segments of a document. What it says several times is translated once."""
    sample = CODES.sub(" ", " ".join(segment.text for segment in segments[:CHUNK]))
    way = await service.way(client, Ask([sample], ask.target, ask.source), patient=True)
    if way.changes_nothing and not copies:
        raise bad_request("Source and target language are equal.", "document")
    texts = dict[Segment, str]()
    for chunk in chunks(dict.fromkeys(segments), CHARACTERS, weight):
        for segment in chunk:
            await _pay(service, client, len(segment.text))
        options = {**ask.engine_options(), "detected": not ask.source, "first": len(texts) + 1}
        texts |= zip(chunk, await service.segments(client, way, chunk, options), strict=True)
    return [texts[segment] for segment in segments]


async def _pay(service: Service, client: Client, characters: int) -> None:
    """Count characters for the key, when its rate permits them. Raises `Refusal` for more than it ever permits."""
    while True:
        try:
            return service.keys.spend(client.key, characters)
        except Refusal as refusal:
            if refusal.retry_after is None:
                raise
            await asyncio.sleep(refusal.retry_after)


def weight(segment: Segment) -> int:
    """The characters that a segment counts for: `CHUNK` of the shortest ones count for `CHARACTERS`."""
    return max(len(segment.text), CHARACTERS // CHUNK)
