"""Text of a run that must be kept or excluded from training: copies of validation pairs, so that a run can be resumed
after its files were moved, and validation and test text held out from the training text.

Sources are selected by a hash of their text and the seed, so the selection depends neither on the order of the pairs
nor on the number of files, and a sentence that is a source in several directions is held out for the same purpose in
all. No text of a held-out pair remains in training, on either side of any corpus.
"""

import hashlib
import heapq
import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from limelight.batching.ragged import Ragged
from limelight.batching.store import DESCRIPTION, TokenStore, described
from limelight.config import Corpus, DataConfig, Direction, RunConfig, direction_of, load_config, trained_directions
from limelight.errors import RunError, UserError, shown
from limelight.files import write_folder, write_whole
from limelight.formats import read_pairs
from limelight.storage.layout import CONFIG, TOKENIZER
from limelight.text.marking import without_marks
from limelight.text.pair import Pair

HELD_OUT = "held-out"
MADE_FROM = "made-from.json"
ROLES = ("valid", "test")
MAX_SHARE = 0.5
"""Maximum share of a text that may be held out."""
SPARE = 2
"""Factor of additional sources kept while the text is read: some share their target with another one."""

Say = Callable[[str], None]
Chosen = dict[Direction, dict[str, list[Pair]]]
Reader = Callable[[Corpus], Iterator[Pair]]


def plan_hold_out(config: RunConfig, run: Path) -> RunConfig:
    """The configuration with the files in which `make_hold_out` will write the validation text. An existing run keeps
    its own.

    Raises `UserError` for a run that has other validation text, or no sentence pairs.
    """
    data = config.data
    if not data.hold_out:
        return config
    if config.learns != "pairs" or not data.train:
        raise UserError("--hold-out takes pairs of sentences out of --train; a run on other text cannot use it")
    there = load_config(run / CONFIG) if (run / CONFIG).exists() else None
    planned = tuple(
        Corpus(files=(str(path),), source=direction.source, target=direction.target)
        for direction, path in _paths(data, run, "valid").items()
    )
    if there and there.data.hold_out == data.hold_out and data.valid in ((), planned, there.data.valid):
        planned = there.data.valid  # the run may have been started in another directory
    if data.valid not in ((), planned):
        raise UserError(
            "--valid and --hold-out: held-out text is the validation text of a run; give one of the two options"
        )
    return config.model_copy(update={"data": data.model_copy(update={"valid": planned})})


def make_hold_out(config: RunConfig, run: Path, read: Reader, say: Say) -> None:
    """Write the held-out text, unless an equal start has done so. `read` returns the cleaned pairs of a corpus.

    Raises `UserError` if a direction has too few pairs.
    """
    data, folder = config.data, run / HELD_OUT
    if not data.hold_out or (run / CONFIG).exists():
        return
    made_from = _made_from(config)
    path = folder / MADE_FROM
    if path.exists() and path.read_text(encoding="utf-8") == made_from:
        return
    chosen = {}
    for direction in _directions(data):
        corpora = [corpus for corpus in data.train if direction_of(corpus) == direction and not corpus.tag]
        pairs = (pair for corpus in corpora for pair in read(corpus))
        chosen[direction] = _choose(pairs, data.hold_out, config.training.seed, direction)

    def fill(partial: Path) -> None:
        for direction, roles in chosen.items():
            for role, pairs in roles.items():
                write_tsv(partial / _paths(data, run, role)[direction].name, pairs)
        (partial / MADE_FROM).write_text(made_from, encoding="utf-8")

    write_folder(folder, fill)
    tests = " ".join(
        f"{direction}={path}" if len(chosen) > 1 else str(path) for direction, path in _paths(data, run, "test").items()
    )
    say(
        f"held out {data.hold_out:,} pairs for validation and {data.hold_out:,} for tests"
        f"{' of each direction' if len(chosen) > 1 else ''}: limelight evaluate --model {run} --test {tests}"
    )


def held_out_texts(data: DataConfig) -> frozenset[int]:
    """The hashes of all held-out texts of a run, for `is_held_out`; empty if there are none.

    Raises `UserError` if the files are missing.
    """
    if not data.hold_out:
        return frozenset()
    folder = Path(data.valid[0].files[0]).parent
    files = sorted(folder.glob("*.tsv"))
    if not files:
        raise UserError(f"{folder}: the held-out text of this run is gone; restore it, or begin another run")
    return frozenset(
        text_hash(text) for file in files for pair in read_pairs([file]) for text in (pair.source, pair.target)
    )


def held_out_sums(data: DataConfig) -> list[str]:
    """A hash of the held-out text, on which the training text depends."""
    if not data.hold_out:
        return []
    return [hashlib.sha256(json.dumps(sorted(held_out_texts(data))).encode()).hexdigest()]


def is_held_out(pair: Pair, texts: frozenset[int]) -> bool:
    """Whether a side of a pair is one of the held-out texts."""
    return bool(texts) and (text_hash(pair.source) in texts or text_hash(pair.target) in texts)


def _directions(data: DataConfig) -> list[Direction]:
    """The directions of the corpora; a corpus that is used in both directions counts once."""
    return list(dict.fromkeys(direction_of(corpus) for corpus in data.train if not corpus.tag))


def _paths(data: DataConfig, run: Path, role: str) -> dict[Direction, Path]:
    directions = _directions(data)
    several = len(trained_directions(data)) > 1
    return {each: run / HELD_OUT / (f"{role}.{each}.tsv" if several else f"{role}.tsv") for each in directions}


def _made_from(config: RunConfig) -> str:
    """The files and settings on which the selection depends."""
    files = [(name, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for each in config.data.train
             if each.tag != "replay" for name in each.files]  # fmt: skip
    data = config.data.model_dump(
        mode="json", exclude={"valid", "inherited", "temperature", "on_doubt", "replay", "general"}
    )
    return json.dumps({"files": files, "data": data, "seed": config.training.seed})


def _choose(pairs: Iterable[Pair], count: int, seed: int, direction: Direction) -> dict[str, list[Pair]]:
    """For each role, the pairs with the smallest hashes of their sources, one per source, in bounded memory."""
    heaps: dict[str, list[tuple[int, int, Pair]]] = {role: [] for role in ROLES}
    kept: set[int] = set()
    total = 0
    for total, pair in enumerate(pairs, start=1):
        if not fits_tsv(pair):
            continue
        place = text_hash(pair.source, f"{seed} ")
        heap = heaps[ROLES[place & 1]]
        if place in kept or (len(heap) == SPARE * count and place > -heap[0][0]):
            continue
        kept.add(place)
        item = (-place, -total, Pair(pair.source, pair.target, pair.file, pair.line))
        if len(heap) < SPARE * count:
            heapq.heappush(heap, item)
        else:
            kept.discard(-heapq.heappushpop(heap, item)[0])
    found: dict[str, list[Pair]] = {role: [] for role in ROLES}
    used: dict[int, str] = {}
    for place, _, pair in sorted((item for heap in heaps.values() for item in heap), reverse=True):
        role = ROLES[-place & 1]
        texts = {text_hash(pair.source), text_hash(pair.target)}
        if len(found[role]) < count and not texts & used.keys():
            found[role].append(pair)
            used |= dict.fromkeys(texts, role)
    least = min(map(len, found.values()))
    if least < count or len(ROLES) * count > MAX_SHARE * total:
        most = min(least, int(MAX_SHARE * total / len(ROLES)))
        named = "" if direction == Direction("source", "target") else f" of {direction}"
        raise UserError(
            f"--hold-out {count}: the training text{named} has {total:,} pairs, of which at most {most:,} can be held "
            "out for validation and as many for tests; give a smaller number"
        )
    return {role: sorted(some, key=lambda pair: (pair.file, pair.line)) for role, some in found.items()}


def fits_tsv(pair: Pair) -> bool:
    """Whether a pair can be a line of a .tsv file as it is."""
    return not any(sign in text for text in (pair.source, pair.target) for sign in "\t\n\r\0")


def write_tsv(path: Path, pairs: Iterable[Pair]) -> None:
    """Write such pairs."""
    path.write_bytes("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode("utf-8"))


def text_hash(text: str, seed: str = "") -> int:
    """A hash of a text that ignores case, white space and Unicode normalization."""
    content = f"{seed}{fold(text)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


DATA = "data"
_VERSION = 1


def is_resumed(run: Path) -> bool:
    """Whether the folder contains a run with configuration and vocabulary. Before that, its content may come from a
    start with other settings."""
    return (run / CONFIG).exists() and (run / TOKENIZER).exists()


def keeps(run: Path, name: str) -> bool:
    """Whether the folder contains the text of this name, for example `train-0` or `valid-0`."""
    return (run / DATA / name / DESCRIPTION).exists() or _pairs_file(run, name).exists()


def places_of(files: Sequence[str]) -> list[str]:
    """The absolute paths of the files, which do not depend on the working directory."""
    return [os.path.abspath(file) for file in files]


def files_elsewhere(files: Sequence[str], places: Sequence[str]) -> str:
    """A message about the first file that is missing or has another absolute path than before; empty if all are in
    their `places` (unknown for stores of older versions)."""
    for number, file in enumerate(files):
        if not Path(file).exists():
            return f"{file} is gone; going on with the text that the run has kept of it"
        if places and places[number] != os.path.abspath(file):
            return (
                f"{file} is here another file than {places[number]}, which this run began with; going on with the "
                "text of that file"
            )
    return ""


def store_elsewhere(run: Path, name: str, files: Sequence[str]) -> str:
    """`files_elsewhere` for a store of a resumed run; empty if the run is new or has no such store."""
    if not (is_resumed(run) and (run / DATA / name / DESCRIPTION).exists()):
        return ""
    return files_elsewhere(files, described(run / DATA / name).get("files", []))


def keep_pairs(run: Path, name: str, pairs: Sequence[Pair], *, files: Sequence[str], fingerprint: str) -> None:
    """Write validation pairs with their positions, and the files they come from."""
    rows = [[pair.source, pair.target, pair.file, pair.line] for pair in pairs]
    content = {"version": _VERSION, "fingerprint": fingerprint, "files": places_of(files), "pairs": rows}
    path = _pairs_file(run, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(content))


def kept_pairs(run: Path, name: str) -> tuple[list[Pair], list[str], str]:
    """The pairs, the absolute paths of their files, and the fingerprint, as stored by `keep_pairs`.

    Raises `RunError` if the file is damaged.
    """
    path = _pairs_file(run, name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}")
        pairs = [
            Pair(str(source), str(target), str(file), int(line)) for source, target, file, line in content["pairs"]
        ]
        return pairs, list(map(str, content["files"])), str(content["fingerprint"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path}: not validation pairs of a run ({error}); delete it; it is created again") from None


def _pairs_file(run: Path, name: str) -> Path:
    return run / DATA / f"{name}.json"


EXAMPLES = 3
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Overlap:
    """Result of `OverlapSearch`; case and white space are ignored."""

    total: int
    """Number of pairs that were searched for."""
    pairs: int
    """Pairs found with both sides."""
    sources: int
    """Pairs of which only the source was found, with another target."""
    examples: tuple[Pair, ...]
    """Some pairs found with both sides or, if there are none, with only the source."""

    def warning(self, role: str) -> str:
        """A warning in one line, empty if nothing was found; `role` is `validation` or `test`."""
        if not self.examples:
            return ""
        overlap = f"{self.pairs:,} of {self.total:,} {role} pairs are in the training text too"
        if not self.pairs:
            overlap = f"the sources of {self.sources:,} of {self.total:,} {role} pairs are in the training text too"
        elif self.sources:
            overlap += f", and so are the sources of {self.sources:,} more"
        named = ", ".join(f"{pair.place} ({shown(pair.source, 60)!r})" for pair in self.examples)
        return f"warning: {overlap}, so the scores will look better than on unseen text; for example {named}"


class OverlapSearch:
    """Searches training text for pairs.

    Memory: three 64-bit hashes for each of `pairs`, nothing for the training text. With n pairs and m pairs of training
    text, the probability of a false match is n m / 2^64 per pair.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._keys = [(hash(fold(pair.source)), hash(fold(pair.target))) for pair in pairs]
        self._sources, self._both = {source for source, _ in self._keys}, set(self._keys)
        self._found_sources, self._found = set[int](), set[tuple[int, int]]()

    def look(self, source: str, target: str) -> None:
        """Look at a pair of the training text."""
        hashed = hash(fold(source)) if self._sources else 0
        if hashed in self._sources:
            self._found_sources.add(hashed)
            self._found.update({(hashed, hash(fold(target)))} & self._both)

    def result(self) -> Overlap:
        """The pairs that were found so far."""
        whole, halves = list[Pair](), list[Pair]()
        for pair, key in zip(self._pairs, self._keys, strict=True):
            if key in self._found:
                whole.append(pair)
            elif key[0] in self._found_sources:
                halves.append(pair)
        return Overlap(len(self._pairs), len(whole), len(halves), tuple((whole or halves)[:EXAMPLES]))


def find_overlap(stores: Iterable[TokenStore], pairs: Sequence[Pair]) -> Overlap:
    """Search tokenized corpora for pairs, in one pass at about 300,000 pairs per second."""
    search = OverlapSearch(pairs)
    for store in stores:
        clean = without_marks if len(store.marked) else str
        for source, target in zip(_texts(store.source_texts, clean), _texts(store.target_texts, clean), strict=True):
            search.look(source, target)
    return search.result()


def fold(text: str) -> str:
    """Normalize a text so that differences in case, white space and Unicode normalization vanish."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _texts(rows: Ragged, change: Callable[[str], str]) -> Iterator[str]:
    """All rows after `change`, read in parts: slicing a memory-mapped file for each row would dominate the time."""
    for first in range(0, len(rows), _ROWS):
        offsets = rows.offsets[first : first + _ROWS + 1].tolist()
        begin = offsets[0]
        part = rows.values[begin : offsets[-1]].tobytes()
        for left, right in pairwise(offsets):
            yield change(part[left - begin : right - begin].decode("utf-8", "replace"))
