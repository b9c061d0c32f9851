"""Documents in the words of DeepL and of LibreTranslate: sent, translated, and fetched."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import quote

from pydantic import Field

from limelight.serving.call import Asked, Call, Response, Result, content
from limelight.serving.dialects import deepl, libretranslate
from limelight.serving.documents import Order, open_document, sent_file, translate_document
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import preferred_form

STATUS_SECONDS = 3.0
"""How long an answer about a document waits for its end: the clients ask again after five seconds."""
BINARY = "application/octet-stream"


class Document(deepl.WithGlossary):
    """Fields of an upload in DeepL's API."""

    filename: str = Field("", max_length=500)
    output_format: str = Field("", max_length=20)


class DocumentKey(Asked):
    """The key of a document."""

    document_key: str = Field(max_length=200)


class LibreDocument(Asked):
    """Fields of an upload in LibreTranslate's API."""

    source: str = Field("", max_length=20)
    target: str = Field("", max_length=20)


class Sent(Result):
    """Fields of a download."""

    document_id: str
    document_key: str


class Status(Result):
    """The state of a document."""

    document_id: str
    status: Literal["translating", "done", "error"]
    billed_characters: int = 0
    """Present when the translation is finished."""
    error_message: str = ""
    """The reason why there is no translation."""
    seconds_remaining: int = 0
    """Present during the translation."""


class Finished(Result):
    """The address of the translation."""

    translatedFileUrl: str  # noqa: N815  # LibreTranslate's name


@deepl.API.post("/v2/document", upload=True)
async def upload(call: Call, asked: Document) -> Sent:
    """Send a document to be translated."""
    order = Order(asked.target_lang, asked.source_lang, await asked.files(call), asked.form)
    name = asked.filename or (call.uploads["file"].name if "file" in call.uploads else "")
    if asked.output_format and name and sent_file(name, b"").suffix != f".{asked.output_format.lower()}":
        raise bad_request("output_format: a document keeps its format; leave it out")
    identity, key = await _begun(call, name, order)
    return Sent(document_id=identity, document_key=key)


async def _begun(call: Call, name: str, order: Order) -> tuple[str, str]:
    """The id and the key of a document whose translation has begun."""
    if "file" not in call.uploads:
        raise bad_request("file: there is none; send it as multipart/form-data")
    service, sent = call.service, call.uploads["file"]
    file = sent_file(name or sent.name, sent.content)
    form = order.formality or preferred_form(order.target)
    await deepl.require_form(service, form, order.source, order.target)
    ways = await service.ways(order.source, order.target)
    size = len(file.data)
    with service.uploads.opening(call.client.id, size):
        target = ways[0].direction.target or order.target
        opened = await open_document(file, order.source, target, service.limits.segments)
    work = translate_document(service, call.client, opened, order)
    try:
        identity, key = service.uploads.add(file.name, opened.characters, work, client=call.client.id, size=size)
    except Refusal:
        opened.close()
        work.close()
        raise
    service.uploads.find(identity, key).work.add_done_callback(lambda _: opened.close())
    return identity, key


@deepl.API.post("/v2/document/{id}")
async def status(call: Call, asked: DocumentKey) -> Status:
    """How far the translation of a document is; waits for it, for at most three seconds."""
    document = call.service.uploads.find(call.path["id"], asked.document_key)
    await asyncio.wait({document.work}, timeout=STATUS_SECONDS)
    found = Status(document_id=call.path["id"], status=document.status)
    if document.status == "done":
        found.billed_characters = document.characters
    elif document.status == "error":
        found.error_message = document.error
    else:
        found.seconds_remaining = 1
    return found


@deepl.API.post("/v2/document/{id}/result", media_type=BINARY)
async def result(call: Call, asked: DocumentKey) -> Response:
    """Fetch the translation of a document."""
    return _file(*call.service.uploads.take(call.path["id"], asked.document_key))


def _file(name: str, data: bytes) -> Response:
    return content(data, BINARY, Content_Disposition=f"attachment; filename*=UTF-8''{quote(name, safe='')}")


@libretranslate.API.post("/translate_file", upload=True)
async def translate_file(call: Call, asked: LibreDocument) -> Finished:
    """Translate a document, and say where it is fetched."""
    libretranslate.require_fields(call, "source", "target")
    uploads = call.service.uploads
    identity, key = await _begun(
        call, "", Order(asked.target, "" if asked.source == "auto" else asked.source, copies=True)
    )
    document = uploads.find(identity, key)
    try:
        await asyncio.shield(document.work)
    except (asyncio.CancelledError, Refusal):
        uploads.forget(identity)
        if document.work.cancelled():  # not this request, whose client would have left
            call.service.require_open()
        raise
    path = PurePosixPath(document.name)
    document.name = f"{path.stem}_{asked.target}{path.suffix}"
    return Finished(translatedFileUrl=f"{call.base_url}/download_file/{identity}{key}.{quote(document.name)}")


@libretranslate.API.get("/download_file/{name}", public=True, media_type=BINARY)
async def download(call: Call) -> Response:
    """Fetch a translated document. Only the client that has sent it knows its name."""
    known = call.path["name"].partition(".")[0]
    return _file(*call.service.uploads.take(known[:32], known[32:], 404))
