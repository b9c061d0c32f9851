"""Glossaries of clients."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from limelight.config.directions import same_language
from limelight.errors import UserError
from limelight.formats.glossaries import glossary_of
from limelight.serving.kept import Kept
from limelight.serving.refusal import Refusal, bad_request
from limelight.text.glossary import Glossary, Term

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


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The terms of one direction."""

    source: str
    target: str
    entries: str
    """One term per line: source TAB target."""

    @property
    def count(self) -> int:
        """Number of terms."""
        return self.entries.count("\n") + 1 if self.entries else 0

    def fits(self, source: str, target: str) -> bool:
        """Whether it is for this direction; `en-GB` is `en`."""
        return same_language(self.source, source) and same_language(self.target, target)


@dataclass(frozen=True, slots=True)
class StoredGlossary:
    """A stored glossary."""

    id: str
    owner: str
    """The name of a key; empty without keys."""
    name: str
    dictionaries: tuple[Dictionary, ...]
    created: str = ""
    """The time; empty for one that is not kept yet."""

    @property
    def size(self) -> int:
        """Characters of all entries."""
        return sum(len(each.entries) for each in self.dictionaries)

    def dictionary(self, source: str, target: str) -> Dictionary:
        """The dictionary of a direction. Raises `Refusal`, 404, if there is none."""
        for each in self.dictionaries:
            if each.fits(source, target):
                return each
        raise Refusal(404, "dictionary", f"this glossary has no dictionary from {source[:20]} to {target[:20]}")

    def with_dictionary(self, new: Dictionary) -> StoredGlossary:
        """A copy in which this dictionary replaces the one of its direction."""
        others = [each for each in self.dictionaries if not each.fits(new.source, new.target)]
        return replace(self, dictionaries=(*others, new))


class Entries(NamedTuple):
    """A dictionary as a client sends it."""

    source: str
    target: str
    text: str
    separator: str = "\t"


def read_entries(given: Entries, before: Dictionary | None = None) -> Dictionary:
    """The sent terms, added to those of `before`. Raises `Refusal` for an invalid term."""
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


class Glossaries(Kept[StoredGlossary]):
    """All glossaries of a service.

    Args:
        folder: where they are kept; in memory alone where it is None.

    Raises as `Kept` does.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder, _read, "glossary")
        self._parsed: OrderedDict[tuple[str, str, str], Glossary] = OrderedDict()
        self._parsing = asyncio.Lock()

    async def add(self, owner: str, name: str, dictionaries: Iterable[Dictionary]) -> StoredGlossary:
        """Create a glossary. Raises `Refusal` if there are too many, or if it is too large."""
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
            new = replace(new, created=self._now())
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
        await self._write(glossary)
        self._forget(glossary.id)

    async def delete(self, owner: str, identity: str) -> None:
        """See `Kept.delete`."""
        await super().delete(owner, identity)
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
        """A dictionary prepared for use. One is prepared at a time."""
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


def _read(stored: dict[str, Any]) -> StoredGlossary:
    dictionaries = tuple(Dictionary(**each) for each in stored.pop("dictionaries"))
    return StoredGlossary(**stored, dictionaries=dictionaries)
