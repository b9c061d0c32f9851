"""A translation memory: segments that were translated before, which are used again for the same source.

The segments of a file are indexed once, in a SQLite database beside the file, so that a memory of a million segments
takes no memory of the process.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from limelight.errors import UserError
from limelight.files import cause, fill_file, locked
from limelight.formats.pairs import names_languages, read_pairs
from limelight.formats.segments import NoSegmentsError
from limelight.text.languages import normal_code
from limelight.text.pair import BadLine, Pair, normalized, one_line

FORMAT = "limelight memory 3"
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE segments (source TEXT PRIMARY KEY, target TEXT, line INTEGER) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """A segment of a translation memory with the source of a text."""

    source: str
    target: str
    origin: str
    """The file and line of the segment."""


class TranslationMemory:
    """The segments of one or several files, each in one direction; the first files take precedence. `open_memory` makes
    it. May be used by several threads."""

    def __init__(self, indexes: Iterable[Index]) -> None:
        self.indexes = tuple(indexes)

    def of(self, source: str, target: str) -> TranslationMemory:
        """The segments of a direction."""
        languages = normal_code(source), normal_code(target)
        return TranslationMemory(index for index in self.indexes if index.fits(*languages))

    def find(self, text: str) -> MemoryMatch | None:
        """The last segment of a file with this source, or None. White space at the ends does not count."""
        source = normalized(text)
        return next((match for index in self.indexes if (match := index.find(source))), None)


class Index:
    """The indexed segments of a file in one direction, whose languages may be unknown (empty). Matches have `name` in
    their origin. Raises the stored `UserError` for a direction that the file does not have."""

    def __init__(self, path: Path, name: str) -> None:
        about = _read_about(path)
        if "refusal" in about:
            raise UserError(about["refusal"])
        self.path, self.name = path, name
        self.source, self.target = about["source"], about["target"]
        self._lock, self._database = Lock(), _opened(path)

    def fits(self, source: str, target: str) -> bool:
        """Whether the segments are not of another direction."""
        named = ((self.source, source), (self.target, target))
        return all(not own or not other or own == other for own, other in named)

    def find(self, source: str) -> MemoryMatch | None:
        """The segment with a normalized source."""
        with self._lock:
            query = "SELECT target, line FROM segments WHERE source = ?"
            row = self._database.execute(query, (source,)).fetchone()
        return MemoryMatch(source, row[0], f"{self.name}:{row[1]}") if row else None


def open_memory(
    path: str | Path, source: str, target: str, *, name: str = "", say: Callable[[str], None] = lambda _: None
) -> TranslationMemory:
    """The memory of a file of pairs (`read_pairs`: TMX, TSV, XLIFF, PO and others) in the given languages.

    Its index is `FILE.en-de.index` beside the file, or a temporary file if that cannot be written. It is made again if
    the file has changed. `say` is told that an index is made, and of segments that cannot be read. Matches show `name`
    instead of the file's.

    Raises `UserError` as `read_pairs` does, naming file and line, and for a file without pairs.
    """
    path, (source, target) = Path(path), (normal_code(source), normal_code(target))
    read_pairs([path], source, target)  # raises for a missing file and an unknown format
    index = path.with_name(f"{path.name}.{source}-{target}.index")

    def build(partial: Path) -> None:
        before, bad = _file_state(path), list[BadLine]()
        say(f"{path}: its index is made, once")
        pairs = read_pairs([path], source, target, on_bad_line=lambda line: bad.extend([line] * (len(bad) < 3)))
        about = {"file": before, "source": source, "target": target}
        try:
            if not _write_index(partial, pairs, about):
                reason = f" ({bad[0]})" if bad else ""
                raise UserError(f"{path}: no pairs in {source or '?'} and {target or '?'}{reason}")
        except NoSegmentsError as error:  # stored, as finding it out takes as long as an index
            _write_index(partial, (), {**about, "refusal": str(error)})
            return
        for line in bad:
            say(f"{line}; left out of the memory")

    try:
        with locked(path):  # several engines of a service begin at the same time
            about = _read_about(index)
            if about.get("format") != FORMAT or about.get("file") != _file_state(path):
                fill_file(index, build)
        return TranslationMemory([Index(index, name or str(path))])
    except OSError as error:
        say(f"{index}: cannot be written ({cause(error).lower()}): the index is temporary")
    folder = Path(tempfile.mkdtemp(prefix="limelight-memory-"))
    try:
        build(folder / index.name)
        memory = TranslationMemory([Index(folder / index.name, name or str(path))])
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(memory.indexes[0], shutil.rmtree, folder, ignore_errors=True)
    return memory


def open_memories(
    path: str | Path, directions: Iterable[tuple[str, str]], *, name: str = "", say: Callable[[str], None]
) -> TranslationMemory:
    """The memory of a file in these directions, without the directions of which it has no pairs.

    Raises `UserError` as `open_memory` does, and for a file that does not name its languages with several directions.
    """
    wanted, indexes, errors = list(directions) or [("", "")], list[Index](), list[UserError]()
    if len(wanted) > 1 and not names_languages([path]):
        remedy = "give --from and --to, or use TMX"
        raise UserError(f"{path}: its languages are not in the file, and the model has several: {remedy}")
    for source, target in wanted:
        try:
            indexes += open_memory(path, source, target, name=name, say=say).indexes
        except UserError as error:
            errors.append(error)
    if not indexes:
        raise errors[0]
    return TranslationMemory(indexes)


def _opened(index: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _read_about(index: Path) -> dict[str, str]:
    """The metadata of an index; empty if the file is not an index."""
    try:
        with closing(_opened(index)) as database:
            return dict(database.execute("SELECT name, value FROM about"))
    except sqlite3.Error:
        return {}


def _file_state(path: Path) -> str:
    """The size and time of a file, which change with its content."""
    state = path.stat()
    return f"{state.st_size} bytes, {state.st_mtime_ns} ns"


def _write_index(path: Path, pairs: Iterable[Pair], about: dict[str, str]) -> bool:
    """Write the index of a memory of these pairs; returns whether it has any. Raises `OSError` if it cannot be
    written, as on a full disk."""
    path.unlink(missing_ok=True)
    rows = ((normalized(pair.source), one_line(pair.target), pair.line) for pair in pairs)
    try:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
            used = (row for row in rows if row[0] and row[1])
            database.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?, ?)", used)
            database.executemany("INSERT INTO about VALUES (?, ?)", {"format": FORMAT, **about}.items())
            database.commit()
            return database.execute("SELECT 1 FROM segments").fetchone() is not None
    except sqlite3.OperationalError as error:
        raise OSError(errno.ENOSPC, str(error), str(path)) from error
