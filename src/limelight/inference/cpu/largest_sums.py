"""The largest sums of a beam's hypotheses, in one pass over the log-probabilities of all tokens.

Sorting thousands of tokens for the best few would cost as much as the model. Most blocks of tokens contain none: a
block is searched only if its largest log-probability would be among the best so far.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.jit import Integers, Numbers, compiled
from limelight.inference.cpu.simd import maximum


@compiled
def find_largest_sums(
    log_probabilities: Numbers, before: Numbers, firsts: Integers, block_size: int, sums: Numbers, indices: Integers
) -> None:
    """The largest sums of each sentence, best first, ties in any order.

    Args:
        log_probabilities: (rows, vocab): of each hypothesis, sentence by sentence.
        before: (rows,): log-probability of each hypothesis, added to those of its tokens.
        firsts: (batch + 1,): index of the first row of each sentence.
        block_size: number of tokens per block.
        sums, indices: (batch, rank): the sums and their indices into the sentence's rows * vocab; written to; if there
            are fewer, the rest is not changed.
    """
    vocab = log_probabilities.shape[1]
    for sentence in range(len(sums)):
        found, first = 0, firsts[sentence]
        for row in range(first, firsts[sentence + 1]):
            for start in range(0, vocab, block_size):
                block = log_probabilities[row, start : start + block_size]
                if found == sums.shape[1] and not _largest(block) + before[row] > sums[sentence, -1]:
                    continue
                for inside in range(len(block)):
                    total = block[inside] + before[row]
                    if found < sums.shape[1]:
                        found += 1
                    elif not total > sums[sentence, -1]:
                        continue
                    index = (row - first) * vocab + start + inside
                    insert(total, index, sums[sentence, :found], indices[sentence, :found])


@compiled
def _largest(values: Numbers) -> float:
    most = values[0]
    for index in range(1, len(values)):
        most = maximum(most, values[index])
    return most


@compiled
def insert(value: float, index: int, values: npt.NDArray[np.floating[Any]], indices: Integers) -> int:
    """Insert into values in descending order, dropping the last; returns the index."""
    rank = len(values) - 1
    while rank > 0 and values[rank - 1] < value:
        values[rank], indices[rank] = values[rank - 1], indices[rank - 1]
        rank -= 1
    values[rank], indices[rank] = value, index
    return rank
