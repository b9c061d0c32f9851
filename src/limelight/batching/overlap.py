"""Pairs of a validation or test set that are also in the training text: scores on them say nothing about unseen
text."""

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
    """Result of `find_overlap`; case and white space are ignored."""

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


def find_overlap(stores: Iterable[TokenStore], pairs: Sequence[Pair]) -> Overlap:
    """Search tokenized corpora for pairs, in one pass at about 300,000 pairs per second.

    Memory: three 64-bit hashes for each of `pairs`, nothing for the corpora. With n pairs and a corpus of m pairs, the
    probability of a false match is n m / 2^64 per pair.
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
