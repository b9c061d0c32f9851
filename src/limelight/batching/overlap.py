"""Which pairs of a validation or test set are in the training text too: on those a measure says nothing about text that
the model has not seen."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from limelight.batching.store import Ragged, TokenStore
from limelight.errors import shown
from limelight.text.marks import without_marks
from limelight.text.pair import Pair

EXAMPLES = 3
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Overlap:
    """What `find_overlap` counted; case and white space make no difference."""

    total: int
    """Pairs that were looked for."""
    pairs: int
    """Those found with both sides."""
    sources: int
    """Those of which only the source was found, with another target."""
    examples: tuple[Pair, ...]
    """Some of the first kind or, where there are none, of the second."""

    def warning(self, role: str) -> str:
        """One line for people, empty where nothing was found; `role` is `validation` or `test`."""
        if not self.examples:
            return ""
        found = f"{self.pairs:,} of {self.total:,} {role} pairs are in the training text too"
        if not self.pairs:
            found = f"the sources of {self.sources:,} of {self.total:,} {role} pairs are in the training text too"
        elif self.sources:
            found += f", and so are the sources of {self.sources:,} more"
        named = ", ".join(f"{pair.place} ({shown(pair.source, 60)!r})" for pair in self.examples)
        return f"warning: {found}, so the scores will look better than on unseen text; for example {named}"


def find_overlap(stores: Iterable[TokenStore], pairs: Sequence[Pair]) -> Overlap:
    """Look for pairs in tokenized corpora, which are read once, at some 300,000 pairs a second.

    Memory: three hashes of 64 bits for each of the `pairs`, nothing for the corpora. With n pairs looked for in m, a
    pair is reported by mistake with a chance of n m / 2^64.
    """
    looked_for = [(hash(fold(pair.source)), hash(fold(pair.target))) for pair in pairs]
    sources, both = {source for source, _ in looked_for}, set(looked_for)
    found_sources: set[int] = set()
    found: set[tuple[int, int]] = set()
    for store in stores:
        clean = without_marks if len(store.marked) else str
        for source, target in zip(_texts(store.source_texts, clean), _texts(store.target_texts, clean), strict=True):
            hashed = hash(fold(source))
            if hashed in sources:
                found_sources.add(hashed)
                key = hashed, hash(fold(target))
                if key in both:
                    found.add(key)
    whole = [pair for pair, key in zip(pairs, looked_for, strict=True) if key in found]
    halves = [pair for pair, key in zip(pairs, looked_for, strict=True) if key not in found and key[0] in found_sources]
    return Overlap(len(pairs), len(whole), len(halves), tuple((whole or halves)[:EXAMPLES]))


def fold(text: str) -> str:
    """Texts that differ in case, white space or Unicode normalization alone become the same."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _texts(rows: Ragged, change: Callable[[str], str]) -> Iterator[str]:
    """All rows, changed so, read in parts: a slice of a memory-mapped file for each row takes longer than all else."""
    for first in range(0, len(rows), _ROWS):
        offsets = rows.offsets[first : first + _ROWS + 1].tolist()
        begin = offsets[0]
        part = rows.values[begin : offsets[-1]].tobytes()
        for left, right in pairwise(offsets):
            yield change(part[left - begin : right - begin].decode("utf-8", "replace"))
