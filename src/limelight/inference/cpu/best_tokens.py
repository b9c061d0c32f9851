"""The best next tokens of a beam, without a table of all log-probabilities.

Writing, normalizing and searching a table of hypotheses times vocabulary takes as long as the product that fills it.
Here logits are computed in tiles, of which only the largest logit and the sum of exponentials are kept. The best tokens
are in the few tiles with the largest logits, which are computed again: their sums are integers, so they have the same
bits.
"""

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.inference.cpu.int8 import Int8Rows, Int8Weights, multiply, to_bytes
from limelight.inference.cpu.jit import Integers, Numbers, compiled
from limelight.inference.cpu.largest_sums import insert
from limelight.inference.cpu.simd import GROUP, LANES, TILE, apart, maximum, multiply_tile, power_of_two
from limelight.inference.cpu.simd_softmax import add_exponentials, largest_logit
from limelight.inference.cpu.vectors import total_of
from limelight.models.interface import Best, MostProbable, Ranking
from limelight.shapes import Float

LOG2_E, LN_2 = np.float32(math.log2(math.e)), np.float32(math.log(2))


@compiled
def exponential(value: np.float32) -> np.float32:
    """exp of a number that is not above zero, in single precision; at least 2^-126.

    The library's exp takes one number at a time, a loop over this function sixteen: 2^x is 2^n, with integer n, times
    2^f with f between -1/2 and 1/2, by its series.
    """
    exponent = maximum(value * LOG2_E, np.float32(-126))
    whole = np.int32(exponent - np.float32(0.5))  # truncation rounds to nearest here, as no exponent is above zero
    part = (exponent - np.float32(whole)) * LN_2
    series = np.float32(1 / 720)
    for factor in (1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        series = series * part + np.float32(factor)
    power: np.float32 = series * power_of_two(whole)
    return power


LOWEST = np.float32(-1e38)
"""Below every logit, but not so low that differences overflow."""


Surveyed = tuple[Numbers, Numbers]
"""The largest logit of each tile, (rows, tiles), and the log-sum-exp of each row, (rows,); NaN if a logit is infinite
or NaN."""


@partial(compiled, apart=True)
def survey(rows: Int8Rows, linear: Int8Weights, surveyed: Surveyed) -> None:
    """Compute `surveyed` for the logits of int8 rows.

    Exponentials are relative to the largest logit so far; when a larger one occurs, the sums are rescaled (Milakov and
    Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3).
    """
    apart()
    largest, totals = surveyed
    found, sums = np.empty((GROUP, TILE * LANES), np.float32), np.zeros((len(totals), LANES), np.float32)
    most = np.full(len(totals), LOWEST, np.float32)
    for tile in range(largest.shape[1]):
        block = tile * TILE
        blocks = min(TILE, len(linear.values) - block)
        count = min(TILE * LANES, linear.outputs - block * LANES)
        for first in range(0, len(totals), GROUP):
            fit = min(GROUP, len(totals) - first)
            multiply_tile(rows, first, fit, linear, block, blocks, found, 0, 0, False)
            for inside in range(fit):
                row = first + inside
                for behind in range(count, TILE * LANES):
                    found[inside, behind] = LOWEST
                largest[row, tile] = largest_logit(found, inside)
                if largest[row, tile] > most[row]:
                    scale = exponential(most[row] - largest[row, tile])
                    for lane in range(LANES):
                        sums[row, lane] *= scale
                    most[row] = largest[row, tile]
                add_exponentials(found, inside, most[row], sums, row)
    for row in range(len(totals)):
        totals[row] = most[row] + math.log(total_of(sums, row * LANES, LANES))


@partial(compiled, apart=True)
def find_best(
    rows: Int8Rows,
    linear: Int8Weights,
    surveyed: Surveyed,
    before: Numbers,
    firsts: Integers,
    best: tuple[Numbers, Numbers, Integers],
) -> None:
    """The continuations of each sentence with the largest sums of log-probabilities, best first, ties in any order.

    Args:
        rows: activations of each hypothesis, sentence by sentence.
        surveyed: the result of `survey`.
        before: (rows,): log-probability of each hypothesis.
        firsts: (sentences + 1,): index of the first row of each sentence.
        best: (sentences, rank) each: sums, log-probabilities of the new tokens, and indices into the sentence's rows *
            vocabulary; written to; if there are fewer, the rest is not changed.
    """
    apart()
    (largest, totals), (sums, gained, indices) = surveyed, best
    found, rank, tiles = np.empty((1, TILE * LANES), dtype=np.float32), sums.shape[1], largest.shape[1]
    bounds, places = np.empty(rank, dtype=np.float32), np.empty(rank, dtype=np.int64)
    for sentence in range(len(sums)):
        first, chosen, count = firsts[sentence], 0, 0
        for row in range(first, firsts[sentence + 1]):
            for tile in range(tiles):
                bound = (largest[row, tile] - totals[row]) + before[row]
                if chosen < rank:
                    chosen += 1
                elif not bound > bounds[-1]:
                    continue
                insert(bound, row * tiles + tile, bounds[:chosen], places[:chosen])
        for number in range(chosen):
            if count == rank and not bounds[number] > sums[sentence, -1]:
                break
            row, tile = places[number] // tiles, places[number] % tiles
            block = tile * TILE
            multiply_tile(rows, row, 1, linear, block, min(TILE, len(linear.values) - block), found, 0, 0, False)
            for output in range(min(TILE * LANES, linear.outputs - block * LANES)):
                gain = found[0, output] - totals[row]
                total = gain + before[row]
                if count < rank:
                    count += 1
                elif not total > sums[sentence, -1]:
                    continue
                index = (row - first) * linear.outputs + block * LANES + output
                at = insert(total, index, sums[sentence, :count], indices[sentence, :count])
                for later in range(count - 1, at, -1):
                    gained[sentence, later] = gained[sentence, later - 1]
                gained[sentence, at] = gain


@partial(compiled, apart=True)
def find_most_probable(rows: Int8Rows, linear: Int8Weights, surveyed: Surveyed, ids: Integers, gained: Numbers) -> None:
    """The token of each row with the largest log-probability, the first one in case of ties, and that
    log-probability."""
    apart()
    largest, totals = surveyed
    found = np.empty((1, TILE * LANES), dtype=np.float32)
    for row in range(len(totals)):
        best, most = 0, largest[row, 0] - totals[row]
        for tile in range(1, largest.shape[1]):
            if largest[row, tile] - totals[row] > most:
                best, most = tile, largest[row, tile] - totals[row]
        block = best * TILE
        multiply_tile(rows, row, 1, linear, block, min(TILE, len(linear.values) - block), found, 0, 0, False)
        inside = 0
        while found[0, inside] - totals[row] < most:
            inside += 1
        ids[row], gained[row] = block * LANES + inside, most


class Int8Ranking(Ranking):
    """The log-probabilities after each hypothesis for an int8 output projection."""

    def __init__(self, features: Float[Tensor, "rows features"], linear: Int8Weights) -> None:
        inputs: Numbers = features.detach().float().contiguous().numpy()
        self._linear, self._rows = linear, to_bytes(inputs, linear)
        self._inputs = inputs
        rows, tiles = len(features), -(-len(linear.values) // TILE)
        self._surveyed = np.empty((rows, tiles), np.float32), np.empty(rows, np.float32)
        survey(self._rows, linear, self._surveyed)

    @property
    def is_sound(self) -> bool:
        return not np.isnan(self._surveyed[1]).any()

    def best(self, before: npt.NDArray[np.float64], firsts: Integers, count: int) -> Best:
        shape = len(firsts) - 1, count
        sums, gained = np.full(shape, -np.inf, np.float32), np.full(shape, -np.inf, np.float32)
        indices = np.zeros(shape, np.int64)
        best = sums, gained, indices
        find_best(self._rows, self._linear, self._surveyed, before.astype(np.float32), firsts, best)
        parents, ids = np.divmod(indices, self._linear.outputs)
        return Best(sums.astype(np.float64), gained.astype(np.float64), parents, ids)

    def most_probable(self) -> MostProbable:
        ids, gained = np.empty(len(self._inputs), np.int64), np.empty(len(self._inputs), np.float32)
        find_most_probable(self._rows, self._linear, self._surveyed, ids, gained)
        return MostProbable(ids, gained.astype(np.float64))

    def __getitem__(self, rows: slice) -> Float[Tensor, "some vocab"]:
        inputs = self._inputs[rows]
        logits = np.empty((len(inputs), self._linear.outputs), np.float32)
        multiply(inputs, self._linear, logits)
        logits -= self._surveyed[1][rows, None]
        return torch.from_numpy(logits)
