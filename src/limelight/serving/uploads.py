"""Documents of clients, in memory: read, translated, fetched, and forgotten."""

import asyncio
import hmac
import secrets
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from limelight.serving.refusal import Refusal

KEPT_SECONDS = 3600.0
"""A document that is not asked for is deleted after so long."""
TAKEN_SECONDS = 60.0
"""One that was downloaded is deleted after so long."""
MAX_BYTES = 256 << 20
"""Maximum bytes of the documents of all clients that are not fetched; one client has at most half of them."""
OVERHEAD = 1 << 20
"""What a document counts for beside its bytes."""


@dataclass(eq=False, slots=True)
class Document:
    """A document."""

    name: str
    client: str
    size: int
    """Bytes of the file."""
    characters: int = 0
    work: asyncio.Future[bytes] | None = None
    """None while it is read."""
    taken: bool = False
    """Whether its translation was downloaded."""
    timer: asyncio.TimerHandle | None = None
    """Ends it after `KEPT_SECONDS`."""
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())

    @property
    def status(self) -> str:
        """`translating`, `done` or `error`."""
        if self.work is None or not self.work.done():
            return "translating"
        return "error" if self.refusal else "done"

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no translation; None where there is, or may still be. No further request will change it."""
        if self.work is None or not self.work.done():
            return None
        if self.work.cancelled():
            return Refusal(400, "document", "it was not finished in time")
        error = self.work.exception()
        if isinstance(error, Refusal):
            return Refusal(error.status if error.status < 500 else 400, "document", error.message)
        return None if error is None else Refusal(400, "document", "it could not be translated")


class Uploads:
    """The documents of a service."""

    def __init__(self, most_open: int = 8) -> None:
        """`most_open` may be read or translated at a time, half of them of one client."""
        self._most_open = most_open
        self._documents: dict[str, Document] = {}

    @property
    def unfetched(self) -> int:
        """The number of documents that are not fetched yet, translated or not; those that failed are not counted."""
        return sum(document.status != "error" and not document.taken for document in self._documents.values())

    def add(self, name: str, client: str, size: int) -> Document:
        """A document that is read from now on. Raises `Refusal` where there are too many for another one of this
        size."""
        new = Document(name, client, size)
        kept = [document for document in self._documents.values() if not (document.taken or document.refusal)]
        kept.append(new)
        opened = [(document.client, 1) for document in kept if document.status == "translating"]
        _require_room(client, opened, self._most_open, "documents at a time (--max-documents)")
        sizes = [(document.client, document.size + OVERHEAD) for document in kept]
        _require_room(client, sizes, MAX_BYTES, "bytes of documents")
        self._documents[new.id] = new
        return new

    def begin(self, document: Document, work: Coroutine[Any, Any, bytes]) -> asyncio.Future[bytes]:
        """Translate a document that was read."""
        document.work = asyncio.ensure_future(work)
        document.timer = asyncio.get_running_loop().call_later(KEPT_SECONDS, self.forget, document)
        return document.work

    def find(self, identity: str, key: str) -> Document:
        """The document. Raises `Refusal` for a wrong key and for an unknown document: 400, as in the other services."""
        document = self._documents.get(identity)
        if document is None or not hmac.compare_digest(key.encode(), document.key.encode()):
            raise Refusal(400, "document", "Document not found")
        return document

    def take(self, identity: str, key: str) -> tuple[str, bytes]:
        """Its name and its translation, which is forgotten soon afterwards: a connection may be lost before it has
        arrived. Raises `Refusal` where that is not there, or no longer."""
        document = self.find(identity, key)
        if document.work is None or not document.work.done():
            raise Refusal(503, "document_not_ready", "Document is not ready", retry_after=1)
        if (refusal := document.refusal) is not None:
            raise refusal
        if not document.taken:
            document.taken = True
            asyncio.get_running_loop().call_later(TAKEN_SECONDS, self.forget, document)
        return document.name, document.work.result()

    def close(self) -> None:
        """Forget all of them: what is being translated is canceled."""
        for document in list(self._documents.values()):
            self.forget(document)

    def forget(self, document: Document) -> None:
        """What is left of a document."""
        self._documents.pop(document.id, None)
        if document.timer is not None:
            document.timer.cancel()  # it keeps the document
        if document.work is not None:
            document.work.cancel()


def _require_room(client: str, amounts: Sequence[tuple[str, int]], bound: int, unit: str) -> None:
    """Raises `Refusal` if the amounts of all clients are above the bound, or those of this client above half of it."""
    mine = sum(amount for owner, amount in amounts if owner == client)
    if mine > bound // 2 or sum(amount for _, amount in amounts) > bound:
        bounds = f"{bound:,} {unit}, or {bound // 2:,} of yours"
        message = f"with this one there would be more than {bounds}: fetch their translations first, or try again later"
        raise Refusal(429, "too_many_documents", message, retry_after=10)
