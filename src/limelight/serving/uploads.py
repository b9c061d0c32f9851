"""Documents that were sent to be translated: in memory, until a minute after the first download."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from limelight.serving.refusal import Refusal

KEPT_SECONDS = 3600.0
"""A document that is not asked for is deleted after so long."""
TAKEN_SECONDS = 60.0
"""One that was downloaded is deleted after so long."""
MAX_BYTES = 256 << 20
"""Maximum bytes of the documents of all clients that are not fetched; one client has at most half of them."""
OVERHEAD = 1 << 20
"""What a document counts for beside its bytes."""


@dataclass(slots=True)
class Document:
    """One of them."""

    key: str
    name: str
    client: str
    characters: int
    size: int
    """Bytes of the file, before and after."""
    work: asyncio.Future[bytes]
    taken: bool = False
    """Whether its translation was downloaded."""

    @property
    def status(self) -> str:
        """`translating`, `done` or `error`."""
        if not self.work.done():
            return "translating"
        return "error" if self.error else "done"

    @property
    def error(self) -> str:
        """Why there is no translation; empty where there is, or may still be."""
        if not self.work.done():
            return ""
        if self.work.cancelled():
            return "it was not finished in time"
        error = self.work.exception()
        return error.message if isinstance(error, Refusal) else "it could not be translated" if error else ""


class Uploads:
    """The documents of a service."""

    def __init__(self, most_open: int = 8) -> None:
        """`most_open` may be read or translated at a time, half of them of one client."""
        self._most_open = most_open
        self._documents: dict[str, Document] = {}
        self._opening: list[tuple[str, int]] = []
        """Client and size of those that are being read."""

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def unfetched(self) -> int:
        """How many have a translation that nobody has fetched, or will have one."""
        return sum(document.status != "error" and not document.taken for document in self._documents.values())

    def require_room(self, client: str, size: int) -> None:
        """Raises `Refusal` where there are too many documents for another one of this size."""
        kept = [(each.client, each.size, each.work.done()) for each in self._documents.values() if not each.taken]
        kept += [(*each, False) for each in self._opening]
        opened = [(owner, 1) for owner, _, done in kept if not done]
        sizes = [(owner, size + OVERHEAD) for owner, size, _ in kept]
        for some, more, most, what in (
            (opened, 1, self._most_open, "documents at a time"),
            (sizes, size + OVERHEAD, MAX_BYTES, "bytes of documents"),
        ):
            mine = sum(each for owner, each in some if owner == client)
            if mine + more > most // 2 or sum(each for _, each in some) + more > most:
                message = (
                    f"with this one there would be more than {most:,} {what}, or {most // 2:,} of yours: fetch their "
                    "translations first, or try again later"
                )
                raise Refusal(429, "too_many_documents", message, retry_after=10)

    @contextmanager
    def opening(self, client: str, size: int) -> Iterator[None]:
        """Count a document that is being read as one that is open. Raises `Refusal` as `require_room` does."""
        self.require_room(client, size)
        self._opening.append((client, size))
        try:
            yield
        finally:
            self._opening.remove((client, size))

    def add(self, name: str, characters: int, work: Awaitable[bytes], *, client: str = "", size: int = 0) -> tuple[
        str, str]:  # fmt: skip
        """Begin with a document; returns its id and its key. Raises `Refusal` as `require_room` does."""
        self.require_room(client, size)
        identity, key = secrets.token_hex(16).upper(), secrets.token_hex(32).upper()
        task = asyncio.ensure_future(work)
        document = self._documents[identity] = Document(key, name, client, characters, size, task)

        def done(ended: asyncio.Future[bytes]) -> None:
            if not ended.cancelled() and ended.exception() is None:  # errors are raised when the upload is read
                document.size = len(ended.result())

        task.add_done_callback(done)
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self.forget, identity)
        return identity, key

    def find(self, identity: str, key: str, missing: int = 400) -> Document:
        """The document. Raises `Refusal` for a wrong key and for an unknown one, whose status
        of DeepL is the default."""
        document = self._documents.get(identity)
        expected = document.key if document is not None else secrets.token_hex(32)
        if not hmac.compare_digest(key.encode(), expected.encode()) or document is None:
            raise Refusal(missing, "document", "Document not found")
        return document

    def take(self, identity: str, key: str, missing: int = 400) -> tuple[str, bytes]:
        """Its name and its translation, which is forgotten soon afterwards: a connection may be lost before it has
        arrived. Raises `Refusal` where that is not there, or no longer."""
        document = self.find(identity, key, missing)
        if document.status == "translating":
            raise Refusal(503, "document_not_ready", "Document is not ready", retry_after=1)
        if document.error:
            error = None if document.work.cancelled() else document.work.exception()
            status = error.status if isinstance(error, Refusal) and error.status < 500 else 400
            raise Refusal(status, "document", document.error)  # no further request will change it
        if not document.taken:
            document.taken = True
            asyncio.get_running_loop().call_later(TAKEN_SECONDS, self.forget, identity)
        return document.name, document.work.result()

    def close(self) -> None:
        """Forget all of them: what is being translated is canceled."""
        for identity in list(self._documents):
            self.forget(identity)

    def forget(self, identity: str) -> None:
        """What is left of a document; nothing where it is not there."""
        document = self._documents.pop(identity, None)
        if document is not None:
            document.work.cancel()
