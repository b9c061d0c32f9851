"""Which sentences go into a batch together: like lengths, within a budget of tokens.

A padded place costs as much as a real one. Sorting by target length, and by source length within it, leaves next to no
padding; whole batches are then shuffled, so that the order of training stays random.
"""

import numpy as np

Lengths = np.ndarray
"""(pairs,) whole numbers: pieces of each sentence, the end piece counted."""


def cut_batches(
    source_lengths: Lengths, target_lengths: Lengths, *, tokens: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """Row numbers of each batch, in a random order that follows from the generator alone.

    Args:
        tokens: budget of a batch, as rows times the longest side, padding included. A pair that is longer than the
            budget is a batch of its own.
    """
    order = _by_length(source_lengths, target_lengths, generator)
    longest = np.maximum(source_lengths, target_lengths)[order]
    batches, first, widest = [], 0, 0
    for place, length in enumerate(longest.tolist()):
        widest = max(widest, length)
        if place > first and (place - first + 1) * widest > tokens:
            batches.append(order[first:place])
            first, widest = place, length
    if first < len(order):
        batches.append(order[first:])
    return [batches[number] for number in generator.permutation(len(batches))]


def _by_length(source_lengths: Lengths, target_lengths: Lengths, generator: np.random.Generator) -> np.ndarray:
    """Sorted by target length, then by source length upwards and downwards in turn, equal pairs in random order.

    Turning round at each target length keeps the sources alike across the border to the next one.
    """
    turn = np.where(target_lengths % 2, -source_lengths, source_lengths)
    return np.lexsort((generator.random(len(turn)), turn, target_lengths))


def real_fraction(source_lengths: Lengths, target_lengths: Lengths, batches: list[np.ndarray]) -> float:
    """The share of places, both sides together, that hold a real piece and not padding."""
    real = int(source_lengths.sum() + target_lengths.sum())
    held = sum(len(rows) * int(source_lengths[rows].max() + target_lengths[rows].max()) for rows in batches)
    return real / held if held else 1.0
