"""Documents in the words of DeepL and of LibreTranslate: sent, translated, and fetched once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Content, Reply, Result, Route
from limelight.serving.dialects.deepl import DEEPL, FORMALITIES, Formality, WithGlossary, refuse_settings, require_form
from limelight.serving.dialects.libretranslate import LIBRETRANSLATE
from limelight.serving.documents import OpenDocument, Order, open_document, sent_file, translate_document
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Service, preferred_form

STATUS_SECONDS = 3.0
"""How long an answer about a document waits for its end: the clients ask again after five seconds."""


class Document(WithGlossary):
    """Fields of an upload in DeepL's API."""

    model_config = ConfigDict(extra="ignore")

    target_lang: str = Field(min_length=2, max_length=20)
    source_lang: str = Field("", max_length=20)
    formality: Formality | None = None
    filename: str = Field("", max_length=500)
    output_format: str = Field("", max_length=20)


class DocumentKey(BaseModel):
    """The key of a document."""

    document_key: str = Field(max_length=200)


class LibreDocument(BaseModel):
    """Fields of an upload in LibreTranslate's API."""

    model_config = ConfigDict(extra="ignore")

    source: str = Field(min_length=1, max_length=20)
    target: str = Field(min_length=1, max_length=20)


class Sent(Result):
    """Fields of a download."""

    document_id: str
    document_key: str


class Status(Result):
    """The state of a document."""

    document_id: str
    status: Literal["translating", "done", "error"]
    billed_characters: int = Field(0, description="Present when the translation is finished.")
    error_message: str = Field("", description="The reason why there is no translation.")
    seconds_remaining: int = Field(0, description="Present during the translation.")


class Finished(Result):
    """The address of the translation, which can be fetched once."""

    translatedFileUrl: str  # noqa: N815  # LibreTranslate's name


FILE = Content("application/octet-stream", binary=True)


async def upload(service: Service, call: Call) -> Reply:
    """Send a document to be translated."""
    asked = call.read(Document)
    refuse_settings(call)
    files = asked.files_of(service, call.client, asked.source_lang, asked.target_lang)
    form = FORMALITIES[asked.formality] if asked.formality else None
    order = Order(asked.target_lang, asked.source_lang, files, form or "")
    if asked.output_format and PurePosixPath(f"x.{asked.output_format.lower()}").suffix != _suffix(
        call, asked.filename
    ):
        raise bad_request("output_format: a document keeps its format; leave it out")
    identity, key = await _begun(service, call, asked.filename, order)
    return Reply({"document_id": identity, "document_key": key})


def _suffix(call: Call, name: str) -> str:
    return sent_file(name or call.uploads["file"].name, b"").suffix if "file" in call.uploads else ""


async def _begun(service: Service, call: Call, name: str, order: Order) -> tuple[str, str]:
    """The id and the key of a document whose translation has begun."""
    if "file" not in call.uploads:
        raise bad_request("file: there is none; send it as multipart/form-data")
    file = sent_file(name or call.uploads["file"].name, call.uploads["file"].content)
    service.require_open()
    await require_form(service, order.formality or preferred_form(order.target), order.source, order.target)
    target = (await service.ways(order.source, order.target))[0].direction.target
    with service.uploads.opening(call.client.id, len(file.data)):
        opened = await open_document(file, order.source, target or order.target, service.limits.segments)
    work = translate_document(service, call.client, opened, order)
    return _added(service, call, file.name, opened, work)


def _added(service: Service, call: Call, name: str, opened: OpenDocument, work: Awaitable[bytes]) -> tuple[str, str]:
    size = sum(len(upload.content) for upload in call.uploads.values())
    try:
        identity, key = service.uploads.add(name, opened.characters, work, client=call.client.id, size=size)
    except Refusal:
        opened.close()
        work.close()  # type: ignore[attr-defined]  # a coroutine that was not begun
        raise
    service.uploads.find(identity, key).work.add_done_callback(lambda _: opened.close())
    return identity, key


async def status(service: Service, call: Call) -> Reply:
    """How far the translation of a document is; waits for it, for at most three seconds."""
    document = service.uploads.find(call.path["id"], call.read(DocumentKey).document_key)
    await asyncio.wait({document.work}, timeout=STATUS_SECONDS)
    shown = {"document_id": call.path["id"], "status": document.status}
    if document.status == "done":
        return Reply({**shown, "billed_characters": document.characters})
    if document.status == "error":
        return Reply({**shown, "error_message": document.error})
    return Reply({**shown, "seconds_remaining": 1})


async def result(service: Service, call: Call) -> Reply:
    """Fetch the translation of a document, once."""
    name, content = service.uploads.take(call.path["id"], call.read(DocumentKey).document_key)
    return _file(name, content)


def _file(name: str, content: bytes) -> Reply:
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Reply(content=content, media_type="application/octet-stream", headers=headers)


async def translate_file(service: Service, call: Call) -> Reply:
    """Translate a document, and say where it is fetched."""
    for name in ("source", "target"):
        if not call.fields.get(name):
            raise bad_request(f"Invalid request: missing {name} parameter")
    asked = call.read(LibreDocument)
    order = Order(asked.target, "" if asked.source == "auto" else asked.source)
    identity, key = await _begun(service, call, "", order)
    document = service.uploads.find(identity, key)
    try:
        await asyncio.shield(document.work)
    except (asyncio.CancelledError, Refusal):
        service.uploads.forget(identity)
        if document.work.cancelled():  # not this request, whose client would have left
            service.require_open()
        raise
    path = PurePosixPath(document.name)
    name = f"{path.stem}_{asked.target}{path.suffix}"
    document.name = name
    return Reply({"translatedFileUrl": f"{call.base_url}/download_file/{identity}{key}.{quote(name)}"})


async def download(service: Service, call: Call) -> Reply:
    """Fetch a translated document, once. Only the client that has sent it knows its name."""
    known = call.path["name"].partition(".")[0]
    name, content = service.uploads.take(known[:32], known[32:])
    return _file(name, content)


ROUTES = (
    Route("POST", "/v2/document", DEEPL, upload, Sent, form=Document, upload=True),
    Route("POST", "/v2/document/{id}", DEEPL, status, Status, form=DocumentKey),
    Route("POST", "/v2/document/{id}/result", DEEPL, result, FILE, form=DocumentKey),
    Route("POST", "/translate_file", LIBRETRANSLATE, translate_file, Finished, form=LibreDocument, upload=True),
    Route("GET", "/download_file/{name}", LIBRETRANSLATE, download, FILE, public=True),
)
