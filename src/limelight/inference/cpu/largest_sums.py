"""The largest sums of a beam's hypotheses, in one pass over what the model thinks of each piece.

Sorting thousands of pieces for the best few would cost as much as the model. Most blocks of them hold none: a block is
looked into when its largest piece would be among the best so far.
"""

from functools import partial

from limelight.inference.cpu.attention import Integers
from limelight.inference.cpu.int8 import Numbers, compiled, larger


@partial(compiled, exact=True)
def find_largest_sums(
    log_probabilities: Numbers, before: Numbers, firsts: Integers, block_size: int, sums: Numbers, places: Integers
) -> None:
    """The largest sums of each sentence, best first, equal ones in any order.

    Args:
        log_probabilities: (rows, vocab): of each hypothesis, sentence by sentence.
        before: (rows,): what is added to those of a hypothesis.
        firsts: (batch + 1,): where the rows of each sentence begin.
        block_size: pieces that are looked at together.
        sums, places: (batch, rank): are filled with the sums, and where among the sentence's rows * vocab they stand;
            where there are fewer, the rest is left as it is.
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
                    place = (row - first) * vocab + start + inside
                    _insert(total, place, sums[sentence, :found], places[sentence, :found])


@partial(compiled, exact=True)
def _largest(values: Numbers) -> float:
    most = values[0]
    for place in range(1, len(values)):
        most = larger(most, values[place])
    return most


@partial(compiled, exact=True)
def _insert(value: float, place: int, values: Numbers, places: Integers) -> None:
    """Into values that stand in order, in the place of the last."""
    rank = len(values) - 1
    while rank > 0 and values[rank - 1] < value:
        values[rank], places[rank] = values[rank - 1], places[rank - 1]
        rank -= 1
    values[rank], places[rank] = value, place
