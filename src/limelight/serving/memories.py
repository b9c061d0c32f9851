"""Translation memories of clients: segments that a client has translated before, which its translations reuse.

The segments of each are a file, which the engines index and read; so they are in a temporary folder where no other one
is given.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from limelight.config.directions import same_language
from limelight.errors import UserError
from limelight.files import fill_file, remove
from limelight.formats.opening import BOTH_SIDES
from limelight.formats.pairs import read_pairs
from limelight.formats.translation_memory import open_memory
from limelight.serving.kept import Kept
from limelight.serving.limits import Limits
from limelight.serving.refusal import Refusal, bad_request, beyond
from limelight.text.pair import BadLine

ALL = 20
"""The memories of all clients together may have so many times the segments of one."""
MAX_CHARACTERS = 5000
"""Maximum characters of one side of a segment."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as it is kept."""

    id: str
    owner: str
    """The name of a key; empty without keys."""
    name: str
    source: str
    target: str
    segments: int = 0
    created: str = ""
    """The time; empty for one that is not kept yet."""


class Sent(NamedTuple):
    """A memory as a client sends it: a file of pairs, or the pairs."""

    name: str = ""
    """The name of the file; its suffix names the format."""
    content: bytes = b""
    pairs: Iterable[tuple[str, str]] = ()


@dataclass(slots=True)
class LeftOut:
    """Segments of a file that cannot be used."""

    count: int = 0
    reason: str = ""
    """Of the first one."""

    def add(self, line: BadLine) -> None:
        """One more."""
        self.count, self.reason = self.count + 1, self.reason or f"line {line.line}: {line.reason}"


class Memories(Kept[StoredMemory]):
    """All memories of a service.

    Args:
        folder: where they are kept; they end with the service where it is None.

    Raises as `Kept` does.
    """

    def __init__(self, limits: Limits, folder: Path | None = None) -> None:
        super().__init__(folder, lambda stored: StoredMemory(**stored), "memory")
        self._limits = limits
        self._temporary: Path | None = None

    async def add(self, owner: str, memory: StoredMemory, sent: Sent) -> tuple[StoredMemory, LeftOut]:
        """A new one. Raises `Refusal` where there are too many, or too many segments, and for what is no memory."""
        async with self._writing:
            mine, most = self.list(owner), self._limits.memories
            if len(mine) >= most:
                message = beyond(f"this is memory {len(mine) + 1} of yours", most, "--max-memories", "delete one")
                raise bad_request(message, "too_many_memories")  # what clients do not repeat
            room = self._limits.memory_segments - sum(each.segments for each in mine)
            everyone = ALL * self._limits.memory_segments - sum(each.segments for each in self._all.values())
            path = self._file(memory)
            try:
                count, left_out = await asyncio.to_thread(self._fill, path, memory, sent, min(room, everyone))
                new = replace(memory, owner=owner, segments=count, created=self._now())
                await self._write(new)
            except BaseException:
                self._remove(path)
                raise
        return new, left_out

    async def delete(self, owner: str, identity: str) -> None:
        """See `Kept.delete`."""
        path = self._file(self.find(owner, identity))
        await super().delete(owner, identity)
        await asyncio.to_thread(self._remove, path)

    def of(self, owner: str, source: str, target: str) -> list[tuple[str, str, str, str]]:
        """Name, file and languages of a client's memories for a direction, the newest first."""
        found = (each for each in self.list(owner) if same_language(each.source, source))
        those = [each for each in found if same_language(each.target, target)]
        return [(each.name, str(self._file(each)), each.source, each.target) for each in reversed(those)]

    def _file(self, memory: StoredMemory) -> Path:
        if self.folder is None and self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="limelight-memories-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        folder = self.folder or self._temporary
        assert folder is not None
        return folder / f"{memory.id}.jsonl"

    def _fill(self, path: Path, memory: StoredMemory, sent: Sent, room: int) -> tuple[int, LeftOut]:
        """Write the segments, and index them; returns how many they are. Called in a thread."""
        left_out, count = LeftOut(), 0

        def write(partial: Path) -> None:
            nonlocal count
            with partial.open("w", encoding="utf-8") as lines:
                for source, target in self._pairs(sent, memory, left_out):
                    if source.strip() and target.strip():
                        count += 1
                        self._require_fit(source, target, count, room)
                        lines.write(json.dumps({"source": source, "target": target}) + "\n")

        try:
            fill_file(path, write)
            if not count:
                reason = f" ({left_out.reason})" if left_out.count else ""
                raise UserError(f"there are no segments from {memory.source} to {memory.target} in it{reason}")
            open_memory(path, memory.source, memory.target).close()
        except UserError as error:
            raise bad_request(str(error), "memory") from None
        return count, left_out

    def _require_fit(self, source: str, target: str, count: int, room: int) -> None:
        """Raises `Refusal`, 413."""
        if count > room:
            message = beyond(
                f"with this memory there are more than {self._limits.memory_segments} segments of yours, or "
                f"{ALL * self._limits.memory_segments} of all clients",
                self._limits.memory_segments, "--max-memory-segments", "delete a memory, or send less",
            )  # fmt: skip
            raise Refusal(413, "too_many_segments", message)
        if max(len(source), len(target)) > MAX_CHARACTERS:
            message = f"segment {count} has more than {MAX_CHARACTERS} characters: divide it, or leave it out"
            raise Refusal(413, "too_long", message)

    def _pairs(self, sent: Sent, memory: StoredMemory, left_out: LeftOut) -> Iterator[tuple[str, str]]:
        """Raises `UserError` for a file that cannot be read, without its path, and for a segment with a NUL character,
        which readers of files leave out."""
        if not sent.name:
            for number, texts in enumerate(sent.pairs):
                if any("\0" in text for text in texts):
                    raise UserError(f"segments[{number}] holds a NUL character: remove it, or leave the segment out")
                yield texts
            return
        suffix = Path(sent.name).suffix.lower()
        if suffix not in BOTH_SIDES:
            raise UserError(f"file: its name must end in {', '.join(BOTH_SIDES)}")
        with tempfile.TemporaryDirectory(prefix="limelight-memory-") as folder:
            path = Path(folder) / f"file{suffix}"
            path.write_bytes(sent.content)
            try:
                for pair in read_pairs([path], memory.source, memory.target, on_bad_line=left_out.add):
                    yield pair.source, pair.target
            except UserError as error:
                raise UserError(str(error).replace(str(path), sent.name)) from None

    def _remove(self, path: Path) -> None:
        for each in (path, *path.parent.glob(f"{path.name}.*.index")):
            remove(each)


def stored(name: str, source: str, target: str) -> StoredMemory:
    """A memory that has no owner and no segments yet."""
    return StoredMemory(str(uuid.uuid4()), "", name, source, target)
