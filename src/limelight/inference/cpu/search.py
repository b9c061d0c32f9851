"""Whole searches as one call of compiled code: encoder, decoder, choice of tokens, bookkeeping.

A search in steps makes hundreds of calls of compiled functions, of numpy and of torch: most of the time of a sentence
alone, and much of the time of a batch, is lost between them. Here Python is entered once, and its lock is released.

Each sentence is encoded when its turn comes. The decoder takes a step for all sentences that have a slot, and the slot
of a decided one goes to the next. `decoding/search.py` is the reference and explains the rules; what is rare is left to
it, see `UNDECIDED`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.attention import follow_parents
from limelight.inference.cpu.best_tokens import Best, find_best
from limelight.inference.cpu.forward import Rows, begin, step
from limelight.inference.cpu.jit import Integers, compiled, compiled_noinline
from limelight.inference.cpu.lanes import noinline
from limelight.inference.cpu.network import FIRST_POSITIONS, Network
from limelight.inference.cpu.state import Past, empty_past
from limelight.models.interface import Path, Query
from limelight.tokens.tokenizer import END

MAX_SOURCE = 128
"""Source positions of a search in one call, so that a call does not last."""

MAX_WIDTH = 16
"""Beam size of a search in one call: with more hypotheses little of the time is lost between the calls."""

MAX_ROWS = 64
"""Hypotheses that are decoded at a time: more do not use the products better."""

GOES_ON, DECIDED, UNDECIDED = 0, 1, 2
"""What a step says of a search. Left to the search in steps are equal sums, whose order it defines, and predictions
that are NaN."""

Doubles = npt.NDArray[np.float64]


class Settings(NamedTuple):
    """The settings of a search, as in a `Query`; see `decoding/search.py`. A beam of one hypothesis is greedy
    search."""

    n_best: int
    limit: int
    alpha: float
    offset: float
    enough: float
    prune: float


class Trellis(NamedTuple):
    """The hypotheses of a search at every position, and those that have finished; with the sentences as first axis for
    several searches.

    Attributes:
        parents, ids, sums: (limit + 1, width): index of the hypothesis that is continued, its new token, and the
            log-probability with it.
        finished: (n_best, 4): score, log-probability, number of tokens and last parent of each, best first.
        counts: (3,): how many have finished, how many of them are kept, and the number of tokens of active hypotheses.
    """

    parents: Integers
    ids: Integers
    sums: Doubles
    finished: Doubles
    counts: Integers


@compiled
def _trellis_at(trellis: Trellis, sentence: int) -> Trellis:
    return Trellis(
        trellis.parents[sentence], trellis.ids[sentence], trellis.sums[sentence], trellis.finished[sentence],
        trellis.counts[sentence],
    )  # fmt: skip


@compiled
def _search_at(searches: Doubles, sentence: int) -> Settings:
    settings = searches[sentence]
    return Settings(int(settings[0]), int(settings[1]), settings[2], settings[3], settings[4], settings[5])


@compiled
def _penalty(search: Settings, length: float) -> float:
    """See `length_penalty` in `decoding/request.py`."""
    tokens = length if search.offset != 0 else max(length, 1.0)
    return ((search.offset + tokens) / (search.offset + 1)) ** search.alpha


@compiled
def _worst(search: Settings, trellis: Trellis) -> float:
    """The score that a further hypothesis has to exceed."""
    return trellis.finished[search.n_best - 1, 0] if trellis.counts[1] == search.n_best else -np.inf


@compiled
def _prune(search: Settings, trellis: Trellis, position: int, scores: Doubles) -> None:
    """(2) See `Search._threshold` in `decoding/search.py`."""
    reference = max(scores[0], _worst(search, trellis) * _penalty(search, position + 1.0))
    for number in range(len(scores)):
        if scores[number] < reference - search.prune:
            scores[number] = -np.inf


@compiled
def _finish(search: Settings, trellis: Trellis, position: int, parent: int, total: float) -> None:
    """(3) Keep a hypothesis that ends if it is one of the best so far; after equal ones."""
    score = total / _penalty(search, position + 1.0)
    finished, counts = trellis.finished, trellis.counts
    counts[0] += 1
    if score > _worst(search, trellis):
        counts[1] = min(counts[1] + 1, search.n_best)
        rank = counts[1] - 1
        while rank > 0 and score > finished[rank - 1, 0]:
            finished[rank] = finished[rank - 1]
            rank -= 1
        finished[rank, 0], finished[rank, 1], finished[rank, 2], finished[rank, 3] = score, total, position, parent


@compiled
def _advance(
    search: Settings, trellis: Trellis, position: int, best: Best, slot: int, classes: int,
    before: Doubles, kept: Integers,
) -> int:  # fmt: skip
    """One step of `Search.advance` after the model's: `before` are the log-probabilities of the hypotheses of this
    slot, and become those after it if it goes on, and `kept` their parents."""
    sums, gained, indices = best[0][slot], best[1][slot], best[2][slot]
    width = len(before)
    count = 2 * width if width > 1 else 1
    scores, parents, ids = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
    for rank in range(count):
        parents[rank], ids[rank] = indices[rank] // classes, indices[rank] % classes
        scores[rank] = np.float64(gained[rank]) + before[parents[rank]]
    if search.prune < np.inf:
        _prune(search, trellis, position, scores)
    for rank in range(count):
        if width > 1 and scores[rank] > -np.inf and sums[rank] == sums[rank + 1]:
            return UNDECIDED

    for rank in range(width):
        if ids[rank] == END and scores[rank] > -np.inf:
            _finish(search, trellis, position, parents[rank], scores[rank])
    trellis.counts[2] = position
    if position == search.limit:
        return DECIDED
    hypothesis = 0
    for ends in (False, True):
        for rank in range(count):
            if hypothesis < width and (ids[rank] == END) == ends:
                before[hypothesis] = -np.inf if ends else scores[rank]
                kept[hypothesis], trellis.parents[position, hypothesis] = parents[rank], parents[rank]
                trellis.ids[position, hypothesis], trellis.sums[position, hypothesis] = ids[rank], before[hypothesis]
                hypothesis += 1
    trellis.counts[2] = position + 1
    worst, at_limit = _worst(search, trellis), _penalty(search, search.limit + 1.0)
    gains_nothing = before[0] / at_limit <= worst or trellis.counts[0] >= search.enough
    is_decided = worst > -np.inf and (width == 1 or gains_nothing)
    return DECIDED if is_decided else GOES_ON


@compiled
def _gather(trellis: Trellis, sentences: Integers, start: int, log_probabilities: Doubles, ages: Integers) -> Rows:
    """The active hypotheses of the slots that have a sentence; the first one of a slot is always active."""
    slots, width = log_probabilities.shape
    firsts = np.zeros(slots + 1, np.int64)
    of_row, ids, before = np.empty(slots * width, np.int64), np.empty(slots * width, np.int64), np.empty(slots * width)
    row = 0
    for slot in range(slots):
        for number in range(width if sentences[slot] >= 0 else 0):
            if number == 0 or log_probabilities[slot, number] > -np.inf:
                ids[row] = trellis.ids[sentences[slot], ages[slot] - 1, number] if ages[slot] > 0 else start
                of_row[row], before[row] = slot, log_probabilities[slot, number] if width > 1 else 0.0
                row += 1
        firsts[slot + 1] = row
    return Rows(of_row[:row], ids[:row], before[:row].astype(np.float32), firsts)


@compiled_noinline
def search_sentences(
    network: Network, sources: Integers, firsts: Integers, searches: Doubles, start: int, past: Past,
    trellis: Trellis,
) -> None:  # fmt: skip
    """Write the hypotheses of each sentence to the trellis; `past` has a slot for each that is decoded at a time.

    Args:
        sources: the ids of all sentences, end to end; each has at most `MAX_SOURCE`, the end included.
        firsts: (sentences + 1,): where each begins.
        searches: (sentences, fields of `Settings`).
    """
    noinline()
    slots, width, classes = len(past.ages), trellis.parents.shape[2], network.output.outputs
    log_probabilities, kept = np.empty((slots, width)), np.empty((1, width), np.int64)
    # One more than are used: if it equals the one before it, the choice is not certain.
    rank = 2 * width + 1 if width > 1 else 1
    best = np.empty((slots, rank), np.float32), np.empty((slots, rank), np.float32), np.empty((slots, rank), np.int64)
    taken, coming, left = np.full(slots, -1), 0, len(searches)
    while left > 0:
        for slot in range(slots):
            if taken[slot] < 0 and coming < len(searches):
                begin(network, sources[firsts[coming] : firsts[coming + 1]], slot, past)
                log_probabilities[slot], log_probabilities[slot, 0] = -np.inf, 0.0
                taken[slot], coming = coming, coming + 1
        rows = _gather(trellis, taken, start, log_probabilities, past.ages)
        is_sound = find_best(step(network, rows, past), network.output, rows.before, rows.firsts, best)
        for slot in range(slots):
            sentence = taken[slot]
            if sentence < 0:
                continue
            own, outcome = _trellis_at(trellis, sentence), UNDECIDED
            if is_sound:
                search, position, before = _search_at(searches, sentence), past.ages[slot] - 1, log_probabilities[slot]
                outcome = _advance(search, own, position, best, slot, classes, before, kept[0])
                if width > 1 and outcome == GOES_ON:
                    follow_parents(past.ancestors[slot : slot + 1], kept, past.ages[slot : slot + 1])
            if outcome == UNDECIDED:
                own.counts[2] = -1
            if outcome != GOES_ON:
                taken[slot], left = -1, left - 1


def search_for(queries: Sequence[Query], network: Network, *, start: int) -> list[tuple[Path, ...] | None]:
    """The answers to queries of the same width; None for those that are left to the search in steps: for long sentences
    and wide beams, so that a call does not last, and where the call is `UNDECIDED`."""
    tables = [len(side.positions) for side in network[:2] if len(side.positions)]
    room, answers = min([FIRST_POSITIONS, *tables]), list[tuple[Path, ...] | None]([None] * len(queries))
    numbers = [
        number
        for number, query in enumerate(queries)
        if 0 < len(query.source) <= min(MAX_SOURCE, room) and query.limit < room and query.width <= MAX_WIDTH
    ]
    if not numbers:
        return answers
    chosen = [queries[number] for number in numbers]
    width, limit, n_best = chosen[0].width, max(query.limit for query in chosen), max(query.n_best for query in chosen)
    sources, firsts = np.concatenate([query.source for query in chosen]), [0, *(len(query.source) for query in chosen)]
    sizes = len(chosen), limit + 1, width
    trellis = Trellis(
        np.zeros(sizes, np.int64), np.zeros(sizes, np.int64), np.zeros(sizes), np.zeros((len(chosen), n_best, 4)),
        np.zeros((len(chosen), 3), np.int64),
    )  # fmt: skip
    past = empty_past(network, min(len(chosen), MAX_ROWS // width), width, limit + 1, max(firsts))
    searches = np.array([query[2:] for query in chosen], dtype=np.float64)
    search_sentences(network, sources.astype(np.int64), np.cumsum(firsts), searches, start, past, trellis)
    for row, number in enumerate(numbers):
        answers[number] = _answer(Trellis(*(part[row] for part in trellis)), queries[number])
    return answers


def _answer(trellis: Trellis, query: Query) -> tuple[Path, ...] | None:
    """The finished hypotheses, then, if they are fewer than asked for, active ones; see `Search.results`."""
    _, kept, length = trellis.counts.tolist()
    if length < 0:
        return None
    paths = [
        _path(trellis, int(tokens), int(parent), total) for _, total, tokens, parent in trellis.finished[:kept].tolist()
    ]
    known = {path.ids for path in paths}
    totals = trellis.sums[length - 1].tolist() if length else [0.0] + [-np.inf] * (query.width - 1)
    for number, total in enumerate(totals):
        if (
            len(paths) < query.n_best
            and total > -np.inf
            and (path := _path(trellis, length, number, total)).ids not in known
        ):
            paths.append(path._replace(finished=False, sums=path.sums[:length]))
    return tuple(paths)


def _path(trellis: Trellis, length: int, number: int, total: float) -> Path:
    """The hypothesis of `length` tokens that ends with this parent, and the log-probability of its end."""
    ids, sums = list[int](), [total]
    for position in reversed(range(length)):
        ids.append(int(trellis.ids[position, number]))
        sums.append(float(trellis.sums[position, number]))
        number = int(trellis.parents[position, number])
    return Path(tuple(reversed(ids)), tuple(reversed(sums)), total, True)
