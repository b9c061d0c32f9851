"""The whole search of one sentence as one call of compiled code: encoder, decoder, choice of tokens, bookkeeping.

For a sentence alone most of the time is not the model's: each of the hundreds of calls of compiled functions, of numpy
and of torch takes longer to begin than to compute. Here Python is entered once, and its lock is released meanwhile.

The layers are those of `int8_layers.py`, and the searches are `decoding/greedy.py` and `decoding/beam.py`, which say
what is done here, and why; results have the same bits. What is rare is left to them: see `UNDECIDED`.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.attention import SHORT, attend_past, attend_places, follow_parents, rotate
from limelight.inference.cpu.best_tokens import Surveyed, find_best, find_most_probable, survey
from limelight.inference.cpu.int8 import feed_forward, multiply, normalize, project_in, project_out, to_bytes
from limelight.inference.cpu.jit import Integers, Numbers, compiled, expanded
from limelight.inference.cpu.simd import TILE, apart
from limelight.inference.cpu.stacks import MAX_TOKENS, Network, Side, norm_at, weights_at
from limelight.models.interface import Path, Query

UNDECIDED = -1
"""In place of a length: predictions are NaN, equal sums make the order ambiguous, or bytes may form invalid UTF-8."""
STRAY, HIGH = 1, 2
"""Kinds of bytes: see `decoding/utf8.py`."""

MAX_WIDTH = 16
"""Of a beam: with more hypotheses little of the time is lost between the calls."""
MAX_ALONE = 2**23
"""So many bytes of weights can be read for the few rows of one sentence; of more, each has to serve a batch."""

Doubles = npt.NDArray[np.float64]


class Search(NamedTuple):
    """The settings of a search; see `decoding/beam.py`."""

    width: int
    """1 is greedy search."""
    start: int
    end: int
    limit: int
    alpha: float
    offset: float
    enough: float
    prune: float
    at_limit: float


class Past(NamedTuple):
    """What the decoder carries from step to step: see `state.py`. There is one sentence."""

    keys: Numbers
    """(layers, 1, width, room, heads, head_size)"""
    values: Numbers
    ancestors: Integers
    """(1, width, room)"""
    ages: Integers
    """(1,)"""
    memory: Numbers
    """(layers, source, keys and values of all heads)"""
    places: Integers
    """(source,): 0, 1, ..."""


class Beam(NamedTuple):
    """The hypotheses of a beam."""

    log_probabilities: Doubles
    """(width,)"""
    ids: Integers
    """(width,): the last token of each."""
    tokens: Integers
    """(2, width, limit + 1): before a step and after it, in turn."""
    sums: Doubles
    """Likewise: the log-probability up to each token."""
    best: Doubles
    """(3,): how many have finished; score and log-probability of the best of them."""


Found = tuple[Numbers, Numbers, Integers]
"""Of `find_best`."""
Candidates = tuple[Doubles, Integers, Integers]
"""What hypotheses may be continued with, best first: log-probability, parent, token."""


@compiled
def _embed(side: Side, token: int, place: int, row: Numbers) -> None:
    """What the first layer reads of a token."""
    embedded, scale = side.embedding[token], np.float32(side.scale)
    if len(side.positions):
        position = side.positions[place]
        for index in range(len(row)):
            row[index] = embedded[index] * scale + position[index]
    else:
        for index in range(len(row)):
            row[index] = embedded[index] * scale


@expanded
def _encode(network: Network, source: Integers, places: Integers) -> Numbers:
    """The output of the encoder: (source, model)."""
    heads, head_size, value_size, activation = network.sizes
    hidden = np.empty((len(source), network.source.embedding.shape[1]), dtype=np.float32)
    for row in range(len(source)):
        _embed(network.source, source[row], row, hidden[row])
    inner, outer = heads * head_size, heads * value_size
    stride = 2 * inner + outer
    joint, context = np.empty((len(source), stride), np.float32), np.empty((len(source), outer), np.float32)
    sizes = heads, head_size, value_size, stride, stride, inner, 2 * inner
    attention, feed = network.encoder_attention, network.encoder_network
    for layer in range(len(attention.first.values)):
        norm = norm_at(attention.norm, layer)
        project_in(hidden, norm, weights_at(attention.first, layer), joint)
        if len(network.source.turns):
            rotate(joint, network.source.turns[: len(source)], heads)
        for row in range(len(source)):
            attend_places(joint, row * stride, joint, joint, places, sizes, context, row * outer)
        project_out(context, weights_at(attention.last, layer), norm, hidden)
        first, last = weights_at(feed.first, layer), weights_at(feed.last, layer)
        feed_forward(hidden, norm_at(feed.norm, layer), first, activation, last)
    if network.source.norm.first:
        normalize(hidden, network.source.norm, hidden)
    return hidden


@partial(compiled, apart=True)
def begin(network: Network, source: Integers, width: int, room: int) -> Past:
    """Read the source, which has at most `stacks.MAX_TOKENS` ids, the end included."""
    apart()
    heads, head_size, value_size, _ = network.sizes
    layers, places = len(network.memory.values), np.arange(len(source))
    features = _encode(network, source, places)
    memory = np.empty((layers, len(source), network.memory.outputs), np.float32)
    for layer in range(layers):
        multiply(features, weights_at(network.memory, layer), memory[layer])
    keys = np.empty((layers, 1, width, room, heads, head_size), np.float32)
    values = np.empty((layers, 1, width, room, heads, value_size), np.float32)
    ancestors, ages = np.zeros((1, width, room), np.int64), np.zeros(1, np.int64)
    return Past(keys, values, ancestors, ages, memory, places)


@expanded
def _step(network: Network, ids: Integers, rows: int, past: Past) -> Numbers:
    """The output of the decoder for one more position of the first hypotheses: (rows, model)."""
    heads, head_size, value_size, activation = network.sizes
    age, inner, outer = past.ages[0], heads * head_size, heads * value_size
    hidden = np.empty((rows, network.target.embedding.shape[1]), np.float32)
    for row in range(rows):
        _embed(network.target, ids[row], age, hidden[row])
    joint, queries = np.empty((rows, 2 * inner + outer), np.float32), np.empty((rows, inner), np.float32)
    context = np.empty((rows, outer), np.float32)
    sizes, firsts = (heads, head_size, value_size, inner + outer, inner + outer, 0, inner), np.array([0, rows])
    attention, cross, feed = network.decoder_attention, network.cross_attention, network.decoder_network
    for layer in range(len(attention.first.values)):
        norm = norm_at(attention.norm, layer)
        project_in(hidden, norm, weights_at(attention.first, layer), joint)
        if len(network.target.turns):
            for row in range(rows):
                rotate(joint[row : row + 1], network.target.turns[age : age + 1], heads)
        attend_past(joint, firsts, past.keys[layer], past.values[layer], past.ancestors, past.ages, context)
        project_out(context, weights_at(attention.last, layer), norm, hidden)
        norm = norm_at(cross.norm, layer)
        project_in(hidden, norm, weights_at(cross.first, layer), queries)
        memory = past.memory[layer]
        for row in range(rows):
            attend_places(queries, row * inner, memory, memory, past.places, sizes, context, row * outer)
        project_out(context, weights_at(cross.last, layer), norm, hidden)
        first, last = weights_at(feed.first, layer), weights_at(feed.last, layer)
        feed_forward(hidden, norm_at(feed.norm, layer), first, activation, last)
    if network.target.norm.first:
        normalize(hidden, network.target.norm, hidden)
    past.ages[0] += 1
    return hidden


@compiled
def _penalty(search: Search, length: float) -> float:
    """See `LengthPenalty`."""
    tokens = length if search.offset != 0 else max(length, 1.0)
    return ((search.offset + tokens) / (search.offset + 1)) ** search.alpha


@expanded
def _prune(search: Search, beam: Beam, position: int, scores: Doubles) -> None:
    """(2) See `BeamSearch._threshold`."""
    length = np.float64(position + 1)
    penalty = _penalty(search, length)
    reference = scores[0]
    if beam.best[0] > 0:
        reference = max(reference, beam.best[1] * penalty)
    if search.alpha > 1:
        reference *= 1 + max(search.at_limit / penalty - (search.limit + 1.0) / length, 0.0)
    for number in range(len(scores)):
        if scores[number] < reference - search.prune:
            scores[number] = -np.inf


@expanded
def _finish(
    search: Search, beam: Beam, position: int, number: int, score: float, tokens: Integers, sums: Doubles
) -> None:
    """(3) Keep a hypothesis that ends, the end of a parent, if it is the best so far."""
    final = score / _penalty(search, position + 1.0)
    if beam.best[0] == 0 or final > beam.best[1]:
        beam.best[1], beam.best[2] = final, score
        side = position % 2
        for place in range(position):
            tokens[place], sums[place] = beam.tokens[side, number, place], beam.sums[side, number, place]
        tokens[position], sums[position] = search.end, score
    beam.best[0] += 1


@expanded
def _advance(
    search: Search, beam: Beam, position: int, found: Candidates, ancestors: Integers, ages: Integers,
    tokens: Integers, sums: Doubles,
) -> tuple[int, bool]:  # fmt: skip
    """One step of `BeamSearch.advance` after its ranking: returns the length of the best finished hypothesis if it has
    changed, else `UNDECIDED`, and whether the search is decided."""
    scores, parents, ids = found
    width, length = search.width, UNDECIDED
    if search.prune < np.inf:
        _prune(search, beam, position, scores)
    for number in range(width):
        if ids[number] == search.end and scores[number] > -np.inf:
            before = beam.best[2]
            _finish(search, beam, position, parents[number], scores[number], tokens, sums)
            length = position if beam.best[0] == 1 or beam.best[2] != before else length
    order, count = np.empty(width, np.int64), 0
    for ending in (False, True):
        for number in range(len(ids)):
            if count < width and (ids[number] == search.end) == ending:
                order[count], count = number, count + 1
    at_limit = position == search.limit
    if not at_limit:
        old, new, kept = position % 2, (position + 1) % 2, np.empty((1, width), np.int64)
        for place in range(width):
            number = order[place]
            parent, score = parents[number], -np.inf if ids[number] == search.end else scores[number]
            kept[0, place] = parent
            for each in range(position):
                beam.tokens[new, place, each] = beam.tokens[old, parent, each]
                beam.sums[new, place, each] = beam.sums[old, parent, each]
            beam.tokens[new, place, position], beam.sums[new, place, position] = ids[number], score
            beam.log_probabilities[place], beam.ids[place] = score, ids[number]
        follow_parents(ancestors, kept, ages)
    gains_nothing = beam.log_probabilities[0] / search.at_limit <= beam.best[1] or beam.best[0] >= search.enough
    return length, at_limit or (beam.best[0] > 0 and gains_nothing)


@expanded
def _rank(
    network: Network, search: Search, past: Past, beam: Beam, surveyed: Surveyed, best: Found, found: Candidates
) -> bool:
    """(1) and (2): what the hypotheses are continued with, best first; returns whether that is certain."""
    (scores, parents, ids), output, rows = found, network.output, 0
    for score in beam.log_probabilities:
        rows += score > -np.inf
    rows = max(1, rows)
    given, surveyed = to_bytes(_step(network, beam.ids, rows, past), output), (surveyed[0][:rows], surveyed[1][:rows])
    survey(given, output, surveyed)
    certain = True
    for row in range(rows):
        certain &= not math.isnan(surveyed[1][row])
    if not certain:
        rows = 0  # nothing is found, and nothing is looked for
    sums, gained, indices = best
    if search.width == 1:
        find_most_probable(given, output, surveyed, indices[0], gained[0])
    else:
        for number in range(sums.shape[1]):
            sums[0, number] = gained[0, number] = -np.inf
            indices[0, number] = 0
        before, firsts = np.empty(rows, np.float32), np.array([0, rows])
        for row in range(rows):
            before[row] = np.float32(beam.log_probabilities[row])
        find_best(given, output, surveyed, before, firsts, best)
    for number in range(len(ids)):
        parents[number], ids[number] = indices[0, number] // output.outputs, indices[0, number] % output.outputs
        scores[number] = np.float64(gained[0, number]) + beam.log_probabilities[parents[number]]
        if search.width > 1 and sums[0, number] > -np.inf:
            certain &= sums[0, number] != sums[0, number + 1]
    return certain


@partial(compiled, apart=True)
def search_sentence(
    network: Network, search: Search, past: Past, kinds: npt.NDArray[np.uint8], tokens: Integers, sums: Doubles
) -> tuple[int, bool, float]:
    """The best hypothesis: how many tokens it has without its end, whether it has ended, and its log-probability.

    Args:
        past: of `begin`.
        kinds: (ids,): of the bytes of each token.
        tokens, sums: (limit + 1,): the tokens, the end included, and the log-probability up to each; written to.

    Returns `UNDECIDED` in place of the length if the readable search has to find it.
    """
    apart()
    width, is_beam, output = search.width, search.width > 1, network.output
    room, rank, length = (2, width, search.limit + 1), 2 * width + 1 if is_beam else 1, UNDECIDED
    beam = Beam(np.full(width, -np.inf), np.full(width, search.start), np.zeros(room, np.int64), np.zeros(room),
                np.zeros(3))  # fmt: skip
    beam.log_probabilities[0] = 0.0
    surveyed = np.empty((width, -(-len(output.values) // TILE)), np.float32), np.empty(width, np.float32)
    best = np.empty((1, rank), np.float32), np.empty((1, rank), np.float32), np.empty((1, rank), np.int64)
    count = rank - is_beam
    found = np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)
    for position in range(search.limit + 1):
        sound = _rank(network, search, past, beam, surveyed, best, found)
        for number in range(count):
            sound &= kinds[found[2][number]] & STRAY == 0
        for token in beam.ids:
            sound &= kinds[token] & HIGH == 0
        if not sound:
            return UNDECIDED, False, 0.0
        if is_beam:
            ended, decided = _advance(search, beam, position, found, past.ancestors, past.ages, tokens, sums)
            length = ended if ended != UNDECIDED else length
            if decided:
                break
        else:
            ends = found[2][0] == search.end
            if position == search.limit and not ends:
                return position, False, beam.log_probabilities[0]
            beam.log_probabilities[0], beam.ids[0] = found[0][0], found[2][0]
            tokens[position], sums[position] = beam.ids[0], found[0][0]
            if ends:
                return position, True, found[0][0]
    if length != UNDECIDED:
        return length, True, beam.best[2]
    side = search.limit % 2
    for place in range(search.limit):
        tokens[place], sums[place] = beam.tokens[side, 0, place], beam.sums[side, 0, place]
    return search.limit, False, beam.log_probabilities[0]


def search_for(query: Query, network: Network, *, start: int, end: int) -> Path | None:
    """The answer to a query; None if it is left to the readable searches: for long sentences and wide beams, so that a
    call does not last, and where the call is `UNDECIDED`."""
    room = min([MAX_TOKENS, *(len(side.positions) for side in network[:2] if len(side.positions))])
    if not 0 < len(query.source) <= min(SHORT, room) or query.limit >= room or query.width > MAX_WIDTH:
        return None
    at_limit = float(((query.offset + query.limit + 1) / (query.offset + 1)) ** query.alpha)
    search = Search(
        query.width, start, end, query.limit, float(query.alpha), float(query.offset),
        float(query.patience * query.width), float(query.prune), at_limit,
    )  # fmt: skip
    tokens, sums = np.zeros(query.limit + 1, dtype=np.int64), np.zeros(query.limit + 1)
    source = np.array(query.source, dtype=np.int64)
    past = begin(network, source, query.width, query.limit + 1)
    length, finished, total = search_sentence(network, search, past, query.kinds, tokens, sums)
    if length == UNDECIDED:
        return None
    return Path(tuple(tokens[:length].tolist()), tuple(sums[: length + finished].tolist()), total, finished)
