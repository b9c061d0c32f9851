"""Leave out pairs that teach nothing or teach wrongly, and say which and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from limelight.text.marks import without_marks
from limelight.text.pair import Pair

_SHORT = 20
"""Characters below which a length ratio says nothing: "no" and "auf keinen Fall" translate each other."""

REASONS = {
    "empty": "one side is empty",
    "too_long": "a side is too long",
    "length_ratio": "the sides differ too much in length",
    "identical": "both sides are the same text",
    "duplicate": "the pair was seen before",
}
"""Why a pair is left out, in the order in which the reasons are tried."""


@dataclass
class CleanReport:
    """What `clean` did, counted while it runs."""

    total: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    """Pairs left out, for each of `REASONS`; every pair counts once, for the first reason that holds."""
    first_place: dict[str, str] = field(default_factory=dict)
    """Where the first pair of each reason stands, as `file:line`; reasons that never held are missing."""

    def summary(self) -> str:
        """A line of counts, and a line for each reason that held with an example to look at."""
        lines = [f"{self.kept:,} of {self.total:,} pairs kept"]
        for reason, words in REASONS.items():
            if self.dropped[reason]:
                lines.append(f"  left out {self.dropped[reason]:,}: {words} (first: {self.first_place[reason]})")
        return "\n".join(lines)


def clean(
    pairs: Iterable[Pair],
    report: CleanReport,
    *,
    max_characters: int,
    max_length_ratio: float,
    drop_duplicates: bool,
    drop_identical: bool,
) -> Iterator[Pair]:
    """The pairs worth training on, in their order; `report` counts along.

    Args:
        max_characters: of the longer side.
        max_length_ratio: of the characters of the longer side to those of the shorter; not asked where both sides are
            under 20 characters.
        drop_duplicates: keep only the first of equal pairs. Remembers 8 bytes of hash for each pair (about 70 bytes of
            memory, whatever the length of the text), so among n pairs some different ones are taken for equal with a
            chance of about n^2 / 2^65: 3 in 100,000,000 for a million pairs, and the cost is one pair.
        drop_identical: leave out pairs whose sides are the same text.
    """
    seen: set[int] = set()
    for pair in pairs:
        report.total += 1
        source, target = _words(pair)
        shorter, longer = sorted((len(source), len(target)))
        reason = None
        if not shorter:
            reason = "empty"
        elif longer > max_characters:
            reason = "too_long"
        elif differ_in_length(source, target, max_length_ratio):
            reason = "length_ratio"
        elif drop_identical and source == target:
            reason = "identical"
        elif drop_duplicates and _seen_before(pair.source.strip(), pair.target.strip(), seen):
            reason = "duplicate"
        if reason is None:
            report.kept += 1
            yield pair
        else:
            report.dropped[reason] += 1
            report.first_place.setdefault(reason, pair.place)


def _words(pair: Pair) -> tuple[str, str]:
    """Both sides without marks, and without white space around them."""
    sides = (pair.source, pair.target)
    source, target = (without_marks(side) for side in sides) if pair.marked else sides
    return source.strip(), target.strip()


def differ_in_length(source: str, target: str, max_length_ratio: float) -> bool:
    """Whether the longer text has more than `max_length_ratio` times the characters of the shorter one, and at least
    20."""
    shorter, longer = sorted((len(source), len(target)))
    return longer >= _SHORT and longer > max_length_ratio * shorter


def _seen_before(source: str, target: str, seen: set[int]) -> bool:
    # NUL cannot stand in either side, so no two pairs share the joined text. surrogatepass: any string has a hash.
    digest = blake2b(f"{source}\0{target}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    key = int.from_bytes(digest, "little")
    before = key in seen
    seen.add(key)
    return before
