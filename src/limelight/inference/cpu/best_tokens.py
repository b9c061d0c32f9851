"""The best next tokens of hypotheses, without a table of all log-probabilities.

Writing, normalizing and searching a table of hypotheses times vocabulary takes as long as the product that fills it.
Here logits are computed in tiles, of which only the largest logit and the sum of exponentials are kept. The best tokens
are in the few tiles with the largest logits, which are computed again: their sums have the same bits then.
"""

import math

import numpy as np

from limelight.inference.cpu.jit import Integers, Numbers, compiled, compiled_noinline
from limelight.inference.cpu.lanes import LANES, noinline
from limelight.inference.cpu.products import GROUP, TILE, multiply_tile
from limelight.inference.cpu.vectors import add_exponentials, largest_logit, total_of
from limelight.inference.cpu.weights import Inputs, Weights, count_blocks, prepare_inputs

LOWEST = np.float32(-1e38)
"""Below every logit, but not so low that differences overflow."""

Best = tuple[Numbers, Numbers, Integers]
"""Sums of log-probabilities, log-probabilities of the new tokens, and indices into the hypotheses of a sentence *
vocabulary: (sentences, rank) each, best first, ties in any order."""


@compiled_noinline
def survey(inputs: Inputs, linear: Weights, largest: Numbers, totals: Numbers) -> None:
    """Write the largest logit of each tile, (rows, tiles), and the log-sum-exp of each row, (rows,), which is NaN if a
    logit is infinite or NaN.

    Exponentials are relative to the largest logit so far; when a larger one occurs, the sums are rescaled (Milakov and
    Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3).
    """
    noinline()
    logits, sums = np.empty((GROUP, TILE * LANES), np.float32), np.zeros((len(totals), LANES), np.float32)
    most = np.full(len(totals), LOWEST, np.float32)
    for tile in range(largest.shape[1]):
        block = tile * TILE
        blocks = min(TILE, count_blocks(linear) - block)
        count = min(TILE * LANES, linear.outputs - block * LANES)
        for first in range(0, len(totals), GROUP):
            fit = min(GROUP, len(totals) - first)
            multiply_tile(inputs, first, fit, linear, block, blocks, logits, 0, 0, False)
            for inside in range(fit):
                row = first + inside
                for behind in range(count, TILE * LANES):
                    logits[inside, behind] = LOWEST
                largest[row, tile] = largest_logit(logits, inside)
                if largest[row, tile] > most[row]:
                    scale = np.float32(math.exp(most[row] - largest[row, tile]))
                    for lane in range(LANES):
                        sums[row, lane] *= scale
                    most[row] = largest[row, tile]
                add_exponentials(logits, inside, most[row], sums, row)
    for row in range(len(totals)):
        totals[row] = most[row] + math.log(total_of(sums, row * LANES, LANES))


@compiled_noinline
def find_best(features: Numbers, linear: Weights, before: Numbers, firsts: Integers, best: Best) -> bool:
    """Write the continuations of each sentence with the largest sums; returns whether no prediction is NaN.

    Args:
        features: (rows, model): a row for each hypothesis, sentence by sentence.
        before: (rows,): log-probability of each hypothesis.
        firsts: (sentences + 1,): index of the first row of each sentence.
        best: written to; if there are fewer, the rest is -inf.
    """
    noinline()
    (sums, gained, indices), inputs, blocks = best, prepare_inputs(features, linear), count_blocks(linear)
    tiles = -(-blocks // TILE)
    largest, totals = np.empty((len(features), tiles), np.float32), np.empty(len(features), np.float32)
    survey(inputs, linear, largest, totals)
    for row in range(len(totals)):
        if math.isnan(totals[row]):
            return False
    rank = sums.shape[1]
    logits = np.empty((1, TILE * LANES), dtype=np.float32)
    bounds, places = np.empty(rank, dtype=np.float32), np.empty(rank, dtype=np.int64)
    for sentence in range(len(sums)):
        first, chosen, count = firsts[sentence], 0, 0
        sums[sentence], gained[sentence], indices[sentence] = -np.inf, -np.inf, 0
        for row in range(first, firsts[sentence + 1]):
            for tile in range(tiles):
                bound = (largest[row, tile] - totals[row]) + before[row]
                if chosen < rank:
                    chosen += 1
                elif not bound > bounds[-1]:
                    continue
                _insert(bound, row * tiles + tile, bounds[:chosen], places[:chosen])
        for number in range(chosen):
            if count == rank and not bounds[number] > sums[sentence, -1]:
                break
            row, block = places[number] // tiles, places[number] % tiles * TILE
            multiply_tile(inputs, row, 1, linear, block, min(TILE, blocks - block), logits, 0, 0, False)
            for output in range(min(TILE * LANES, linear.outputs - block * LANES)):
                gain = logits[0, output] - totals[row]
                total = gain + before[row]
                if count < rank:
                    count += 1
                elif not total > sums[sentence, -1]:
                    continue
                index = (row - first) * linear.outputs + block * LANES + output
                at = _insert(total, index, sums[sentence, :count], indices[sentence, :count])
                for later in range(count - 1, at, -1):
                    gained[sentence, later] = gained[sentence, later - 1]
                gained[sentence, at] = gain
    return True


@compiled
def _insert(value: float, index: int, values: Numbers, indices: Integers) -> int:
    """Insert into values in descending order, dropping the last; returns the index."""
    rank = len(values) - 1
    while rank > 0 and values[rank - 1] < value:
        values[rank], indices[rank] = values[rank - 1], indices[rank - 1]
        rank -= 1
    values[rank], indices[rank] = value, index
    return rank
