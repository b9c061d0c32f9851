"""Lexical translation probabilities: IBM Model 1, learned from parallel text.

Every target token is assumed to come from one of its sentence's source tokens, or from none (here: the source's padding
id), independent of positions; t(target | source) is learned by expectation maximization (Brown et al. 1993, "The
Mathematics of Statistical Machine Translation", section 4.1 and equation 17):

   expectation    the share of source token e in target token f of a pair: t(f | e) / sum of t(f | e') over all its e'
   maximization   t(f | e) = the shares of e in f, over all pairs / the shares of e in all target tokens

With a preference for the diagonal, t is multiplied by the probability that the target at position j of n comes from the
source at position i of m, as in fast_align (Dyer et al. 2013, "A Simple, Fast, and Effective Reparameterization of IBM
Model 2", section 2): p0 for none of them, else (1 - p0) exp(-lambda |i/m - j/n|), normalized over i.

The text becomes a table of all (source, target) that co-occur, and the index of its entry for each co-occurrence. That
takes four bytes per co-occurrence, or eight with a preference for the diagonal, bounded by `MAX_COOCCURRENCES`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from limelight.formats.lines import chunks

Ids = npt.NDArray[np.integer]
Numbers = npt.NDArray[np.float64]
Item = TypeVar("Item")

MAX_PAIRS = 200_000
"""Maximum number of pairs, evenly spread over a larger corpus; more change the probabilities little."""

MAX_COOCCURRENCES = 64_000_000
"""Maximum number of co-occurrences of source and target tokens: a quarter of a gigabyte, and half a minute."""

BLOCK = 4_000_000
"""Number of co-occurrences that are processed at once."""


NO_SOURCE = 0.08
"""p0 of fast_align."""


class Pieces(NamedTuple):
    """The ids of a pair, without the end token."""

    source: Ids
    target: Ids


def word_ids(texts: Iterable[Iterable[str]], ids: dict[str, int]) -> list[Ids]:
    """The words of each text as ids, without repetitions and ascending. `ids` has the id of each word so far; new words
    are added in order of appearance."""
    rows = [sorted({ids.setdefault(word, len(ids)) for word in words}) for words in texts]
    return [np.array(row, dtype=np.int64) for row in rows]


class Lexicon(NamedTuple):
    """t(target | source) for all co-occurring tokens."""

    keys: Ids
    """`source * classes + target`, in ascending order."""
    probabilities: Numbers
    counts: Ids
    """The number of co-occurrences."""
    nothing: int
    """The source id of no source token."""
    classes: int
    """Upper bound of all target ids, exclusive."""

    def of(self, keys: Ids) -> Numbers:
        """The probabilities of keys; 0 for tokens that do not co-occur."""
        if not len(self.keys):
            return np.zeros(len(keys))
        entries = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[entries] == keys, self.probabilities[entries], 0.0)

    def best_sources(self, pairs: Iterable[Pieces], diagonal: float) -> Iterator[list[int]]:
        """For each target token of each pair the position of its most probable source token, -1 for none."""
        for block in chunks(pairs, BLOCK, _meetings):
            keys, widths, preferences = meet(block, self.nothing, self.classes, diagonal)
            unique, inverse = np.unique(keys, return_inverse=True)
            scores = self.of(unique)[inverse] * preferences
            ends = np.cumsum(widths)
            begins = ends - widths
            highest = np.maximum.reduceat(scores, begins) if len(begins) else np.zeros(0)
            hits = np.flatnonzero(scores == np.repeat(highest, widths))
            best = hits[np.searchsorted(hits, begins)] - begins  # the first hit of each
            best[(best == widths - 1) | (highest <= 0)] = -1
            remaining = iter(best.tolist())
            for row in block:
                yield list(islice(remaining, len(row.target)))


class Meetings(NamedTuple):
    """All co-occurrences in some pairs, one target position after another: each source position, and none at the
    end."""

    keys: Ids
    """`source * classes + target` of each."""
    widths: Ids
    """Number of co-occurrences of each target position."""
    preferences: npt.NDArray[np.float32] | float
    """Probability of each source position for its target position; 1 if all are equal."""


def evenly(items: Sequence[Item], limit: int) -> list[Item]:
    """At most `limit` of these items, evenly spread."""
    count = len(items)
    return [items[row] for row in np.linspace(0, count - 1, min(count, limit)).astype(np.int64)]


def spread(items: Iterable[Item], limit: int) -> list[Item]:
    """At most `limit` items, and at least half as many if there are so many, evenly from a stream of unknown length, in
    bounded memory: whenever there are too many, every other one is dropped."""
    kept: list[Item] = []
    step = 1
    for number, item in enumerate(items):
        if number % step == 0:
            kept.append(item)
            if len(kept) > limit:
                kept, step = kept[::2], 2 * step
    return kept


def learn_lexicon(
    pairs: Sequence[Pieces], *, nothing: int, classes: int, iterations: int = 5, diagonal: float = 0.0
) -> Lexicon:
    """Fit Model 1 to these pairs.

    Args:
        nothing: a source id that does not occur; it stands for no source token.
        classes: upper bound of all target ids, exclusive.
        iterations: number of EM iterations, from uniform probabilities.
        diagonal: lambda, the preference for words at similar relative positions; 0 for plain Model 1.
    """
    pairs = [pair for pair in pairs if 0 < _meetings(pair) <= BLOCK]
    share = MAX_COOCCURRENCES / max(sum(map(_meetings, pairs)), MAX_COOCCURRENCES)
    chosen = evenly(pairs, int(share * len(pairs)))
    blocks, keys_of_blocks = list[Meetings](), list[Ids]()
    for block_of_pairs in chunks(chosen, BLOCK, _meetings):
        met = meet(block_of_pairs, nothing, classes, diagonal)
        unique, entries = np.unique(met.keys, return_inverse=True)
        keys_of_blocks.append(unique)
        blocks.append(met._replace(keys=entries.astype(np.int32)))
    keys = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *keys_of_blocks]))
    for number, unique in enumerate(keys_of_blocks):
        entries = np.searchsorted(keys, unique).astype(np.int32)
        blocks[number] = blocks[number]._replace(keys=entries[blocks[number].keys])
    sources = keys // classes
    probabilities = np.ones(len(keys))
    for _ in range(iterations):
        shares = np.zeros(len(keys))
        for block in blocks:
            shares += _shares(block, probabilities)
        probabilities = shares / np.bincount(sources, shares)[sources]
    counts = np.zeros(len(keys), np.int64)
    for block in blocks:
        counts += np.bincount(block.keys, minlength=len(keys))
    return Lexicon(keys, probabilities, counts, nothing, classes)


def most_likely(lexicon: Lexicon, *, sources: int, count: int, fill: int) -> Ids:
    """(sources, count) the most probable targets of each source, best first, ties by id, padded with `fill`."""
    kept = lexicon.keys < sources * lexicon.classes
    source, target = np.divmod(lexicon.keys[kept], lexicon.classes)
    probability = lexicon.probabilities[kept]
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    chosen = np.full((sources, count), fill, dtype=np.int32)
    best = rank < count
    chosen[source[best], rank[best]] = target[best]
    return chosen


def most_frequent(pairs: Sequence[Pieces], *, classes: int, count: int) -> Ids:
    """The most frequent target ids, in descending order, ties by id."""
    targets = np.concatenate([np.zeros(0, dtype=np.int64), *(pair.target for pair in pairs)])
    counts = np.bincount(targets, minlength=classes)
    order = np.argsort(-counts, kind="stable")[:count]
    return order[counts[order] > 0].astype(np.int32)


def _meetings(pair: Pieces) -> int:
    return (len(pair.source) + 1) * len(pair.target)


def meet(pairs: Sequence[Pieces], nothing: int, classes: int, diagonal: float = 0.0) -> Meetings:
    """The co-occurrences of some pairs; see `learn_lexicon`."""
    none = np.array([nothing])
    sources = np.concatenate([part for pair in pairs for part in (pair.source, none)]).astype(np.int64) * classes
    targets = np.concatenate([pair.target for pair in pairs]).astype(np.int64)
    source_lengths = np.array([len(pair.source) for pair in pairs])
    target_lengths = np.array([len(pair.target) for pair in pairs])
    widths = np.repeat(source_lengths + 1, target_lengths)
    positions = _counted(widths)
    begins = np.repeat(np.cumsum(source_lengths + 1) - source_lengths - 1, target_lengths)
    keys = sources[np.repeat(begins, widths) + positions] + np.repeat(targets, widths)
    if not diagonal:
        return Meetings(keys, widths, 1.0)
    lengths = np.maximum(widths - 1, 1)
    relative = (_counted(target_lengths) + 1) / np.repeat(target_lengths, target_lengths)
    near = np.exp(-diagonal * np.abs((positions + 1) / np.repeat(lengths, widths) - np.repeat(relative, widths)))
    ends = np.cumsum(widths) - 1
    near[ends] = 0
    sums = np.add.reduceat(near, ends - widths + 1) if len(ends) else ends
    near *= np.repeat((1 - NO_SOURCE) / np.maximum(sums, 1e-30), widths)
    near[ends] = NO_SOURCE
    return Meetings(keys, widths, near.astype(np.float32))


def _counted(lengths: Ids) -> Ids:
    """0, 1, ... for each of the lengths, concatenated."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _shares(block: Meetings, probabilities: Numbers) -> Numbers:
    """For each entry of the table, the sum of its source's shares in its target over the co-occurrences of a block,
    whose keys are entries."""
    shares = probabilities[block.keys] * block.preferences
    starts = np.cumsum(block.widths) - block.widths
    shares /= np.repeat(np.add.reduceat(shares, starts), block.widths)
    return np.asarray(np.bincount(block.keys, shares, minlength=len(probabilities)), dtype=np.float64)
