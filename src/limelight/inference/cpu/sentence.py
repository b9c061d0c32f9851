"""The whole search of sentences as one call of compiled code: encoder, decoder, choice of tokens, bookkeeping.

A search in steps makes hundreds of calls of compiled functions, of numpy and of torch: most of the time of a sentence
alone, and much of that of a batch, is lost between them. Here Python is entered once, and its lock is released.

Each sentence is encoded when its turn comes. The decoder takes a step for all that have a slot, and the slot of one
that is decided goes to the next one. The layers are in `forward.py`. `decoding/greedy.py` and
`decoding/beam.py` say what is done here, and why; results have the same bits, whatever is searched for beside them.
What is rare is left to those searches: see `UNDECIDED`.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.attention import SHORT, follow_parents
from limelight.inference.cpu.best_tokens import Surveyed, find_best, find_most_probable, survey
from limelight.inference.cpu.forward import Rows, begin, step
from limelight.inference.cpu.int8 import Int8Rows, to_bytes
from limelight.inference.cpu.jit import Integers, Numbers, compiled, expanded
from limelight.inference.cpu.largest_sums import insert
from limelight.inference.cpu.network import MAX_TOKENS, Network
from limelight.inference.cpu.rules import Bytes, is_forbidden
from limelight.inference.cpu.simd import LANES, TILE, apart, multiply_tile
from limelight.inference.cpu.state import Past, Shape
from limelight.models.interface import Path, Query

UNDECIDED = -1
"""In place of a length: predictions are NaN."""

MAX_WIDTH = 16
"""Of a beam: with more hypotheses little of the time is lost between the calls."""
MAX_ROWS = 64
"""So many hypotheses have slots: more do not use the products better."""

Doubles = npt.NDArray[np.float64]


class Search(NamedTuple):
    """The settings of a search; see `decoding/beam.py`."""

    limit: int
    alpha: float
    offset: float
    enough: float
    prune: float
    at_limit: float
    n_best: int
    ngram: int
    """No n-gram of so many tokens occurs twice; 0 for no such rule."""


class Tasks(NamedTuple):
    """What is searched for."""

    sources: Integers
    """The ids of all sentences, end to end; each has at most `MAX_TOKENS`, the end included."""
    firsts: Integers
    """(sentences + 1,): where each begins."""
    searches: Doubles
    """(sentences, fields of `Search`)"""
    width: int
    """1 is greedy search."""
    start: int
    end: int
    bytes: Bytes


class Paths(NamedTuple):
    """The best hypotheses of each sentence, best first; of one sentence, without the first axis. Written to."""

    tokens: Integers
    """(sentences, n_best, limit + 1): the tokens of each, the end included."""
    sums: Doubles
    """Likewise: the log-probability up to each token."""
    lengths: Integers
    """(sentences, n_best): how many tokens each has without its end; `UNDECIDED` where there is none, and for the first
    of a sentence if the readable search has to find them."""
    finished: npt.NDArray[np.bool_]
    """(sentences, n_best): whether each has its end."""
    scores: Doubles
    """(sentences, n_best): by which those that have finished are ranked."""
    totals: Doubles
    """(sentences, n_best): the log-probability of each."""


class Beam(NamedTuple):
    """The hypotheses of a slot; of all slots, with these as first axis."""

    log_probabilities: Doubles
    """(width,)"""
    ids: Integers
    """(width,): the last token of each."""
    tokens: Integers
    """(2, width, limit + 1): before a step and after it, in turn."""
    sums: Doubles
    """Likewise: the log-probability up to each token."""
    ended: Integers
    """(2,): how many have finished, and how many of them are kept."""


Found = tuple[Numbers, Numbers, Integers]
"""The results of `find_best`: (slots, rank) each."""
Candidates = tuple[Doubles, Integers, Integers]
"""What hypotheses may be continued with, best first: log-probability, parent, token."""


@compiled
def _penalty(search: Search, length: float) -> float:
    """See `LengthPenalty`."""
    tokens = length if search.offset != 0 else max(length, 1.0)
    return ((search.offset + tokens) / (search.offset + 1)) ** search.alpha


@compiled
def _worst(search: Search, beam: Beam, paths: Paths) -> float:
    """The score that a further hypothesis has to exceed."""
    return paths.scores[search.n_best - 1] if beam.ended[1] == search.n_best else -np.inf


@expanded
def _prune(search: Search, worst: float, position: int, scores: Doubles) -> None:
    """(2) See `BeamSearch._threshold`."""
    length = np.float64(position + 1)
    penalty = _penalty(search, length)
    reference = scores[0]
    if worst > -np.inf:
        reference = max(reference, worst * penalty)
    if search.alpha > 1:
        reference *= 1 + max(search.at_limit / penalty - (search.limit + 1.0) / length, 0.0)
    for number in range(len(scores)):
        if scores[number] < reference - search.prune:
            scores[number] = -np.inf


@compiled
def _write(beam: Beam, position: int, number: int, paths: Paths, rank: int) -> None:
    """Write the tokens of an active hypothesis down as the result of this rank."""
    side = position % 2
    for place in range(position):
        paths.tokens[rank, place] = beam.tokens[side, number, place]
        paths.sums[rank, place] = beam.sums[side, number, place]
    paths.lengths[rank] = position


@expanded
def _finish(search: Search, beam: Beam, position: int, number: int, score: float, end: int, paths: Paths) -> None:
    """(3) Keep a hypothesis that ends, the end of a parent, if it is one of the best so far; after equal ones."""
    final = score / _penalty(search, position + 1.0)
    beam.ended[0] += 1
    if beam.ended[1] < search.n_best or final > paths.scores[search.n_best - 1]:
        rank = min(beam.ended[1], search.n_best - 1)
        beam.ended[1] = rank + 1
        while rank > 0 and final > paths.scores[rank - 1]:
            for place in range(paths.lengths[rank - 1] + 1):
                paths.tokens[rank, place] = paths.tokens[rank - 1, place]
                paths.sums[rank, place] = paths.sums[rank - 1, place]
            paths.lengths[rank], paths.scores[rank] = paths.lengths[rank - 1], paths.scores[rank - 1]
            paths.totals[rank] = paths.totals[rank - 1]
            rank -= 1
        _write(beam, position, number, paths, rank)
        paths.tokens[rank, position], paths.sums[rank, position] = end, score
        paths.scores[rank], paths.totals[rank] = final, score


@expanded
def _advance(
    search: Search, beam: Beam, position: int, found: Candidates, end: int, ancestors: Integers, ages: Integers,
    paths: Paths,
) -> bool:  # fmt: skip
    """One step of `BeamSearch.advance` after its ranking; returns whether the search is decided."""
    scores, parents, ids = found
    width = len(beam.ids)
    if search.prune < np.inf:
        _prune(search, _worst(search, beam, paths), position, scores)
    for number in range(width):
        if ids[number] == end and scores[number] > -np.inf:
            _finish(search, beam, position, parents[number], scores[number], end, paths)
    order, count = np.empty(width, np.int64), 0
    for ending in (False, True):
        for number in range(len(ids)):
            if count < width and (ids[number] == end) == ending:
                order[count], count = number, count + 1
    at_limit = position == search.limit
    if not at_limit:
        old, new, kept = position % 2, (position + 1) % 2, np.empty((1, width), np.int64)
        for place in range(width):
            number = order[place]
            parent, score = parents[number], -np.inf if ids[number] == end else scores[number]
            kept[0, place] = parent
            for each in range(position):
                beam.tokens[new, place, each] = beam.tokens[old, parent, each]
                beam.sums[new, place, each] = beam.sums[old, parent, each]
            beam.tokens[new, place, position], beam.sums[new, place, position] = ids[number], score
            beam.log_probabilities[place], beam.ids[place] = score, ids[number]
        follow_parents(ancestors, kept, ages)
    worst = _worst(search, beam, paths)
    gains_nothing = beam.log_probabilities[0] / search.at_limit <= worst or beam.ended[0] >= search.enough
    return at_limit or (worst > -np.inf and gains_nothing)


@compiled
def _active(beam: Beam, slot: int) -> int:
    """How many hypotheses of a slot go on; the first one always does."""
    count = 0
    for score in beam.log_probabilities[slot]:
        count += score > -np.inf
    return max(1, count)


@expanded
def _gather(beam: Beam, taken: Integers) -> Rows:
    """The active hypotheses of the slots that are `taken` (not negative)."""
    firsts = np.zeros(len(taken) + 1, np.int64)
    for slot in range(len(taken)):
        firsts[slot + 1] = firsts[slot] + (_active(beam, slot) if taken[slot] >= 0 else 0)
    count = firsts[-1]
    slots, ids, before = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.float32)
    for slot in range(len(taken)):
        for number in range(firsts[slot + 1] - firsts[slot]):
            row = firsts[slot] + number
            slots[row], ids[row] = slot, beam.ids[slot, number]
            before[row] = np.float32(beam.log_probabilities[slot, number])
    return Rows(slots, ids, before, firsts)


@expanded
def _rank(network: Network, rows: Rows, past: Past, surveyed: Surveyed, best: Found) -> tuple[Int8Rows, bool]:
    """What the hypotheses of each slot are continued with, best first. Returns the features of all rows, and whether no
    prediction is NaN."""
    output, count, sound = network.output, len(rows.ids), True
    given, surveyed = to_bytes(step(network, rows, past), output), (surveyed[0][:count], surveyed[1][:count])
    survey(given, output, surveyed)
    for row in range(count):
        sound &= not math.isnan(surveyed[1][row])
    sums, gained, indices = best
    if sound and sums.shape[1] == 1:
        find_most_probable(given, output, surveyed, rows.ids, rows.before)
        for row in range(count):
            slot = rows.slots[row]
            indices[slot, 0], sums[slot, 0], gained[slot, 0] = rows.ids[row], rows.before[row], rows.before[row]
    elif sound:
        for slot in range(sums.shape[0]):
            for number in range(sums.shape[1]):
                sums[slot, number] = gained[slot, number] = -np.inf
                indices[slot, number] = 0
        find_best(given, output, surveyed, rows.before, rows.firsts, best)
    return given, sound


@expanded
def _choose(
    tasks: Tasks, beam: Beam, before: Integers, position: int, ngram: int, best: Found, classes: int, found: Candidates
) -> bool:
    """(1) and (2): what the hypotheses of a slot are continued with, best first; returns whether that is certain: no
    sums are equal, and no token is forbidden. `before` are their tokens so far, (width, limit + 1), of which no n-gram
    occurs again."""
    sums, gained, indices = best
    scores, parents, ids = found
    certain, latest = True, np.float32(np.inf)
    for rank in range(len(sums)):
        parent, token = indices[rank] // classes, indices[rank] % classes
        is_possible = sums[rank] > -np.inf
        certain &= sums[rank] != latest or not is_possible
        latest = sums[rank]
        if rank < len(ids):
            certain &= not (is_possible and is_forbidden(before[parent], position, token, ngram, tasks.bytes))
            parents[rank], ids[rank] = parent, token
            scores[rank] = np.float64(gained[rank]) + beam.log_probabilities[parent]
    return certain


@partial(compiled, apart=True)
def _choose_of_all(
    network: Network, tasks: Tasks, given: Int8Rows, rows: Rows, surveyed: Surveyed, slot: int, beam: Beam,
    before: Integers, position: int, ngram: int, found: Candidates,
) -> None:  # fmt: skip
    """The same where that is not certain: for each hypothesis its best tokens that are not forbidden, then the best of
    these, the first of equal ones; see `BeamSearch._settled`. Within a character that is written in bytes, all but a
    few tokens are forbidden, and these can be anywhere."""
    apart()
    (largest, totals), output, (scores, parents, ids) = surveyed, network.output, found
    logits, all_kept = np.empty((1, TILE * LANES), np.float32), 0
    gains, tokens = np.empty(len(beam.ids) + 1, np.float32), np.empty(len(beam.ids) + 1, np.int64)
    for number in range(len(ids)):
        scores[number], ids[number] = -np.inf, tasks.end
    for row in range(rows.firsts[slot], rows.firsts[slot + 1]):
        parent, kept, of_end = row - rows.firsts[slot], 0, np.float32(0)
        for tile in range(largest.shape[1]):
            if kept == len(gains) and not largest[row, tile] - totals[row] > gains[-1]:
                continue
            block = tile * TILE
            multiply_tile(given, row, 1, output, block, min(TILE, len(output.values) - block), logits, 0, 0, False)
            for inside in range(min(TILE * LANES, output.outputs - block * LANES)):
                token, gain = block * LANES + inside, logits[0, inside] - totals[row]
                of_end = gain if token == tasks.end else of_end
                is_wanted = kept < len(gains) or gain > gains[-1]
                if is_wanted and not is_forbidden(before[parent], position, token, ngram, tasks.bytes):
                    kept = min(kept + 1, len(gains))
                    insert(gain, token, gains[:kept], tokens[:kept])
        if kept == 0:
            gains[0], tokens[0], kept = of_end, tasks.end, 1
        for number in range(kept):
            score = np.float64(gains[number]) + beam.log_probabilities[parent]
            if all_kept < len(ids) or score > scores[-1]:
                all_kept = min(all_kept + 1, len(ids))
                insert(score, parent * output.outputs + tokens[number], scores[:all_kept], ids[:all_kept])
    for number in range(len(ids)):
        parents[number], ids[number] = ids[number] // output.outputs, ids[number] % output.outputs


@expanded
def _advance_greedy(search: Search, beam: Beam, position: int, found: Candidates, end: int, paths: Paths) -> bool:
    """The same for greedy search."""
    scores, _, ids = found
    ends = ids[0] == end
    paths.tokens[0, position], paths.sums[0, position] = ids[0], scores[0]
    if ends:
        beam.ended[1], paths.lengths[0], paths.totals[0] = 1, position, scores[0]
    elif position < search.limit:
        beam.log_probabilities[0], beam.ids[0] = scores[0], ids[0]
    return ends or position == search.limit


@compiled
def _is_known(beam: Beam, number: int, limit: int, paths: Paths) -> bool:
    """Whether an active hypothesis has the tokens of one that has finished."""
    side = limit % 2
    for rank in range(beam.ended[1]):
        alike = paths.lengths[rank] == limit
        for place in range(limit):
            alike &= paths.tokens[rank, place] == beam.tokens[side, number, place]
        if alike:
            return True
    return False


@expanded
def _leave(search: Search, beam: Beam, paths: Paths) -> None:
    """Write down what has been found for a sentence. Hypotheses that have finished are there already; if they are too
    few, the search has come to its limit, and active ones follow them. See `BeamSearch.results`."""
    rank, limit, width = beam.ended[1], search.limit, len(beam.ids)
    for place in range(rank):
        paths.finished[place] = True
    for number in range(width + 1):  # if none is possible, the first one is written after all others
        active = number % width
        if number == width:
            is_wanted = rank == 0
        else:
            is_wanted = beam.log_probabilities[active] > -np.inf and not _is_known(beam, active, limit, paths)
        if is_wanted and rank < search.n_best:
            if width > 1:
                _write(beam, limit, active, paths, rank)
            paths.lengths[rank], paths.totals[rank] = limit, beam.log_probabilities[active]
            rank += 1


@compiled
def _search_of(tasks: Tasks, sentence: int) -> Search:
    """The settings of a sentence."""
    given = tasks.searches[sentence]
    return Search(int(given[0]), given[1], given[2], given[3], given[4], given[5], int(given[6]), int(given[7]))


@compiled
def _slot_of(beam: Beam, slot: int) -> Beam:
    """The hypotheses of a slot."""
    return Beam(beam.log_probabilities[slot], beam.ids[slot], beam.tokens[slot], beam.sums[slot], beam.ended[slot])


@compiled
def _paths_of(paths: Paths, sentence: int) -> Paths:
    """The results of a sentence."""
    return Paths(
        paths.tokens[sentence], paths.sums[sentence], paths.lengths[sentence], paths.finished[sentence],
        paths.scores[sentence], paths.totals[sentence],
    )  # fmt: skip


@expanded
def _enter(network: Network, tasks: Tasks, past: Past, beam: Beam, slot: int, sentence: int) -> None:
    """Begin the search of a sentence in a slot."""
    begin(network, tasks.sources[tasks.firsts[sentence] : tasks.firsts[sentence + 1]], slot, past)
    for number in range(tasks.width):
        beam.log_probabilities[slot, number], beam.ids[slot, number] = -np.inf if number else 0.0, tasks.start
    beam.ended[slot, 0] = beam.ended[slot, 1] = 0


@partial(compiled, apart=True)
def search_sentences(network: Network, tasks: Tasks, past: Past, beam: Beam, paths: Paths) -> None:
    """Write the best hypotheses of each sentence to `paths`; as many sentences as `past` has slots are decoded at a
    time."""
    apart()
    slots, width, coming, sound = len(past.ages), tasks.width, 0, True
    count, most = 2 * width if width > 1 else 1, slots * width
    # One more than are used: if it equals the one before it, the choice is not certain. The most probable token is.
    rank = count + 1 if width > 1 else 1
    surveyed = np.empty((most, -(-len(network.output.values) // TILE)), np.float32), np.empty(most, np.float32)
    best = np.empty((slots, rank), np.float32), np.empty((slots, rank), np.float32), np.empty((slots, rank), np.int64)
    found = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
    taken, left = np.full(slots, -1), len(tasks.searches)
    while left > 0 and sound:
        for slot in range(slots):
            if taken[slot] < 0 and coming < len(tasks.searches):
                _enter(network, tasks, past, beam, slot, coming)
                taken[slot], coming = coming, coming + 1
        rows = _gather(beam, taken)
        given, sound = _rank(network, rows, past, surveyed, best)
        for slot in range(slots):
            sentence = taken[slot]
            if sentence < 0 or not sound:
                continue
            search, own, position = _search_of(tasks, sentence), _slot_of(beam, slot), past.ages[slot] - 1
            results = _paths_of(paths, sentence)
            before = own.tokens[position % 2] if width > 1 else results.tokens
            ranked = best[0][slot], best[1][slot], best[2][slot]
            if not _choose(tasks, own, before, position, search.ngram, ranked, network.output.outputs, found):
                _choose_of_all(network, tasks, given, rows, surveyed, slot, own, before, position, search.ngram, found)
            if width > 1:
                ancestors, ages = past.ancestors[slot : slot + 1], past.ages[slot : slot + 1]
                decided = _advance(search, own, position, found, tasks.end, ancestors, ages, results)
            else:
                decided = _advance_greedy(search, own, position, found, tasks.end, results)
            if decided:
                taken[slot], left = -1, left - 1
                _leave(search, own, results)
    for slot in range(slots):
        if taken[slot] >= 0:
            paths.lengths[taken[slot], 0] = UNDECIDED


def search_for(
    queries: Sequence[Query], network: Network, shape: Shape, *, start: int, end: int
) -> list[tuple[Path, ...] | None]:
    """The answers to queries of the same width; None for those that are left to the readable searches: for long
    sentences and wide beams, so that a call does not last, and where the call is `UNDECIDED`."""
    room = min([MAX_TOKENS, *(len(side.positions) for side in network[:2] if len(side.positions))])
    longest = min(SHORT, room)
    asked = [
        number
        for number, each in enumerate(queries)
        if 0 < len(each.source) <= longest and each.limit < room and each.width <= MAX_WIDTH
    ]
    answers: list[tuple[Path, ...] | None] = [None] * len(queries)
    if not asked:
        return answers
    given = [queries[number] for number in asked]
    width, kept = given[0].width, (len(given), max(each.n_best for each in given))
    room = max(each.limit for each in given) + 1
    firsts = np.cumsum([0, *(len(each.source) for each in given)])
    sources = np.array([token for each in given for token in each.source], dtype=np.int64)
    searches = np.array([_settings(each) for each in given])
    tasks = Tasks(sources, firsts, searches, width, start, end, given[0].bytes)
    paths = Paths(
        np.zeros((*kept, room), np.int64), np.zeros((*kept, room)), np.full(kept, UNDECIDED),
        np.zeros(kept, np.bool_), np.zeros(kept), np.zeros(kept),
    )  # fmt: skip
    slots = min(len(given), max(1, MAX_ROWS // width))
    beam = Beam(
        np.zeros((slots, width)), np.zeros((slots, width), np.int64), np.zeros((slots, 2, width, room), np.int64),
        np.zeros((slots, 2, width, room)), np.zeros((slots, 2), np.int64),
    )  # fmt: skip
    past = shape.past(slots, width, room, int(np.diff(firsts).max()))
    search_sentences(network, tasks, past, beam, paths)
    for row, number in enumerate(asked):
        answers[number] = _answer(paths, row)
    return answers


def _settings(query: Query) -> tuple[float, ...]:
    """The fields of `Search`."""
    at_limit = ((query.offset + query.limit + 1) / (query.offset + 1)) ** query.alpha
    enough = query.patience * query.width
    return query.limit, query.alpha, query.offset, enough, query.prune, at_limit, query.n_best, query.ngram


def _answer(paths: Paths, row: int) -> tuple[Path, ...] | None:
    found = []
    for rank, length in enumerate(paths.lengths[row].tolist()):
        if length != UNDECIDED:
            finished = bool(paths.finished[row, rank])
            ids, sums = paths.tokens[row, rank, :length].tolist(), paths.sums[row, rank, : length + finished].tolist()
            found.append(Path(tuple(ids), tuple(sums), float(paths.totals[row, rank]), finished))
        elif rank == 0:
            return None
    return tuple(found)
