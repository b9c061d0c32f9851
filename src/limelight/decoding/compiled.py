"""The largest sums of a beam's hypotheses, in one pass over what the model thinks of each piece.

Sorting thousands of pieces for the best few would cost as much as the model. Most blocks of them hold none: a block is
looked into when its largest piece would be among the best so far.
"""

from functools import partial

from limelight.attention.compiled import Integers
from limelight.layers.compiled import Numbers, compiled, larger


@partial(compiled, exact=True)
def find_largest_sums(
    log_probabilities: Numbers, before: Numbers, block_size: int, values: Numbers, places: Integers
) -> None:
    """The largest sums of each sentence, best first, equal ones in any order.

    Args:
        log_probabilities: (batch, width, vocab).
        before: (batch, width): what is added to those of a hypothesis; -inf where there is none.
        block_size: pieces that are looked at together.
        values, places: (batch, rank): are filled with the sums, and where in width * vocab they stand.
    """
    batch, width, vocab = log_probabilities.shape
    for row in range(batch):
        found = 0
        for hypothesis in range(width):
            for start in range(0, vocab, block_size):
                block = log_probabilities[row, hypothesis, start : start + block_size]
                if found == values.shape[1] and not _largest(block) + before[row, hypothesis] > values[row, -1]:
                    continue
                for inside in range(len(block)):
                    total = block[inside] + before[row, hypothesis]
                    if found < values.shape[1]:
                        found += 1
                    elif not total > values[row, -1]:
                        continue
                    _insert(total, hypothesis * vocab + start + inside, values[row, :found], places[row, :found])


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
