"""Glossaries and translation memories of clients: files of a folder, which engines open by their paths.

Each item is a JSON file, written as a whole, and belongs to the key that made it; without keys all belong to everybody.
A memory has a second file with its segments. Without a folder they are in a temporary one, which ends with the service.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from limelight.config.directions import same_language
from limelight.errors import RunError, UserError
from limelight.files import cause, fill_file, remove, write_whole
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


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Item(BaseModel):
    """An item of a client."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    owner: str
    """The name of a key; empty without keys."""
    name: str
    created: str = Field(default_factory=_now)


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
            raise self.not_found()
        return found

    def not_found(self) -> Refusal:
        """The refusal of an unknown id."""
        return Refusal(404, self.name, f"{self.name.capitalize()} not found")

    async def delete(self, owner: str, identity: str) -> None:
        """Delete an item with its files. Raises `Refusal`, 404, for an unknown id."""
        self.find(owner, identity)
        async with self._writing:
            for path in self.folder.glob(f"{identity}.*"):
                await asyncio.to_thread(remove, path)
            self._all.pop(identity, None)

    async def write(self, item: Kind) -> Kind:
        """Keep an item."""
        await asyncio.to_thread(write_whole, self.folder / f"{item.id}.json", item.model_dump_json())
        self._all[item.id] = item
        return item


# ---- glossaries


class Dictionary(BaseModel):
    """The terms of one direction."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    target: str
    entries: str
    """One term per line: source TAB target."""

    @property
    def terms(self) -> list[tuple[str, str]]:
        """The terms."""
        pairs = (line.partition("\t") for line in self.entries.splitlines())
        return [(source, target) for source, _, target in pairs]

    def fits(self, source: str, target: str) -> bool:
        """Whether it is for this direction; `en-GB` is `en`."""
        return same_language(self.source, source) and same_language(self.target, target)


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

    async def add(self, owner: str, name: str, dictionaries: Iterable[Dictionary]) -> StoredGlossary:
        """Create a glossary. Raises `Refusal` if there are too many, or if it is too large."""
        new = StoredGlossary(owner=owner, name=name)
        for each in dictionaries:
            if any(other.fits(each.source, each.target) for other in new.dictionaries):
                raise bad_request(f"dictionaries: there are two from {each.source} to {each.target}")
            new = new.with_dictionary(each)
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


class StoredMemory(Item):
    """A translation memory: segments that a client has translated before."""

    source: str
    target: str
    segments: int = 0


class Memories(Store[StoredMemory]):
    """All memories of a service."""

    def __init__(self, limits: Limits, folder: Path | None = None) -> None:
        super().__init__(folder, StoredMemory, "memory")
        self._limits = limits

    async def add(self, memory: StoredMemory, name: str, content: bytes) -> tuple[StoredMemory, list[str]]:
        """Keep a new one with the segments of a file; returns it with an entry for each line that cannot be used, the
        first of which says why. Raises `Refusal` if there are too many, or too many segments, and for an invalid
        file."""
        async with self._writing:
            mine, limits = self.list(memory.owner), self._limits
            if len(mine) >= limits.memories:
                what = f"this is memory {len(mine) + 1} of yours"
                message = beyond(what, limits.memories, "--max-memories", "delete one")
                raise bad_request(message, "too_many_memories")  # which clients do not repeat
            room = limits.memory_segments - sum(each.segments for each in mine)
            left_out = list[str]()
            try:
                count = await asyncio.to_thread(self._fill, memory, name, content, room, left_out)
                return await self.write(memory.model_copy(update={"segments": count})), left_out
            except BaseException as error:
                for path in self.folder.glob(f"{memory.id}.*"):
                    remove(path)
                if isinstance(error, UserError):
                    raise bad_request(str(error), "memory") from None
                raise

    def of(self, owner: str, source: str, target: str) -> list[tuple[str, str, str, str]]:
        """Name, file and languages of a client's memories for a direction, the newest first."""
        return [
            (each.name, str(self.folder / f"{each.id}.jsonl"), each.source, each.target)
            for each in reversed(self.list(owner))
            if same_language(each.source, source) and same_language(each.target, target)
        ]

    def _fill(self, memory: StoredMemory, name: str, content: bytes, room: int, left_out: list[str]) -> int:
        """Write the segments, and index them; returns their number. Raises `Refusal`, and `UserError`."""
        suffix, count, path = Path(name).suffix.lower(), 0, self.folder / f"{memory.id}.jsonl"
        if suffix not in BOTH_SIDES:
            raise UserError(f"file: its name must end in {', '.join(BOTH_SIDES)}")

        def leave_out(line: BadLine) -> None:
            left_out.append("" if left_out else f"line {line.line}: {line.reason}")

        def write(partial: Path) -> None:
            nonlocal count
            with tempfile.TemporaryDirectory(prefix="limelight-memory-") as folder, partial.open("wb") as lines:
                sent = Path(folder) / f"file{suffix}"
                sent.write_bytes(content)
                try:
                    for pair in read_pairs([sent], memory.source, memory.target, on_bad_line=leave_out):
                        if pair.source.strip() and pair.target.strip():
                            count += 1
                            self._require_fit(pair.source, pair.target, count, room)
                            line = json.dumps({"source": pair.source, "target": pair.target}) + "\n"
                            lines.write(line.encode())
                except UserError as error:
                    raise UserError(str(error).replace(str(sent), name)) from None  # without our path

        fill_file(path, write)
        if not count:
            reason = f" ({left_out[0]})" if left_out else ""
            raise UserError(f"there are no segments from {memory.source} to {memory.target} in it{reason}")
        open_memory(path, memory.source, memory.target).close()
        return count

    def _require_fit(self, source: str, target: str, count: int, room: int) -> None:
        most = self._limits.memory_segments
        if count > room:
            what = "with this memory there are more segments of yours"
            message = beyond(what, most, "--max-memory-segments", "delete a memory, or send less")
            raise Refusal(413, "too_many_segments", message)
        if max(len(source), len(target)) > MAX_SEGMENT:
            message = f"segment {count} has more than {MAX_SEGMENT} characters: divide it, or leave it out"
            raise Refusal(413, "too_long", message)
