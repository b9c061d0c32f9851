"""Which pieces become which: IBM Model 1, learned from parallel text.

Every target piece is taken to come from one of its sentence's source pieces, or from none of them (here: the source's
padding id), whichever place it stands in; t(target | source) is learned by expectation and maximisation (Brown et al.
1993, "The Mathematics of Statistical Machine Translation", section 4.1 and equation 17):

    expectation    the share of source piece e in target piece f of a pair: t(f | e) / sum of t(f | e') over all its e'
    maximisation   t(f | e) = the shares of e in f, over all pairs / the shares of e in all target pieces

The text becomes a table of all (source, target) that ever meet, and for each meeting the number of its entry. That is
four bytes for each meeting, and `MOST_MEETINGS` bounds them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.integer]

MOST_PAIRS = 200_000
"""More pairs say little more about which pieces become which; of a larger corpus so many are drawn evenly."""

MOST_MEETINGS = 64_000_000
"""Of a source piece with a target piece: a quarter of a gigabyte, and half a minute."""

BLOCK = 4_000_000
"""Meetings that are worked on at a time."""


class Pieces(NamedTuple):
    """The ids of a pair, without the end."""

    source: Ids
    target: Ids


class Lexicon(NamedTuple):
    """t(target | source) for all that ever met, in the order of the sources and then the targets."""

    sources: Ids
    targets: Ids
    probabilities: npt.NDArray[np.float64]


class _Block(NamedTuple):
    """The meetings of some pairs, a target position after the other."""

    entries: Ids
    """For each meeting its entry in the table."""
    widths: Ids
    """How many meetings each target position has: one with each source piece, and one with none."""


def evenly(count: int, most: int) -> Ids:
    """At most `most` of the numbers below `count`, evenly spread."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def learn_lexicon(pairs: Sequence[Pieces], *, nothing: int, classes: int, iterations: int = 5) -> Lexicon:
    """Model 1 of these pairs.

    Args:
        nothing: a source id that no source has: it stands for no piece at all.
        classes: all target ids are below it.
        iterations: of expectation and maximisation; they begin with all probabilities equal.
    """
    pairs = [pair for pair in pairs if 0 < _meetings(pair) <= BLOCK]
    share = MOST_MEETINGS / max(sum(map(_meetings, pairs)), MOST_MEETINGS)
    chosen = evenly(len(pairs), int(share * len(pairs)))
    keys, blocks = _table([pairs[row] for row in chosen], nothing, classes)
    sources = keys // classes
    probabilities = np.ones(len(keys))
    for _ in range(iterations):
        shares = np.zeros(len(keys))
        for block in blocks:
            shares += _shares(block, probabilities)
        probabilities = shares / np.bincount(sources, shares)[sources]
    return Lexicon(sources, keys % classes, probabilities)


def most_likely(lexicon: Lexicon, *, sources: int, count: int, fill: int) -> Ids:
    """(sources, count) the most probable targets of each source, most probable first, of equal ones the lower id.

    Where there are fewer than `count`, `fill` stands.
    """
    source, target, probability = (part[lexicon.sources < sources] for part in lexicon)
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    chosen = np.full((sources, count), fill, dtype=np.int32)
    best = rank < count
    chosen[source[best], rank[best]] = target[best]
    return chosen


def most_frequent(pairs: Sequence[Pieces], *, classes: int, count: int) -> Ids:
    """The most frequent target ids, most frequent first, of equal ones the lower id."""
    counts = np.zeros(classes, dtype=np.int64)
    for first in range(0, len(pairs), 1000):
        counts += np.bincount(np.concatenate([pair.target for pair in pairs[first : first + 1000]]), minlength=classes)
    order = np.argsort(-counts, kind="stable")[:count]
    return order[counts[order] > 0].astype(np.int32)


def _meetings(pair: Pieces) -> int:
    return (len(pair.source) + 1) * len(pair.target)


def _table(pairs: Sequence[Pieces], nothing: int, classes: int) -> tuple[Ids, list[_Block]]:
    """All (source, target) that meet, as `source * classes + target`, and the meetings."""
    found, inverses, widths = [], [], []
    for some in _in_blocks(pairs):
        keys = []
        for pair in some:
            sources = np.append(pair.source.astype(np.int64), nothing)
            keys.append((pair.target.astype(np.int64)[:, None] + sources * classes).ravel())
        unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        found.append(unique)
        inverses.append(inverse.astype(np.int32))
        widths.append(np.repeat([len(pair.source) + 1 for pair in some], [len(pair.target) for pair in some]))
    table = np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
    places = [np.searchsorted(table, unique).astype(np.int32) for unique in found]
    parts = zip(places, inverses, widths, strict=True)
    return table, [_Block(place[inverse], width) for place, inverse, width in parts]


def _in_blocks(pairs: Sequence[Pieces]) -> Iterator[list[Pieces]]:
    block: list[Pieces] = []
    meetings = 0
    for pair in pairs:
        block.append(pair)
        meetings += _meetings(pair)
        if meetings >= BLOCK:
            yield block
            block, meetings = [], 0
    if block:
        yield block


def _shares(block: _Block, probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each entry of the table, the shares of its source in its target over the meetings of a block."""
    each = probabilities[block.entries]
    starts = np.cumsum(block.widths) - block.widths
    each /= np.repeat(np.add.reduceat(each, starts), block.widths)
    return np.asarray(np.bincount(block.entries, each, minlength=len(probabilities)), dtype=np.float64)
