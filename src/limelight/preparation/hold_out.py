"""Validation and test text held out from the training text, and pairs of these that are in it all the same.

Sources are selected by a hash of their text and the seed, so the selection depends neither on the order of the pairs
nor on the number of files, and a sentence that is a source in several directions is held out for the same purpose in
all. No text of a held-out pair remains in training, on either side of any corpus.
"""

import hashlib
import heapq
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from limelight.batching.store import TokenStore
from limelight.config import (
    UNNAMED,
    Corpus,
    DataConfig,
    Direction,
    RunConfig,
    has_tags,
    load_config,
    trained_directions,
)
from limelight.errors import UserError, shown
from limelight.files import whole_folder
from limelight.formats import read_pairs
from limelight.preparation.kept import Say
from limelight.storage.layout import CONFIG
from limelight.text.pair import Pair, fold

HELD_OUT = "held-out"
ROLES = ("valid", "test")
MAX_SHARE = 0.5
"""Maximum share of a text that may be held out."""
SPARE = 4
"""Factor of additional sources kept while the text is read: some share their target with another one."""

Reader = Callable[[Corpus], Iterator[Pair]]
_NOT_TSV = re.compile("[\t\n\r\0]")


def plan_hold_out(config: RunConfig, run: Path) -> RunConfig:
    """The configuration with the files in which `make_hold_out` will write the validation text. An existing run keeps
    its own.

    Held-out text of another run, whose configuration is used, is replaced. Raises `UserError` for a run that has other
    validation text, or no sentence pairs.
    """
    data = config.data
    if not data.hold_out:
        return config
    if config.learns != "pairs" or not _directions(data):
        raise UserError("--hold-out takes pairs of sentences out of --train; a run on other text cannot use it")
    planned = tuple(
        Corpus(files=(str(run / HELD_OUT / _name(data, "valid", direction)),), **direction._asdict())
        for direction in _directions(data)
    )
    if (run / CONFIG).exists() and (stored := load_config(run / CONFIG).data).hold_out:
        planned = stored.valid  # it may have been started in another directory
    if any(not Path(file).match(f"{HELD_OUT}/valid*.tsv") for corpus in data.valid for file in corpus.files):
        raise UserError(
            "--valid and --hold-out: held-out text is the validation text of a run; give one of the two options"
        )
    return config.model_copy(update={"data": data.model_copy(update={"valid": planned})})


def make_hold_out(config: RunConfig, run: Path, read: Reader, say: Say) -> None:
    """Write the held-out text of a run that has not begun. `read` returns the cleaned pairs of a corpus.

    Raises `UserError` if a direction has too few pairs.
    """
    data = config.data
    chosen = {}
    for direction in _directions(data):
        corpora = [corpus for corpus in data.train if corpus.direction == direction and not corpus.tag]
        pairs = (pair for corpus in corpora for pair in read(corpus))
        chosen[direction] = _choose(pairs, data.hold_out, config.training.seed, direction)
    with whole_folder(run / HELD_OUT) as partial:
        for direction, roles in chosen.items():
            for role, of_role in roles.items():
                write_tsv(partial / _name(data, role, direction), of_role)
    tests = [
        f"{direction}=" * has_tags(data) + str(run / HELD_OUT / _name(data, "test", direction)) for direction in chosen
    ]
    say(
        f"held out {data.hold_out:,} pairs for validation and {data.hold_out:,} for tests"
        f"{' of each direction' if len(chosen) > 1 else ''}: limelight evaluate --model {shlex.quote(str(run))} --test "
        f"{shlex.join(tests)}"
    )


def held_out_filter(data: DataConfig) -> Callable[[Pair], bool]:
    """Whether a side of a pair is one of the held-out texts of a run.

    Raises `UserError` if the files are missing.
    """
    if not data.hold_out:
        return lambda pair: False
    folder = Path(data.valid[0].files[0]).parent
    files = sorted(folder.glob("*.tsv"))
    if not files:
        raise UserError(f"{folder}: the held-out text of this run is gone; restore it, or begin another run")
    pairs = (pair for file in files for pair in read_pairs([file]))
    texts = {text_hash(text) for pair in pairs for text in (pair.source, pair.target)}
    return lambda pair: text_hash(pair.source) in texts or text_hash(pair.target) in texts


def _directions(data: DataConfig) -> list[Direction]:
    """The directions of the corpora of which text is held out, those without a tag; a corpus that is used in both
    directions counts once."""
    return list(dict.fromkeys(corpus.direction for corpus in data.train if not corpus.tag))


def _name(data: DataConfig, role: str, direction: Direction) -> str:
    """The name of a file of held-out text."""
    return f"{role}.{direction}.tsv" if len(trained_directions(data)) > 1 else f"{role}.tsv"


def first_by_hash(pairs: Iterable[Pair], limit: int = sys.maxsize, seed: str = "") -> list[Pair]:
    """The pairs with the smallest hashes of their sources in ascending order, the first one of each source; all by
    default. Pairs that a .tsv file cannot hold as they are are left out."""
    seen = set[int]()

    def hashed() -> Iterator[tuple[int, Pair]]:
        for pair in pairs:
            key = text_hash(pair.source, seed)
            if key not in seen and not _NOT_TSV.search(pair.source + pair.target):
                seen.add(key)
                yield key, pair

    return [pair for _, pair in heapq.nsmallest(limit, hashed(), key=itemgetter(0))]


def _choose(pairs: Iterable[Pair], count: int, seed: int, direction: Direction) -> dict[str, list[Pair]]:
    """For each role, the pairs with the smallest hashes of their sources, one per source and per target."""
    total, prefix = 0, f"{seed} "

    def counting() -> Iterator[Pair]:
        nonlocal total
        for pair in pairs:
            total += 1
            yield pair

    by_role: dict[str, list[Pair]] = {role: [] for role in ROLES}
    used: set[int] = set()
    for pair in first_by_hash(counting(), SPARE * len(ROLES) * count, prefix):
        of_role = by_role[ROLES[text_hash(pair.source, prefix) & 1]]
        texts = {*map(text_hash, (pair.source, pair.target))}
        if len(of_role) < count and not texts & used:
            of_role.append(pair)
            used |= texts
    available = min(*map(len, by_role.values()), int(MAX_SHARE * total / len(ROLES)))
    if available < count:
        named = "" if direction == UNNAMED else f" of {direction}"
        raise UserError(
            f"--hold-out {count}: the training text{named} has {total:,} pairs, of which at most {available:,} can be "
            "held out for validation and as many for tests; give a smaller number"
        )
    return {role: sorted(chosen, key=lambda pair: (pair.file, pair.line)) for role, chosen in by_role.items()}


def write_tsv(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs without tabs and line breaks."""
    path.write_bytes("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode("utf-8"))


def text_hash(text: str, seed: str = "") -> int:
    """A hash of a text that ignores case, white space and Unicode normalization."""
    content = f"{seed}{fold(text)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


EXAMPLES = 3


def find_overlap(sources: Iterable[str], pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs whose source is among the sources of the training text; case and white space are ignored.

    Memory: a hash of 64 bits for each of `pairs`, nothing for the training text.
    """
    keys = [hash(fold(pair.source)) for pair in pairs]
    common = set(keys).intersection(hash(fold(source)) for source in sources)
    return [pair for pair, key in zip(pairs, keys, strict=True) if key in common]


def overlap_warning(stores: Iterable[TokenStore], pairs: Sequence[Pair], role: str) -> str:
    """A warning in one line about pairs that are in tokenized training text, empty if there are none; `role` is
    `validation` or `test`."""
    sources = (pair.source for store in stores for group in store.groups() for pair in group)
    overlap = find_overlap(sources, pairs) if pairs else []
    if not overlap:
        return ""
    named = ", ".join(f"{pair.place} ({shown(pair.source, 60)!r})" for pair in overlap[:EXAMPLES])
    return (
        f"warning: the sources of {len(overlap):,} of {len(pairs):,} {role} pairs are in the training text too, so the "
        f"scores will look better than on unseen text; for example {named}"
    )
