"""Documents in the words of DeepL and of LibreTranslate: sent, translated, and fetched."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from urllib.parse import quote

from pydantic import Field

from limelight.serving.asks import Ask
from limelight.serving.call import Asked, Call, JsonObject, Response
from limelight.serving.dialects import deepl, libretranslate
from limelight.serving.documents import document_name, open_document, translate_document
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import preferred_form
from limelight.serving.uploads import Document

STATUS_SECONDS = 3.0
"""How long an answer about a document waits for its end: the clients ask again after five seconds."""
BINARY = "application/octet-stream"


class DeepLDocument(deepl.WithGlossary):
    """Fields of an upload in DeepL's API."""

    filename: str = Field("", max_length=500)


class DocumentKey(Asked):
    """The key of a document."""

    document_key: str = Field(max_length=200)


class LibreDocument(Asked):
    """Fields of an upload in LibreTranslate's API."""

    source: str = Field("", max_length=20)
    target: str = Field("", max_length=20)


@deepl.API.post("/v2/document", upload=True)
async def upload(call: Call, asked: DeepLDocument) -> JsonObject:
    """Send a document to be translated."""
    form = asked.form or preferred_form(asked.target_lang)
    options = {"formality": form or None}
    ask = Ask((), asked.target_lang, asked.source_lang, options=options, glossaries=asked.files(call))
    document = await _begun(call, asked.filename, ask)
    return {"document_id": document.id, "document_key": document.key}


async def _begun(call: Call, name: str, ask: Ask, *, copies: bool = False) -> Document:
    """A document whose translation has begun."""
    if "file" not in call.uploads:
        raise bad_request("file: there is none; send it as multipart/form-data")
    service, sent = call.service, call.uploads["file"]
    name = document_name(name or sent.name, sent.content)
    (way, *_) = service.ways(ask.source, ask.target)
    document = service.uploads.add(name, call.client.id, len(sent.content))
    try:
        target = way.direction.target or ask.target
        opened = await open_document(name, sent.content, ask.source, target, service.limits.segments)
    except BaseException:
        service.uploads.forget(document.id)
        raise
    document.characters = opened.characters
    work = service.uploads.begin(document, translate_document(service, call.client, opened, ask, copies=copies))
    work.add_done_callback(lambda _: opened.close())
    return document


@deepl.API.post("/v2/document/{id}")
async def status(call: Call, asked: DocumentKey) -> JsonObject:
    """How far the translation of a document is; waits for it, for at most three seconds."""
    document = call.service.uploads.find(call.path["id"], asked.document_key)
    if document.work is not None:
        await asyncio.wait({document.work}, timeout=STATUS_SECONDS)
    found = {"document_id": document.id, "status": document.status}
    if document.status == "done":
        return {**found, "billed_characters": document.characters}
    return {**found, **({"error_message": document.error} if document.error else {"seconds_remaining": 1})}


@deepl.API.post("/v2/document/{id}/result", media_type=BINARY)
async def result(call: Call, asked: DocumentKey) -> Response:
    """Fetch the translation of a document."""
    return _file(*call.service.uploads.take(call.path["id"], asked.document_key))


def _file(name: str, data: bytes) -> Response:
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(data, headers=headers, media_type=BINARY)


@libretranslate.API.post("/translate_file", upload=True)
async def translate_file(call: Call, asked: LibreDocument) -> JsonObject:
    """Translate a document, and say where it is fetched."""
    libretranslate.require_fields(call, "source", "target")
    options = {"formality": preferred_form(asked.target) or None}
    ask = Ask((), asked.target, "" if asked.source == "auto" else asked.source, options=options)
    document = await _begun(call, "", ask, copies=True)
    assert document.work is not None
    try:
        await asyncio.shield(document.work)
    except (asyncio.CancelledError, Refusal):
        call.service.uploads.forget(document.id)
        if document.work.cancelled():  # not this request, whose client would have left
            call.service.require_open()
        raise
    path = PurePosixPath(document.name)
    document.name = f"{path.stem}_{asked.target}{path.suffix}"
    address = f"{call.base_url}/download_file/{document.id}{document.key}.{quote(document.name)}"
    return {"translatedFileUrl": address}


@libretranslate.API.get("/download_file/{name}", public=True, media_type=BINARY)
async def download(call: Call) -> Response:
    """Fetch a translated document. Only the client that has sent it knows its name."""
    known = call.path["name"].partition(".")[0]
    return _file(*call.service.uploads.take(known[:32], known[32:], 404))
