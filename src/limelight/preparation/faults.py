"""Faults of single pairs, and of stretches of pairs, that `limelight clean` removes and `limelight doctor` reports.

Training only warns of them: a few do little harm, and most of a file being wrong stops it (`sides.py`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from limelight.config import Corpus, DataConfig, known_languages
from limelight.preparation.sides import Finding, check_sides, draw_sample
from limelight.text.clean import CleanReport, clean
from limelight.text.damage import encoding_damage
from limelight.text.languages import foreign_language, language_margin
from limelight.text.pair import BadLine, Pair
from limelight.text.readers import read_pairs

MIN_SWAPPED = 3
MIN_COPIED = 3
WINDOW = 100_000
"""Pairs whose stretches are checked together: they bound the memory."""


class Stretches(NamedTuple):
    """What is wrong with stretches of a text."""

    reasons: dict[int, str]
    """For each pair of a wrong stretch, by its number from 0: one of the `REASONS` of `text/clean.py`."""
    findings: list[Finding]
    measured: list[str]
    """How well the sides belong together, for display."""
    languages: tuple[str, str]
    """Declared or detected; empty if unknown."""
    total: int
    """Pairs that were read."""


def find_stretches(pairs: Iterable[Pair], name: str, source: str, target: str) -> Stretches:
    """Check all of a text, `WINDOW` pairs at a time."""
    found = Stretches({}, [], [], (source, target), 0)
    stream = iter(pairs)
    while some := list(islice(stream, WINDOW)):
        check = check_sides(draw_sample(some, most=WINDOW), name, *found.languages)
        for each in check.findings:
            rows = range(found.total + each.rows.first, found.total + each.rows.end)
            found.reasons.update(dict.fromkeys(rows, each.kind))
        found.findings.extend(check.findings)
        found.measured.extend(filter(None, [check.measured]))
        languages = tuple(old or new for old, new in zip(found.languages, check.languages, strict=True))
        found = found._replace(languages=(languages[0], languages[1]), total=found.total + len(some))
    return found


def stretches_of(corpus: Corpus, on_bad_line: Callable[[BadLine], None]) -> Stretches:
    """What is wrong with stretches of a corpus; lines that cannot be read, and segments that are not used, go to
    `on_bad_line`."""
    languages = known_languages(corpus)
    pairs = read_pairs(corpus.files, *languages, on_bad_line=on_bad_line, on_unused=on_bad_line)
    return find_stretches(pairs, " + ".join(corpus.files), *languages)


def usable_pairs(
    checked: Sequence[tuple[Corpus, Stretches]], report: CleanReport, keep: Collection[str] = ()
) -> Iterator[Pair]:
    """The pairs of all corpora that are worth training on, by the settings of training; inline codes are marks.

    `keep` are reasons for which nothing is removed.
    """
    settings, faults = DataConfig(), Faults(keep)
    for corpus, stretches in checked:
        pairs = read_pairs(corpus.files, *known_languages(corpus), marks=True, on_bad_line=lambda line: None)
        yield from clean(
            faults.numbered(pairs, stretches),
            report,
            max_characters=sys.maxsize if "too_long" in keep else settings.max_characters,
            max_length_ratio=math.inf if "length_ratio" in keep else settings.max_length_ratio,
            drop_duplicates="duplicate" not in keep,
            drop_identical="identical" not in keep,
            fault=faults.fault,
        )


class Faults:
    """Finds the fault of each pair of texts, in their order; `fault` is that of `clean`.

    A pair is known by its number, so what `clean` reads must come from `numbered`.
    """

    def __init__(self, keep: Iterable[str] = ()) -> None:
        """`keep` are the reasons for which nothing is removed."""
        self._keep = frozenset(keep)
        self._stretches = Stretches({}, [], [], ("", ""), 0)
        self._number = -1
        self._seen: set[int] = set()

    def numbered(self, pairs: Iterable[Pair], stretches: Stretches) -> Iterator[Pair]:
        """The pairs of a text, counted as they pass."""
        self._stretches = stretches
        for self._number, pair in enumerate(pairs):
            yield pair

    def fault(self, pair: Pair) -> str:
        """One of `REASONS` of `text/clean.py`; empty for a good pair."""
        return next((reason for reason, holds in self._tests(pair) if reason not in self._keep and holds()), "")

    def _tests(self, pair: Pair) -> list[tuple[str, Callable[[], bool]]]:
        stretch = self._stretches.reasons.get(self._number, "")
        languages = self._stretches.languages
        sides = pair.source, pair.target
        foreign = [foreign_language(text, code) if code else "" for text, code in zip(sides, languages, strict=True)]
        tests: list[tuple[str, Callable[[], bool]]] = [
            ("identical", lambda: _is_copy(pair.source, pair.target)),
            ("encoding", lambda: bool(encoding_damage(pair.source) or encoding_damage(pair.target))),
            ("swapped", lambda: _is_swapped(sides, languages)),
            ("language", lambda: any(foreign)),
        ]
        if stretch:
            tests.append((stretch, lambda: True))
        return [*tests, ("near_duplicate", lambda: self._seen_before(pair))]

    def _seen_before(self, pair: Pair) -> bool:
        sides = ("".join(filter(str.isalnum, text.casefold())) for text in (pair.source, pair.target))
        digest = blake2b("\0".join(sides).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        key = int.from_bytes(digest, "little")
        before = key in self._seen
        self._seen.add(key)
        return before


def _is_copy(source: str, target: str) -> bool:
    """Whether a text of some words is its own translation, apart from case and spaces."""
    words = source.casefold().split()
    return len(words) >= MIN_COPIED and words == target.casefold().split() and any(map(str.isalpha, source))


def _is_swapped(sides: tuple[str, str], languages: tuple[str, str]) -> bool:
    """Whether both sides are more like the language of the other one, by at least `MIN_SWAPPED` words or letters."""
    if not all(languages):
        return False
    source, target = languages
    margins = language_margin(sides[0], target, source), language_margin(sides[1], source, target)
    return min(margins) > 0 and sum(margins) >= MIN_SWAPPED
