"""DeepL's documents, `/v2/document`: sent, asked about, and fetched once. Plain text is what is read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Reply, Route
from limelight.serving.dialects.deepl import DEEPL
from limelight.serving.refusal import Refusal, bad_request
from limelight.serving.service import Ask, Client, Service

KINDS = (".txt", "")
"""Endings of the files that are read; without one it is taken for plain text."""
BLOCK = 10_000
"""Characters that are translated at a time, so that a long document takes turns with other requests."""
TRIES = 10
"""How often a block is sent again while the service has no room."""


class Document(BaseModel):
    """What comes with a file."""

    model_config = ConfigDict(extra="ignore")

    target_lang: str = Field(min_length=2, max_length=20)
    source_lang: str = Field("", max_length=20)
    filename: str = Field("", max_length=500)
    output_format: str = Field("", max_length=20)


class DocumentKey(BaseModel):
    """What shows that a document is one's own."""

    document_key: str = Field(max_length=200)


async def upload(service: Service, call: Call) -> Reply:
    """`POST /v2/document`."""
    asked = call.read(Document)
    if "file" not in call.uploads:
        raise bad_request("file: there is none; send it as multipart/form-data")
    file = call.uploads["file"]
    name = PurePosixPath((asked.filename or file.name).replace("\\", "/")).name
    ending = PurePosixPath(name).suffix.lower()
    if ending not in KINDS or asked.output_format.lower() not in ("", "txt"):
        raise bad_request("this kind of document is not supported: send plain text (.txt)")
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad_request("file: this is no text in UTF-8") from None
    service.catalog.ways(asked.source_lang, asked.target_lang)
    work = _translated(service, call.client, text, asked)
    try:
        identity, key = service.uploads.add(name or "file.txt", len(text), work)
    except Refusal:
        work.close()
        raise
    return Reply({"document_id": identity, "document_key": key})


async def _translated(service: Service, client: Client, text: str, asked: Document) -> bytes:
    """The document, block by block."""
    parts = []
    for block in blocks(text, min(BLOCK, service.limits.characters)):
        ask = Ask([block], asked.target_lang, asked.source_lang)
        for tries in range(TRIES):
            try:
                (answer,) = await service.translate(client, ask)
                break
            except Refusal as refusal:
                if refusal.retry_after is None or tries == TRIES - 1:
                    raise
                await asyncio.sleep(refusal.retry_after)
        parts.append(answer.text)
    return "".join(parts).encode()


def blocks(text: str, most: int) -> Iterator[str]:
    """The text in parts of whole lines with at most `most` characters; a longer line is one part."""
    part = ""
    for line in text.splitlines(keepends=True):
        if part and len(part) + len(line) > most:
            yield part
            part = ""
        part += line
    if part:
        yield part


async def status(service: Service, call: Call) -> Reply:
    """`POST /v2/document/{id}`."""
    document = service.uploads.find(call.path["id"], call.read(DocumentKey).document_key)
    shown = {"document_id": call.path["id"], "status": document.status}
    if document.status == "done":
        return Reply({**shown, "billed_characters": document.characters})
    if document.status == "error":
        return Reply({**shown, "error_message": document.error})
    return Reply({**shown, "seconds_remaining": 1})


async def result(service: Service, call: Call) -> Reply:
    """`POST /v2/document/{id}/result`."""
    _, content = service.uploads.take(call.path["id"], call.read(DocumentKey).document_key)
    return Reply(content=content, media_type="application/octet-stream")


ROUTES = (
    Route("POST", "/v2/document", DEEPL, upload, form=Document, upload=True),
    Route("POST", "/v2/document/{id}", DEEPL, status, form=DocumentKey),
    Route("POST", "/v2/document/{id}/result", DEEPL, result, form=DocumentKey),
)
