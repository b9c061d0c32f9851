"""Documents that were sent to be translated: in memory, for as long as it takes, and handed out once."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field

from limelight.serving.refusal import Refusal

KEPT_SECONDS = 3600.0
"""A document that is not asked for is deleted after so long."""
MAX_DOCUMENTS = 100


@dataclass(slots=True)
class Document:
    """One of them."""

    key: str
    name: str
    characters: int
    work: asyncio.Task[bytes]
    since: float = field(default_factory=time.monotonic)
    taken: bool = False

    @property
    def status(self) -> str:
        """`translating`, `done` or `error`."""
        if not self.work.done():
            return "translating"
        return "error" if self.error else "done"

    @property
    def error(self) -> str:
        """Why there is no translation; empty where there is, or may still be."""
        if not self.work.done() or self.work.cancelled():
            return ""
        error = self.work.exception()
        return error.message if isinstance(error, Refusal) else "it could not be translated" if error else ""


class Uploads:
    """The documents of a service."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, name: str, characters: int, work: Awaitable[bytes]) -> tuple[str, str]:
        """Begin with a document; returns its id and its key. Raises `Refusal` where there are too many."""
        self._forget()
        if len(self._documents) >= MAX_DOCUMENTS:
            message = f"there are {MAX_DOCUMENTS} documents already: fetch their translations first"
            raise Refusal(429, "too_many_documents", message, retry_after=10)
        identity, key = secrets.token_hex(16).upper(), secrets.token_hex(32).upper()
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # told when it is asked for
        assert isinstance(task, asyncio.Task)
        self._documents[identity] = Document(key, name, characters, task)
        return identity, key

    def find(self, identity: str, key: str) -> Document:
        """The document. Raises `Refusal`, 404, for a wrong key as for one that there is not."""
        document = self._documents.get(identity)
        expected = document.key if document is not None else secrets.token_hex(32)
        if not hmac.compare_digest(key.encode(), expected.encode()) or document is None:
            raise Refusal(404, "document", "Document not found")
        return document

    def take(self, identity: str, key: str) -> tuple[str, bytes]:
        """Its name and its translation, once. Raises `Refusal` where that is not there, or no longer."""
        document = self.find(identity, key)
        if document.taken:
            raise Refusal(503, "document_taken", "Document already downloaded")
        if document.status != "done":
            raise Refusal(503, "document_not_ready", document.error or "Document is not ready", retry_after=1)
        document.taken = True
        content = document.work.result()
        del self._documents[identity]
        return document.name, content

    def _forget(self) -> None:
        oldest = time.monotonic() - KEPT_SECONDS
        for identity, document in list(self._documents.items()):
            if document.since < oldest:
                document.work.cancel()
                del self._documents[identity]
