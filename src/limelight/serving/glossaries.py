"""Glossaries of clients: in memory, and in a folder where there is one, so that they outlive the service.

Each is a file of its own, written as a whole. It belongs to the key that made it; without keys all belong to everybody.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from limelight.config.directions import same_language
from limelight.errors import RunError, UserError
from limelight.files import PARTIAL, cause, remove, write_whole
from limelight.serving.refusal import Refusal, bad_request
from limelight.text.glossary import Glossary, Term, glossary_of

FORMAT = 1
MAX_GLOSSARIES = 5000
"""Maximum number of glossaries of all clients."""
MAX_OWN = 1000
"""Maximum number of one client: Weblate makes one for each project and pair of languages, and counts on so many."""
MAX_ALL_CHARACTERS = 250_000_000
"""Maximum characters of all entries of all glossaries."""
MAX_OWN_CHARACTERS = 50_000_000
"""Maximum characters of all entries of the glossaries of one client."""
MAX_CHARACTERS = 500_000
"""Maximum characters of all entries of a glossary."""
MAX_PARSED = 200_000
"""Terms of the glossaries that are kept ready for use, unless the newest one has more."""


def not_found() -> Refusal:
    """There is no such glossary."""
    return Refusal(404, "glossary", "Glossary not found")


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Terms from one language into another."""

    source: str
    target: str
    entries: str
    """A term a line: source TAB target."""

    @property
    def count(self) -> int:
        """Number of terms."""
        return self.entries.count("\n") + 1 if self.entries else 0

    def fits(self, source: str, target: str) -> bool:
        """Whether it is for this direction; `en-GB` is `en`."""
        return same_language(self.source, source) and same_language(self.target, target)


@dataclass(frozen=True, slots=True)
class StoredGlossary:
    """A glossary as it is kept."""

    id: str
    owner: str
    """The name of a key; empty without keys."""
    name: str
    dictionaries: tuple[Dictionary, ...]
    created: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))

    @property
    def size(self) -> int:
        """Characters of all entries."""
        return sum(len(each.entries) for each in self.dictionaries)

    def dictionary(self, source: str, target: str) -> Dictionary:
        """The one for a direction. Raises `Refusal`, 404, where there is none."""
        for each in self.dictionaries:
            if each.fits(source, target):
                return each
        raise Refusal(404, "dictionary", f"this glossary has no dictionary from {source[:20]} to {target[:20]}")

    def with_dictionary(self, new: Dictionary) -> StoredGlossary:
        """With this one instead of what it has for its direction."""
        others = [each for each in self.dictionaries if not each.fits(new.source, new.target)]
        return replace(self, dictionaries=(*others, new))


class Entries(NamedTuple):
    """What a client sends for a dictionary."""

    source: str
    target: str
    text: str
    separator: str = "\t"


def read_entries(given: Entries, before: Dictionary | None = None) -> Dictionary:
    """The sent terms, added to those of `there`. Raises `Refusal` for an invalid term."""
    try:
        found = glossary_of(given.text, given.source, separator=given.separator, name="entries").terms
        terms = dict(_lines(before.entries)) if before is not None else {}
        terms |= {" ".join(term.source.split()): " ".join(term.target.split()) for term in found}
        if not terms:
            raise UserError("entries: there are no terms in it")
        Glossary([Term(*pair) for pair in terms.items()], given.source)
    except UserError as error:
        raise bad_request(str(error), "glossary") from None
    lines = "\n".join(f"{source}\t{target}" for source, target in terms.items())
    return Dictionary(_base(given.source), _base(given.target), lines)


def _lines(entries: str) -> list[tuple[str, str]]:
    pairs = (line.partition("\t") for line in entries.splitlines())
    return [(source, target) for source, _, target in pairs]


def _base(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].lower()


class Terms(NamedTuple):
    """The terms of several glossaries."""

    glossaries: tuple[Glossary, ...]

    def possible(self, text: str) -> list[Term]:
        """Terms that may occur in the text; those of the first glossary come first."""
        return list(dict.fromkeys(term for each in self.glossaries for term in each.possible(text)))


class Glossaries:
    """All glossaries of a service.

    Args:
        folder: where they are kept; in memory alone where it is None.

    Raises `UserError` for a folder with a file that is not a glossary, `RunError` for one that cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._all: dict[str, StoredGlossary] = {}
        self._parsed: OrderedDict[tuple[str, str, str], Glossary] = OrderedDict()
        self._parsing = asyncio.Lock()
        self._writing = asyncio.Lock()
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for unfinished in folder.glob(f"*.json{PARTIAL}"):
                    remove(unfinished)
                self._all = {each.id: each for each in map(_read, sorted(folder.glob("*.json")))}
            except OSError as error:
                raise RunError(f"{folder}: glossaries cannot be kept there: {cause(error)}") from None

    def list(self, owner: str) -> list[StoredGlossary]:
        """Glossaries of a client, the oldest first."""
        return sorted((each for each in self._all.values() if each.owner == owner), key=lambda each: each.created)

    def find(self, owner: str, identity: str) -> StoredGlossary:
        """A glossary. Raises `Refusal`, 404, also for a glossary of another client."""
        found = self._all.get(identity)
        if found is None or found.owner != owner:
            raise not_found()
        return found

    async def add(self, owner: str, name: str, dictionaries: Iterable[Dictionary]) -> StoredGlossary:
        """A new one. Raises `Refusal` where there are too many, or it is too large."""
        new = StoredGlossary(str(uuid.uuid4()), owner, name, ())
        for each in dictionaries:
            if any(other.fits(each.source, each.target) for other in new.dictionaries):
                raise bad_request(f"dictionaries: there are two from {each.source} to {each.target}")
            new = new.with_dictionary(each)
        async with self._writing:
            if len(self.list(owner)) >= MAX_OWN or len(self._all) >= MAX_GLOSSARIES:
                mine = len(self.list(owner))
                count, bound = (f"{mine} glossaries of yours", MAX_OWN) if mine >= MAX_OWN else ("all", MAX_GLOSSARIES)
                message = f"there are {count} already, of at most {bound}: delete one"
                raise bad_request(message, "too_many_glossaries")  # what clients do not repeat
            await self._put(new)
        return new

    async def change(
        self, owner: str, identity: str, change: Callable[[StoredGlossary], StoredGlossary]
    ) -> StoredGlossary:
        """Another one in its place: what `change`, called in a thread, makes of it. Raises `Refusal`."""
        async with self._writing:
            new = await asyncio.to_thread(change, self.find(owner, identity))
            await self._put(new)
        return new

    async def _put(self, glossary: StoredGlossary) -> None:
        size = glossary.size
        if size > MAX_CHARACTERS:
            message = f"a glossary of {size} characters: at most {MAX_CHARACTERS} are kept; divide it"
            raise Refusal(413, "too_long", message)
        others = [each for each in self._all.values() if each.id != glossary.id]
        for some, bound in (
            ([each for each in others if each.owner == glossary.owner], MAX_OWN_CHARACTERS),
            (others, MAX_ALL_CHARACTERS),
        ):
            whole = size + sum(each.size for each in some)
            if whole > bound:
                message = f"with this one the glossaries have {whole} characters, of at most {bound}: delete one"
                raise Refusal(413, "too_long", message)
        if self.folder is not None:
            content = json.dumps({"format": FORMAT, **asdict(glossary)}, ensure_ascii=False)
            await asyncio.to_thread(write_whole, self.folder / f"{glossary.id}.json", content)
        self._all[glossary.id] = glossary
        self._forget(glossary.id)

    async def delete(self, owner: str, identity: str) -> None:
        """Take one away. Raises `Refusal`, 404, where there is none."""
        self.find(owner, identity)
        async with self._writing:
            if self.folder is not None:
                await asyncio.to_thread(remove, self.folder / f"{identity}.json")
            self._all.pop(identity, None)
            self._forget(identity)

    async def terms(self, owner: str, identities: Sequence[str], source: str, target: str) -> Terms | None:
        """The terms of some glossaries for a direction; None where none is named. Raises `Refusal`, 400 without a
        source language, 404 for a glossary that there is not, or not for this direction."""
        if not identities:
            return None
        if not source:
            raise bad_request("source_lang: a glossary needs it")
        named = dict.fromkeys(identities)
        dictionaries = {identity: self.find(owner, identity).dictionary(source, target) for identity in named}
        return Terms(tuple([await self._glossary(*each) for each in dictionaries.items()]))

    async def _glossary(self, identity: str, dictionary: Dictionary) -> Glossary:
        """A dictionary that is ready for use. One is made ready at a time."""
        key = (identity, dictionary.source, dictionary.target)
        async with self._parsing:
            found = self._parsed.get(key)
            if found is None:
                terms = [Term(*pair) for pair in _lines(dictionary.entries)]
                found = await asyncio.to_thread(Glossary, terms, dictionary.source)
                if self._has(dictionary):  # else it has changed meanwhile
                    self._parsed[key] = found
        if key in self._parsed:
            self._parsed.move_to_end(key)
        while len(self._parsed) > 1 and sum(map(len, self._parsed.values())) > MAX_PARSED:
            self._parsed.popitem(last=False)
        return found

    def _has(self, dictionary: Dictionary) -> bool:
        return any(dictionary is each for glossary in self._all.values() for each in glossary.dictionaries)

    def _forget(self, identity: str) -> None:
        for key in [key for key in self._parsed if identity == key[0]]:
            del self._parsed[key]


def _read(path: Path) -> StoredGlossary:
    """Read a file of the folder. Raises `UserError` if it is not a glossary."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored.pop("format") != FORMAT:
            raise UserError(f"{path}: a glossary of another format than {FORMAT}")
        dictionaries = tuple(Dictionary(**each) for each in stored.pop("dictionaries"))
        return StoredGlossary(**stored, dictionaries=dictionaries)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: not a glossary of the service; move it elsewhere") from None
