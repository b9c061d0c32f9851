"""What the service keeps of its clients: glossaries and translation memories in a folder, and documents in memory.

Engines open the files of the folder by their paths. Each item is a JSON file, written as a whole, and belongs to the
key that made it; without keys all belong to everybody. A memory has a second file with its segments. Without a folder
they are in a temporary one, which ends with the service.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from limelight.config.directions import same_language
from limelight.errors import RunError, UserError
from limelight.files import cause, remove, write_whole
from limelight.formats.glossaries import read_rows
from limelight.formats.opening import BOTH_SIDES
from limelight.formats.pairs import read_pairs
from limelight.formats.translation_memory import open_memory
from limelight.serving.limits import Limits
from limelight.serving.refusal import Refusal, bad_request, beyond
from limelight.text.glossary import Glossary, Term
from limelight.text.pair import BadLine

MAX_OWN = 1000
"""Maximum glossaries of one client: Weblate makes one for each project and pair of languages, and counts on so many."""
MAX_CHARACTERS = 500_000
"""Maximum characters of all entries of a glossary."""
MAX_SEGMENT = 5000
"""Maximum characters of one side of a segment of a memory."""
KEPT_SECONDS = 3600.0
"""A document that is not asked for is deleted after so long."""
TAKEN_SECONDS = 60.0
"""One that was downloaded is deleted after so long."""
MAX_BYTES = 256 << 20
"""Maximum bytes of the documents of all clients that are not fetched; one client has at most half of them."""
OVERHEAD = 1 << 20
"""What a document counts for beside its bytes."""


class Directed(BaseModel):
    """What belongs to a pair of languages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    target: str

    def fits(self, source: str, target: str) -> bool:
        """Whether it is for this direction; `en-GB` is `en`."""
        return same_language(self.source, source) and same_language(self.target, target)


class Item(BaseModel):
    """An item of a client."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    owner: str
    """The name of a key; empty without keys."""
    name: str
    created: str = Field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


Kind = TypeVar("Kind", bound=Item)


class Store(Generic[Kind]):
    """All items of a kind. Raises `UserError` for a folder with another file, `RunError` for one that cannot be used.

    Args:
        folder: where they are kept; a temporary one if it is None.
        name: of one item, for messages.
    """

    def __init__(self, folder: Path | None, kind: type[Kind], name: str) -> None:
        self.name, self._writing = name, asyncio.Lock()
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"limelight-{name}-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            items = [kind.model_validate_json((path := each).read_bytes()) for each in folder.glob("*.json")]
        except OSError as error:
            raise RunError(f"{folder}: a {name} cannot be kept there: {cause(error)}") from None
        except ValueError:
            raise UserError(f"{path}: not a {name} of the service; move it elsewhere") from None
        self._all = {item.id: item for item in sorted(items, key=lambda item: item.created)}

    def list(self, owner: str) -> list[Kind]:
        """Items of a client, the oldest first."""
        return [each for each in self._all.values() if each.owner == owner]

    def find(self, owner: str, identity: str) -> Kind:
        """The item of this id. Raises `Refusal`, 404, also for one of another client."""
        found = self._all.get(identity)
        if found is None or found.owner != owner:
            raise Refusal(404, self.name, f"{self.name.capitalize()} not found")
        return found

    async def delete(self, owner: str, identity: str) -> None:
        """Delete an item with its files. Raises `Refusal`, 404, for an unknown id."""
        self.find(owner, identity)
        async with self._writing:
            self.remove_files(identity)
            self._all.pop(identity, None)

    def remove_files(self, identity: str) -> None:
        """Remove the files of an item."""
        for path in self.folder.glob(f"{identity}.*"):
            remove(path)

    async def write(self, item: Kind) -> Kind:
        """Keep an item."""
        await asyncio.to_thread(write_whole, self.folder / f"{item.id}.json", item.model_dump_json())
        self._all[item.id] = item
        return item


# ---- glossaries


class Dictionary(Directed):
    """The terms of one direction."""

    entries: str
    """One term per line: source TAB target."""

    @property
    def terms(self) -> list[tuple[str, str]]:
        """The terms."""
        pairs = (line.partition("\t") for line in self.entries.splitlines())
        return [(source, target) for source, _, target in pairs]


class StoredGlossary(Item):
    """A glossary."""

    dictionaries: tuple[Dictionary, ...] = ()

    def dictionary(self, source: str, target: str) -> Dictionary:
        """The dictionary of a direction. Raises `Refusal`, 404, if there is none."""
        for each in self.dictionaries:
            if each.fits(source, target):
                return each
        raise Refusal(404, "dictionary", f"this glossary has no dictionary from {source[:20]} to {target[:20]}")

    def with_dictionary(self, new: Dictionary) -> StoredGlossary:
        """A copy in which this dictionary replaces the one of its direction."""
        others = [each for each in self.dictionaries if not each.fits(new.source, new.target)]
        return self.model_copy(update={"dictionaries": (*others, new)})


def read_terms(path: str, source: str, target: str) -> list[tuple[str, str]]:
    """The terms of a glossary for a direction, from its file; none if it was deleted meanwhile. Entries without words
    are left out."""
    try:
        glossary = StoredGlossary.model_validate_json(Path(path).read_bytes())
    except FileNotFoundError:
        return []
    return usable([term for each in glossary.dictionaries if each.fits(source, target) for term in each.terms])


def usable(terms: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that a translation can use: signs alone, and texts that are too long, are not terms."""
    found = list[tuple[str, str]]()
    for pair in terms:
        try:
            Glossary([Term(*pair)])
        except UserError:
            continue
        found.append(pair)
    return found


def read_entries(source: str, target: str, text: str, separator: str, before: Dictionary | None = None) -> Dictionary:
    """The sent terms, added to those of `before`. Raises `Refusal` for an invalid table."""
    try:
        rows = [(" ".join(term.source.split()), " ".join(term.target.split())) for term in read_rows(text, separator)]
        words = [Term(*row) for row in rows if all(any(map(str.isalnum, side)) for side in row)]
        Glossary(words)
        if not words:
            raise UserError("entries: there are no terms in it")
    except UserError as error:
        raise bad_request(str(error), "glossary") from None
    terms = {**(dict(before.terms) if before else {}), **dict(rows)}
    source, target = (each.replace("_", "-").partition("-")[0].lower() for each in (source, target))
    return Dictionary(source=source, target=target, entries="\n".join(map("\t".join, terms.items())))


class Glossaries(Store[StoredGlossary]):
    """All glossaries of a service."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder, StoredGlossary, "glossary")

    async def add(self, owner: str, name: str, dictionaries: Sequence[Dictionary]) -> StoredGlossary:
        """Create a glossary. Raises `Refusal` if there are too many, or if it is too large."""
        new = StoredGlossary(owner=owner, name=name)
        for each in dictionaries:
            new = new.with_dictionary(each)
        if len(new.dictionaries) < len(dictionaries):
            raise bad_request("dictionaries: there are two of one direction")
        async with self._writing:
            if (mine := len(self.list(owner))) >= MAX_OWN:
                message = f"there are {mine} glossaries of yours already, of at most {MAX_OWN}: delete one"
                raise bad_request(message, "too_many_glossaries")  # which clients do not repeat
            return await self._put(new)

    async def change(
        self, owner: str, identity: str, change: Callable[[StoredGlossary], StoredGlossary]
    ) -> StoredGlossary:
        """Replace a glossary by what `change`, called in a thread, makes of it. Raises `Refusal`."""
        async with self._writing:
            return await self._put(await asyncio.to_thread(change, self.find(owner, identity)))

    async def _put(self, glossary: StoredGlossary) -> StoredGlossary:
        if (size := sum(len(each.entries) for each in glossary.dictionaries)) > MAX_CHARACTERS:
            message = f"a glossary of {size} characters: at most {MAX_CHARACTERS} are kept; divide it"
            raise Refusal(413, "too_long", message)
        return await self.write(glossary)

    def files(self, owner: str, identities: Sequence[str], source: str, target: str) -> list[tuple[str, int]]:
        """The files of some glossaries that have terms for a direction, with the times of their last changes. Raises
        `Refusal`, 400 without a source language, 404 for an unknown glossary, and for one without this direction."""
        if identities and not source:
            raise bad_request("source_lang: a glossary needs it")
        for each in identities:
            self.find(owner, each).dictionary(source, target)
        paths = [self.folder / f"{each}.json" for each in dict.fromkeys(identities)]
        return [(str(path), path.stat().st_mtime_ns) for path in paths]


# ---- memories


class StoredMemory(Item, Directed):
    """A translation memory: segments that a client has translated before."""

    segments: int = 0
    suffix: str = ".jsonl"
    """The ending of its file, which says the format."""


class Memories(Store[StoredMemory]):
    """All memories of a service."""

    def __init__(self, limits: Limits, folder: Path | None = None) -> None:
        super().__init__(folder, StoredMemory, "memory")
        self._limits = limits

    async def add(self, new: StoredMemory, name: str, content: bytes) -> tuple[StoredMemory, list[str]]:
        """Keep a new one with the segments of a file; returns it with the reasons of the lines that cannot be used.
        Raises `Refusal` if there are too many, or too many segments, and for an invalid file."""
        memory = new.model_copy(update={"suffix": Path(name).suffix.lower()})
        async with self._writing:
            mine, limits = self.list(memory.owner), self._limits
            if len(mine) >= limits.memories:
                what = f"this is memory {len(mine) + 1} of yours"
                message = beyond(what, limits.memories, "--max-memories", "delete one")
                raise bad_request(message, "too_many_memories")  # which clients do not repeat
            room, left_out = limits.memory_segments - sum(each.segments for each in mine), list[BadLine]()
            try:
                count = await asyncio.to_thread(self._fill, memory, name, content, room, left_out)
                kept = await self.write(memory.model_copy(update={"segments": count}))
            except BaseException as error:
                self.remove_files(memory.id)
                raise (bad_request(str(error), "memory") if isinstance(error, UserError) else error) from None
            return kept, [f"line {each.line}: {each.reason}" for each in left_out]

    def of(self, owner: str, source: str, target: str) -> list[tuple[str, str, str, str]]:
        """Name, file and languages of a client's memories for a direction, the newest first."""
        return [
            (each.name, str(self._file(each)), each.source, each.target)
            for each in reversed(self.list(owner))
            if each.fits(source, target)
        ]

    def _fill(self, memory: StoredMemory, name: str, content: bytes, room: int, left_out: list[BadLine]) -> int:
        """Write the file, and index its segments; returns their number. Raises `Refusal`, and `UserError`."""
        if memory.suffix not in BOTH_SIDES:
            raise UserError(f"file: its name must end in {', '.join(BOTH_SIDES)}")
        count, path = 0, self._file(memory)
        write_whole(path, content)
        try:
            for pair in read_pairs([path], memory.source, memory.target, on_bad_line=left_out.append):
                count += bool(pair.source.strip() and pair.target.strip())
                self._require_fit(max(len(pair.source), len(pair.target)), count, room)
            if not count:
                reason = f" (line {left_out[0].line}: {left_out[0].reason})" if left_out else ""
                raise UserError(f"there are no segments from {memory.source} to {memory.target} in it{reason}")
            open_memory(path, memory.source, memory.target).close()
        except UserError as error:
            raise UserError(str(error).replace(str(path), name)) from None  # without our path
        return count

    def _file(self, memory: StoredMemory) -> Path:
        return self.folder / f"{memory.id}{memory.suffix}"

    def _require_fit(self, length: int, count: int, room: int) -> None:
        if count > room:
            what, most = "with this memory there are more segments of yours", self._limits.memory_segments
            message = beyond(what, most, "--max-memory-segments", "delete a memory, or send less")
            raise Refusal(413, "too_many_segments", message)
        if length > MAX_SEGMENT:
            message = f"segment {count} has more than {MAX_SEGMENT} characters: divide it, or leave it out"
            raise Refusal(413, "too_long", message)


# ---- documents


@dataclass(eq=False, slots=True)
class Document:
    """A document."""

    name: str
    client: str
    size: int
    """Bytes of the file, before and after."""
    characters: int = 0
    work: asyncio.Future[bytes] | None = None
    """None while it is read."""
    taken: bool = False
    """Whether its translation was downloaded."""
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
        error = Refusal(400, "document", "it was not finished in time")
        if not self.work.cancelled():
            if (raised := self.work.exception()) is None:
                return None
            error = Refusal(400, "document", "it could not be translated")
            if isinstance(raised, Refusal):
                error = Refusal(raised.status if raised.status < 500 else 400, "document", raised.message)
        return error


class Uploads:
    """The documents of a service."""

    def __init__(self, most_open: int = 8) -> None:
        """`most_open` may be read or translated at a time, half of them of one client."""
        self._most_open = most_open
        self._documents: dict[str, Document] = {}

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def unfetched(self) -> int:
        """How many have a translation that nobody has fetched, or will have one."""
        return sum(document.status != "error" and not document.taken for document in self._documents.values())

    def add(self, name: str, client: str, size: int) -> Document:
        """A document that is read from now on. Raises `Refusal` where there are too many for another one of this
        size."""
        new = Document(name, client, size)
        kept = [new, *(each for each in self._documents.values() if not each.taken)]
        for some, most, what in (
            ([(each.client, each.status == "translating") for each in kept], self._most_open, "documents at a time"),
            ([(each.client, each.size + OVERHEAD) for each in kept], MAX_BYTES, "bytes of documents"),
        ):
            mine = sum(each for owner, each in some if owner == client)
            if mine > most // 2 or sum(each for _, each in some) > most:
                message = (
                    f"with this one there would be more than {most:,} {what}, or {most // 2:,} of yours: fetch their "
                    "translations first, or try again later"
                )
                raise Refusal(429, "too_many_documents", message, retry_after=10)
        self._documents[new.id] = new
        return new

    def begin(self, document: Document, work: Coroutine[Any, Any, bytes]) -> asyncio.Future[bytes]:
        """Translate a document that was read."""

        def done(ended: asyncio.Future[bytes]) -> None:
            if not ended.cancelled() and ended.exception() is None:  # errors are told with the status
                document.size = len(ended.result())

        document.work = asyncio.ensure_future(work)
        document.work.add_done_callback(done)
        asyncio.get_running_loop().call_later(KEPT_SECONDS, self.forget, document)
        return document.work

    def find(self, identity: str, key: str, missing: int = 400) -> Document:
        """The document. Raises `Refusal` for a wrong key and for an unknown one, whose status of DeepL is the
        default."""
        document = self._documents.get(identity)
        if document is None or not hmac.compare_digest(key.encode(), document.key.encode()):
            raise Refusal(missing, "document", "Document not found")
        return document

    def take(self, identity: str, key: str, missing: int = 400) -> tuple[str, bytes]:
        """Its name and its translation, which is forgotten soon afterwards: a connection may be lost before it has
        arrived. Raises `Refusal` where that is not there, or no longer."""
        document = self.find(identity, key, missing)
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
        if document.work is not None:
            document.work.cancel()
