"""Items of clients, kept in memory and, if one is given, in a folder, so that they outlive the service.

Each is a JSON file of its own, written as a whole. It belongs to the key that made it; without keys all belong to
everybody.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from limelight.errors import RunError, UserError
from limelight.files import PARTIAL, cause, remove, write_whole
from limelight.serving.refusal import Refusal

FORMAT = 1


class Owned(Protocol):
    """An item: a dataclass with these fields."""

    @property
    def id(self) -> str: ...

    @property
    def owner(self) -> str:
        """The name of a key; empty without keys."""

    @property
    def created(self) -> str: ...


Item = TypeVar("Item", bound=Owned)


class Kept(Generic[Item]):
    """All items of one kind.

    Args:
        folder: where they are kept; in memory alone where it is None.
        read: makes one of what its file holds.
        name: of one, for messages.

    Raises `UserError` for a folder with another file, `RunError` for one that cannot be used.
    """

    def __init__(self, folder: Path | None, read: Callable[[dict[str, Any]], Item], name: str) -> None:
        self.folder, self._name = folder, name
        self._all: dict[str, Item] = {}
        self._writing = asyncio.Lock()
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for unfinished in folder.glob(f"*.json{PARTIAL}"):
                    remove(unfinished)
                self._all = {
                    each.id: each for each in (self._read(path, read) for path in sorted(folder.glob("*.json")))
                }
            except OSError as error:
                raise RunError(f"{folder}: a {name} cannot be kept there: {cause(error)}") from None

    def list(self, owner: str) -> list[Item]:
        """Items of a client, the oldest first."""
        return sorted((each for each in self._all.values() if each.owner == owner), key=lambda each: each.created)

    def find(self, owner: str, identity: str) -> Item:
        """The item of this id. Raises `Refusal`, 404, also for one of another client."""
        found = self._all.get(identity)
        if found is None or found.owner != owner:
            raise self.not_found()
        return found

    def not_found(self) -> Refusal:
        """The refusal of an id that there is not."""
        return Refusal(404, self._name, f"{self._name.capitalize()} not found")

    async def delete(self, owner: str, identity: str) -> None:
        """Delete an item. Raises `Refusal`, 404, where there is none."""
        self.find(owner, identity)
        async with self._writing:
            if self.folder is not None:
                await asyncio.to_thread(remove, self.folder / f"{identity}.json")
            self._all.pop(identity, None)

    def _now(self) -> str:
        """The time of creation of a new item: after that of the newest one, also where the clock was set back. Items
        have the order of these times."""
        time = datetime.now(UTC)
        if newest := max((each.created for each in self._all.values()), default=""):
            time = max(time, datetime.fromisoformat(newest) + timedelta(microseconds=1))
        return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def _write(self, item: Item) -> None:
        if self.folder is not None:
            assert is_dataclass(item)
            content = json.dumps({"format": FORMAT, **asdict(item)}, ensure_ascii=False)
            await asyncio.to_thread(write_whole, self.folder / f"{item.id}.json", content)
        self._all[item.id] = item

    def _read(self, path: Path, read: Callable[[dict[str, Any]], Item]) -> Item:
        """Read a file of the folder. Raises `UserError` if it is not such an item."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored.pop("format") != FORMAT:
                raise UserError(f"{path}: a {self._name} of another format than {FORMAT}")
            item = read(stored)
            datetime.fromisoformat(item.created)
            return item
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{path}: not a {self._name} of the service; move it elsewhere") from None
