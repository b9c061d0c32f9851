"""What the service keeps of its clients in a folder: glossaries and translation memories.

Engines open the files of the folder by their paths. Each item is a JSON file, written as a whole, and belongs to the
key that made it; without keys all belong to everybody. A memory has a second file with its segments. Without a folder
they are in a temporary one, which ends with the service.
"""

import asyncio
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, Literal, TypeVar

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
"""Maximum glossaries of one client, as of DeepL: Weblate has one for each project and pair of languages, and deletes
its oldest one when it comes near this number."""
MAX_ENTRIES = 16 << 20
"""Maximum characters of one client's glossaries."""
MAX_SEGMENT = 5000
"""Maximum characters of one side of a segment of a memory."""


class Item(BaseModel):
    """An item of a client for a pair of languages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    owner: str
    """The name of a key; empty without keys."""
    name: str
    created: str = Field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    source: str
    target: str

    def fits(self, source: str, target: str) -> bool:
        """Whether it is for this direction; `en-GB` is `en`."""
        return same_language(self.source, source) and same_language(self.target, target)


Kind = TypeVar("Kind", bound=Item)


class Store(Generic[Kind]):
    """All items of a kind. Raises `UserError` for a folder with another file, `RunError` for one that cannot be used.

    Args:
        folder: where they are kept; a temporary one if it is None.
    """

    kind: type[Kind]
    name: str
    """Of one item, for messages."""

    def __init__(self, folder: Path | None = None) -> None:
        self._writing = asyncio.Lock()
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"limelight-{self.name}-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            items = [self.kind.model_validate_json((path := file).read_bytes()) for file in folder.glob("*.json")]
        except OSError as error:
            raise RunError(f"{folder}: a {self.name} cannot be kept there: {cause(error)}") from None
        except ValueError:
            raise UserError(f"{path}: not a {self.name} of the service; move it elsewhere") from None
        self._all = {item.id: item for item in sorted(items, key=lambda item: item.created)}

    def list(self, owner: str) -> list[Kind]:
        """Items of a client, the oldest first."""
        return [item for item in self._all.values() if item.owner == owner]

    def find(self, owner: str, identity: str) -> Kind:
        """The item of this id. Raises `Refusal`, 404, also for one of another client."""
        item = self._all.get(identity)
        if item is None or item.owner != owner:
            raise Refusal(404, self.name, f"{self.name.capitalize()} not found")
        return item

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


class StoredGlossary(Item):
    """A glossary."""

    entries: str
    """One term per line: source TAB target."""


def read_terms(path: str) -> list[Term]:
    """The usable terms of a glossary, from its file; none if it was deleted meanwhile."""
    try:
        entries = StoredGlossary.model_validate_json(Path(path).read_bytes()).entries
    except FileNotFoundError:
        return []
    return usable(line.partition("\t")[::2] for line in entries.splitlines())


def usable(pairs: Iterable[tuple[str, str]]) -> list[Term]:
    """The terms that a translation can use: signs alone, and texts that are too long, are not terms."""
    terms = list[Term]()
    for pair in pairs:
        term = Term(*pair)
        with suppress(UserError):
            Glossary([term])
            terms.append(term)
    return terms


def read_entries(text: str, separator: str) -> str:
    """The entries of a glossary from a table. Raises `Refusal` for an invalid table."""
    try:
        rows = [(" ".join(term.source.split()), " ".join(term.target.split())) for term in read_rows(text, separator)]
        words = [Term(*row) for row in rows if all(any(map(str.isalnum, side)) for side in row)]
        Glossary(words)
        if not words:
            raise UserError("entries: there are no terms in it")
    except UserError as error:
        raise bad_request(str(error), "glossary") from None
    return "\n".join(map("\t".join, dict(rows).items()))


class Glossaries(Store[StoredGlossary]):
    """All glossaries of a service."""

    kind, name = StoredGlossary, "glossary"

    async def add(self, new: StoredGlossary) -> StoredGlossary:
        """Keep a new one. Raises `Refusal` if there are too many."""
        async with self._writing:
            if (mine := len(self.list(new.owner))) >= MAX_OWN:
                message = f"there are {mine} glossaries of yours already, of at most {MAX_OWN}: delete one"
                raise bad_request(message, "too_many_glossaries")  # which clients do not repeat
            if sum(len(kept.entries) for kept in (*self.list(new.owner), new)) > MAX_ENTRIES:
                raise bad_request(
                    f"more than {MAX_ENTRIES:,} characters of glossaries: delete one", "too_many_glossaries"
                )
            return await self.write(new)

    def file(self, owner: str, identity: str, source: str, target: str) -> str:
        """The file of a glossary for a direction. Raises `Refusal`, 400 without a source language, 404 for an unknown
        glossary, and for one of another direction."""
        if not source:
            raise bad_request("source_lang: a glossary needs it")
        if not self.find(owner, identity).fits(source, target):
            raise Refusal(404, "dictionary", f"this glossary has no dictionary from {source[:20]} to {target[:20]}")
        return str(self.folder / f"{identity}.json")


# ---- memories


class StoredMemory(Item):
    """A translation memory: segments that a client has translated before."""

    segments: int = 0
    suffix: str = ".jsonl"
    """The ending of its file, which says the format."""


class Memories(Store[StoredMemory]):
    """All memories of a service."""

    kind, name = StoredMemory, "memory"

    def __init__(self, limits: Limits, folder: Path | None = None) -> None:
        super().__init__(folder)
        self._limits = limits

    async def add(self, new: StoredMemory, name: str, content: bytes) -> tuple[StoredMemory, list[BadLine]]:
        """Keep a new one with the segments of a file; returns it with the lines that cannot be used. Raises `Refusal`
        if there are too many, or too many segments, and for an invalid file."""
        memory = new.model_copy(update={"suffix": Path(name).suffix.lower()})
        async with self._writing:
            mine, limits = self.list(memory.owner), self._limits
            if len(mine) >= limits.memories:
                what = f"this is memory {len(mine) + 1} of yours"
                message = beyond(what, limits.memories, "--max-memories", "delete one")
                raise bad_request(message, "too_many_memories")  # which clients do not repeat
            room, left_out = limits.memory_segments - sum(kept.segments for kept in mine), list[BadLine]()
            try:
                count = await asyncio.to_thread(self._fill, memory, content, room, left_out)
                return await self.write(memory.model_copy(update={"segments": count})), left_out
            except BaseException as error:
                self.remove_files(memory.id)
                if isinstance(error, UserError):
                    raise bad_request(str(error).replace(str(self._file(memory)), name), "memory") from None
                raise

    def of(self, owner: str, source: str, target: str) -> list[tuple[str, str, str, str]]:
        """Name, file and languages of a client's memories for a direction, the newest first."""
        return [
            (memory.name, str(self._file(memory)), memory.source, memory.target)
            for memory in reversed(self.list(owner))
            if memory.fits(source, target)
        ]

    def _file(self, memory: StoredMemory) -> Path:
        return self.folder / f"{memory.id}{memory.suffix}"

    def _fill(self, memory: StoredMemory, content: bytes, room: int, left_out: list[BadLine]) -> int:
        """Write the file, and index its segments; returns their number. Raises `Refusal`, and `UserError`."""
        if memory.suffix not in BOTH_SIDES:
            raise UserError(f"file: its name must end in {', '.join(BOTH_SIDES)}")

        def leave_out(line: BadLine) -> None:
            left_out.append(line)
            if len(left_out) > self._limits.memory_segments:
                raise UserError(f"too many lines cannot be used (line {line.line}: {line.reason})")

        count, path = 0, self._file(memory)
        write_whole(path, content)
        for pair in read_pairs([path], memory.source, memory.target, on_bad_line=leave_out):
            count += bool(pair.source.strip() and pair.target.strip())
            if max(len(pair.source), len(pair.target)) > MAX_SEGMENT:
                message = f"segment {count} has more than {MAX_SEGMENT} characters: divide it, or leave it out"
                raise Refusal(413, "too_long", message)
            if count > room:
                what, most = "with this memory there are more segments of yours", self._limits.memory_segments
                message = beyond(what, most, "--max-memory-segments", "delete a memory, or send less")
                raise Refusal(413, "too_many_segments", message)
        if not count:
            reason = f" (line {left_out[0].line}: {left_out[0].reason})" if left_out else ""
            raise UserError(f"there are no segments from {memory.source} to {memory.target} in it{reason}")
        open_memory(path, memory.source, memory.target)  # makes its index
        return count
