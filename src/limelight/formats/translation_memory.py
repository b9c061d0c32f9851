"""A translation memory: segments that were translated before, found again by their source text.

The segments of a file are indexed once, in a SQLite database beside the file, so that a memory of a million segments
takes no memory of the process. A segment is found exactly, or by the words that it shares with a text: full-text search
gives candidates, and the Levenshtein distance of their words decides.
"""

from __future__ import annotations

import errno
import math
import shutil
import sqlite3
import tempfile
import unicodedata
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice, pairwise
from pathlib import Path
from threading import Lock

from limelight.errors import UserError
from limelight.files import cause, fill_file, locked
from limelight.formats.pairs import names_languages, read_pairs
from limelight.text.languages import normal_code
from limelight.text.pair import BadLine, Pair
from limelight.text.words import words_and_signs, words_of

FORMAT = "limelight memory 2"
LEAST = 0.7
"""Default minimum similarity of a match that is shown."""
COMMON = 300
"""Words and pairs of words in more segments than this are not looked up, unless a text has no others."""
CANDIDATES = 100
"""Maximum number of segments whose distance is computed for a text."""
MAX_TOKENS = 200
"""Distinct words and pairs of words of a text that are looked up."""
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE segments (id INTEGER PRIMARY KEY, key BLOB, source TEXT, target TEXT, line INTEGER);
CREATE VIRTUAL TABLE lookup USING fts5 (words, content='', detail=none, columnsize=0);
"""


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """A segment of a translation memory that is like a text."""

    source: str
    target: str
    similarity: float
    """1 for the same text, except for white space; else the `similarity` of the sources, which is below 1."""
    origin: str
    """The file and line of the segment."""


def similarity(one: Sequence[str], other: Sequence[str], least: float = 0.0) -> float:
    """1 - d / n of two texts in words and signs, with their Levenshtein distance d and n words of the longer one; at
    most 0.99, as where only white space differs. 0 where it is less than `least`."""
    from rapidfuzz.distance import Levenshtein  # takes 35 ms, which translations without a memory should not wait for

    return min(0.99, Levenshtein.normalized_similarity(one, other, score_cutoff=least))


def normalized(text: str) -> str:
    """The text as it is compared for an exact match: Unicode in NFC, single spaces, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


class TranslationMemory:
    """The segments of one or several files, each in one direction; the first files take precedence. `open_memory` makes
    it. May be used by several threads."""

    def __init__(self, indexes: Iterable[Index]) -> None:
        self.indexes = tuple(indexes)

    def __len__(self) -> int:
        """The number of segments."""
        return sum(index.total for index in self.indexes)

    def close(self) -> None:
        """Close the indexes; the memory cannot be used afterwards."""
        for index in self.indexes:
            index.close()

    def of(self, source: str, target: str) -> TranslationMemory:
        """The segments of a direction."""
        asked = normal_code(source), normal_code(target)
        return TranslationMemory(index for index in self.indexes if index.fits(*asked))

    def exact(self, text: str) -> MemoryMatch | None:
        """The last segment of a file with this source, or None. White space at the ends does not count."""
        return next((match for index in self.indexes for match in index.exact(normalized(text))), None)

    def find(self, text: str, least: float = LEAST, most: int = 3) -> list[MemoryMatch]:
        """The segments most similar to a text, at least `least` and at most `most`, best first; of equal ones the last
        of a file first. A translation is given once.

        Only segments that share one of the rarer words with the text are found; see `COMMON` and `CANDIDATES`.
        """
        every = [match for index in self.indexes for match in index.similar(text, least)]
        found = dict[str, MemoryMatch]()
        for match in sorted(every, key=lambda match: -match.similarity):
            found.setdefault(match.target, match)
        return list(found.values())[:most]


class Index:
    """The indexed segments of a file in one direction, whose languages may be unknown (empty). Its matches are the last
    ones of the file first, and name their origin by `name`."""

    def __init__(self, index: Path, name: str) -> None:
        about = _about(index)
        self.path, self.name = index, name
        self.source, self.target = about["source"], about["target"]
        self.total = int(about["segments"])
        self._lock, self._database = Lock(), _opened(index)

    def close(self) -> None:
        """Close it, when nothing else uses it."""
        with self._lock:
            self._database.close()

    def fits(self, source: str, target: str) -> bool:
        """Whether the segments are not of another direction."""
        named = ((self.source, source), (self.target, target))
        return all(not own or not other or own == other for own, other in named)

    def exact(self, text: str) -> Iterator[MemoryMatch]:
        """The segments with a normalized source."""
        rows = self._rows("SELECT id, source, target, line FROM segments WHERE key = ? ORDER BY id DESC", _key(text))
        return (self._match(row, 1.0) for row in rows if normalized(row[1]) == text)

    def similar(self, text: str, least: float) -> Iterator[MemoryMatch]:
        """The segments of at least this similarity, exact ones among them."""
        same, words, candidates = normalized(text), words_and_signs(text.casefold()), self._candidates(text)
        query = f"key = ? OR id IN ({','.join('?' * len(candidates))}) ORDER BY id DESC"
        rows = self._rows(f"SELECT id, source, target, line FROM segments WHERE {query}", _key(same), *candidates)
        for row in rows:
            is_same = normalized(row[1]) == same
            near = 1.0 if is_same else similarity(words, words_and_signs(row[1].casefold()), least)
            if near >= least:
                yield self._match(row, near)

    def _match(self, row: tuple[int, str, str, int], near: float) -> MemoryMatch:
        _, source, target, line = row
        return MemoryMatch(source, target, near, f"{self.name}:{line}")

    def _candidates(self, text: str) -> list[int]:
        """The segments that share most rare words with a text."""
        weights, common = defaultdict[int, float](float), list[str]()
        for token in islice(_tokens(text), MAX_TOKENS):
            having = self._having(token)
            common += [token] if len(having) > COMMON else []
            for number in having if len(having) <= COMMON else ():
                weights[number] += math.log(1 + self.total / len(having))
        if not weights and common:  # no rarer words: segments with all the common ones
            weights |= dict.fromkeys(self._having(" AND ".join(common)), 1.0)
        return sorted(weights, key=lambda number: (weights[number], number), reverse=True)[:CANDIDATES]

    def _having(self, query: str) -> list[int]:
        """At most `COMMON` + 1 segments, the last ones of the file first."""
        words = "SELECT rowid FROM lookup WHERE lookup MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [number for (number,) in self._rows(words, query, COMMON + 1)]

    def _rows(self, query: str, *values: object) -> list[tuple]:
        with self._lock:
            return self._database.execute(query, values).fetchall()


def open_memory(
    path: str | Path, source: str = "", target: str = "", *, name: str = "", say: Callable[[str], None] = lambda _: None
) -> TranslationMemory:
    """The memory of a file of pairs (`read_pairs`: TMX, TSV, XLIFF, PO and others) in the given languages.

    Its index is `FILE.en-de.index` beside the file, or a temporary file if that cannot be written. It is made again if
    the file has changed. `say` is told that an index is made, and of segments that cannot be read. Matches show `name`
    instead of the file's.

    Raises `UserError` as `read_pairs` does, naming file and line, and for a file without pairs.
    """
    path, (source, target) = Path(path), (normal_code(source), normal_code(target))
    read_pairs([path], source, target)  # raises for a missing file and an unknown format
    place = path.with_name(f"{path.name}.{source}-{target}.index")

    def build(partial: Path) -> None:
        before, bad = _state(path), list[BadLine]()
        say(f"{path}: its index is made, once")
        pairs = read_pairs([path], source, target, on_bad_line=lambda line: bad.extend([line] * (len(bad) < 3)))
        if not index_pairs(partial, pairs, file=before, source=source, target=target):
            reason = f" ({bad[0]})" if bad else ""
            raise UserError(f"{path}: no pairs in {source or '?'} and {target or '?'}{reason}")
        for line in bad:
            say(f"{line}; left out of the memory")

    try:
        with locked(path):  # several engines of a service begin at the same time
            about = _about(place)
            if about.get("format") != FORMAT or about.get("file") != _state(path):
                fill_file(place, build)
        return TranslationMemory([Index(place, name or str(path))])
    except OSError as error:
        say(f"{place}: cannot be written ({cause(error).lower()}): the index is temporary")
    folder = Path(tempfile.mkdtemp(prefix="limelight-memory-"))
    build(folder / place.name)
    memory = TranslationMemory([Index(folder / place.name, name or str(path))])
    weakref.finalize(memory.indexes[0], shutil.rmtree, folder, ignore_errors=True)
    return memory


def open_memories(
    path: str | Path, directions: Iterable[tuple[str, str]], say: Callable[[str], None]
) -> TranslationMemory:
    """The memory of a file in these directions, without those of which it has no pairs.

    Raises `UserError` as `open_memory` does, and for a file that does not name its languages with several directions.
    """
    wanted, indexes, errors = list(directions) or [("", "")], list[Index](), list[UserError]()
    if len(wanted) > 1 and not names_languages([path]):
        raise UserError(f"{path}: its languages are not in the file, and the model has several; use TMX")
    for source, target in wanted:
        try:
            indexes += open_memory(path, source, target, say=say).indexes
        except UserError as error:
            errors.append(error)
    if not indexes:
        raise errors[0]
    return TranslationMemory(indexes)


def _opened(index: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)


def _about(index: Path) -> dict[str, str]:
    """What an index says of itself; nothing if it is not one."""
    try:
        with closing(_opened(index)) as database:
            return dict(database.execute("SELECT name, value FROM about"))
    except sqlite3.Error:
        return {}


def _state(path: Path) -> str:
    """What changes when a file does."""
    state = path.stat()
    return f"{state.st_size} bytes, {state.st_mtime_ns} ns"


def index_pairs(index: Path, pairs: Iterable[Pair], *, file: str = "", source: str = "", target: str = "") -> int:
    """Write the index of a memory of these pairs; returns their number. `file` is the state of their file. Raises
    `OSError` if it cannot be written, as on a full disk."""
    index.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(index)) as database:
            database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
            total = _insert(database, pairs)
            about = {"format": FORMAT, "file": file, "source": source, "target": target, "segments": str(total)}
            database.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            database.execute("CREATE INDEX by_key ON segments (key)")
            database.commit()
    except sqlite3.OperationalError as error:
        raise OSError(errno.ENOSPC, str(error), str(index)) from error
    return total


def _insert(database: sqlite3.Connection, pairs: Iterable[Pair]) -> int:
    """Store pairs with text on both sides; returns their number."""
    number = 0
    for number, pair in enumerate((pair for pair in pairs if pair.source.strip() and pair.target.strip()), start=1):
        row = number, _key(normalized(pair.source)), pair.source, pair.target, pair.line
        database.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", row)
        database.execute("INSERT INTO lookup (rowid, words) VALUES (?, ?)", (number, " ".join(_tokens(pair.source))))
    return number


def _tokens(text: str) -> Iterator[str]:
    """What a segment is found by: its words and its pairs of adjacent words. Each is hashed to letters and digits,
    which the tokenizer of the database does not divide."""
    words = words_of(text.casefold())
    pairs = (f"{one} {other}" for one, other in pairwise(words))
    for each in dict.fromkeys((*words, *pairs)):
        yield blake2b(each.encode(), digest_size=6).hexdigest()


def _key(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()
