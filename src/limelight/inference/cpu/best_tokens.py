"""The best next tokens of a beam, without a table of the log-probabilities of all tokens.

To write, normalize and search a table of hypotheses times vocabulary takes as long as the product that fills it. Here
logits are made a tile at a time. Of a tile only the largest logit and the sum of exponentials are kept. The best tokens
are in the few tiles with the largest logits, which are made again: their sums are integers, so they have the same bits.
"""

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.inference.cpu.exponential import exponential
from limelight.inference.cpu.int8 import Int8Weights, multiply, to_bytes
from limelight.inference.cpu.jit import Integers, Numbers, compiled
from limelight.inference.cpu.largest_sums import insert
from limelight.inference.cpu.simd import GROUP, LANES, TILE, multiply_tile
from limelight.inference.cpu.simd_softmax import add_exponentials, largest_logit
from limelight.models.interface import Best, Ranking
from limelight.shapes import Float

LOWEST = np.float32(-1e38)
"""Below every logit, and far enough from the least number for differences."""


@partial(compiled, exact=True)
def survey(inputs: Numbers, linear: Int8Weights, largest: Numbers, totals: Numbers) -> None:
    """The largest logit of each tile, (rows, tiles), and the logarithm of the sum of the exponentials of all logits of
    each row, (rows,): NaN where a logit is infinite or NaN. Both are written to.

    The exponentials are of the difference to the largest logit so far; when a larger one comes, their sums are scaled
    (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3).
    """
    bytes_of = to_bytes(inputs, linear)
    found, sums = np.empty((GROUP, TILE * LANES), np.float32), np.zeros((len(inputs), LANES), np.float32)
    most = np.full(len(inputs), LOWEST, np.float32)
    for tile in range(largest.shape[1]):
        block = tile * TILE
        blocks, count = min(TILE, len(linear.values) - block), min(TILE * LANES, linear.outputs - block * LANES)
        for first in range(0, len(inputs), GROUP):
            multiply_tile(bytes_of, first, linear, block, blocks, found)
            for inside in range(min(GROUP, len(inputs) - first)):
                row = first + inside
                found[inside, count:] = LOWEST
                largest[row, tile] = largest_logit(found, inside)
                if largest[row, tile] > most[row]:
                    sums[row] *= exponential(most[row] - largest[row, tile])
                    most[row] = largest[row, tile]
                add_exponentials(found, inside, most[row], sums, row)
    for row in range(len(inputs)):
        totals[row] = most[row] + math.log(sums[row].sum())


@partial(compiled, exact=True)
def find_best(
    inputs: Numbers,
    linear: Int8Weights,
    surveyed: tuple[Numbers, Numbers],
    before: Numbers,
    firsts: Integers,
    best: tuple[Numbers, Numbers, Integers],
) -> None:
    """The continuations of each sentence with the largest sums of log-probabilities, best first, equal ones in any
    order.

    Args:
        inputs: (rows, in): of each hypothesis, sentence by sentence.
        surveyed: what `survey` has filled.
        before: (rows,): the log-probability of each hypothesis.
        firsts: (sentences + 1,): where the rows of each sentence begin.
        best: (sentences, rank) each: sums, log-probabilities of the tokens alone, and indices among the sentence's
            rows * vocabulary; written to; where there are fewer, the rest is left as it is.
    """
    (largest, totals), (sums, gained, indices) = surveyed, best
    bytes_of = to_bytes(inputs, linear)
    found, rank, tiles = np.empty((GROUP, TILE * LANES), dtype=np.float32), sums.shape[1], largest.shape[1]
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
            block, inside = tile * TILE, row % GROUP
            blocks = min(TILE, len(linear.values) - block)
            multiply_tile(bytes_of, row - inside, linear, block, blocks, found)
            for output in range(min(TILE * LANES, linear.outputs - block * LANES)):
                gain = found[inside, output] - totals[row]
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


class Int8Ranking(Ranking):
    """The log-probabilities of all tokens after each hypothesis, with an output projection of eight bits."""

    def __init__(self, features: Float[Tensor, "rows features"], linear: Int8Weights) -> None:
        self._inputs: Numbers = features.detach().float().contiguous().numpy()
        self._linear = linear
        rows, tiles = len(features), -(-len(linear.values) // TILE)
        self._largest, self._totals = np.empty((rows, tiles), np.float32), np.empty(rows, np.float32)
        survey(self._inputs, linear, self._largest, self._totals)

    @property
    def is_sound(self) -> bool:
        """See `Ranking`."""
        return not np.isnan(self._totals).any()

    def best(self, before: npt.NDArray[np.float64], firsts: Integers, count: int) -> Best:
        """See `Ranking`."""
        shape = len(firsts) - 1, count
        sums, gained = np.full(shape, -np.inf, np.float32), np.full(shape, -np.inf, np.float32)
        indices = np.zeros(shape, np.int64)
        surveyed = self._largest, self._totals
        find_best(self._inputs, self._linear, surveyed, before.astype(np.float32), firsts, (sums, gained, indices))
        parents, ids = np.divmod(indices, self._linear.outputs)
        return Best(sums.astype(np.float64), gained.astype(np.float64), parents, ids)

    def __getitem__(self, rows: slice) -> Float[Tensor, "some vocab"]:
        """See `Ranking`."""
        inputs = self._inputs[rows]
        logits = np.empty((len(inputs), self._linear.outputs), np.float32)
        multiply(inputs, self._linear, logits)
        logits -= self._totals[rows, None]
        return torch.from_numpy(logits)
