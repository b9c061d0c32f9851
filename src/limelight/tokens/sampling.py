"""Subword sampling, word by word, with a seeded generator.

The seed of sentencepiece's generator is not valid across processes; a resumed run would get other segmentations. Here
all draws depend only on the seed, in any process. Words are sampled separately, as tokens contain no inner spaces.
"""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

Word = tuple[int, ...]
Draw = Callable[[Word], Word]

VARIANTS = 16
"""Number of segmentations drawn for each word per call; its occurrences choose among them."""


def sample_rows(
    rows: Sequence[Sequence[int]], begins: Sequence[bool], alone: Sequence[bool], draw: Draw
) -> list[list[int]]:
    """Resample the segmentation of each word in each row.

    Args:
        begins: for each id, whether its token begins a word.
        alone: for each id, whether it is a word that is never split.
    """
    sampled = []
    for row in rows:
        ids: list[int] = []
        word: list[int] = []
        for number in row:
            if begins[number] or alone[number]:
                ids += draw(tuple(word))
                word = []
            if alone[number]:
                ids.append(number)
            else:
                word.append(number)
        ids += draw(tuple(word))
        sampled.append(ids)
    return sampled


class BpeDropout:
    """BPE-dropout (Provilkov et al. 2020, algorithm 1).

    Before each merge, every possible merge is dropped with probability p; the remaining one that was learned first is
    applied. A word is finished when no merge remains.
    """

    def __init__(self, pieces: Sequence[str], fixed: Sequence[bool]) -> None:
        self._pieces, self._fixed = pieces, fixed
        self._ids = {piece: number for number, piece in enumerate(pieces) if not fixed[number]}  # in order of learning

    def draws(self, amount: float, seed: int) -> Draw:
        """A function that samples a segmentation of a word; equal seeds give equal sequences."""
        random = Random(seed)

        @cache
        def variant(word: Word, _number: int) -> Word:
            return self._segment(word, amount, random)

        return lambda word: variant(word, int(random.random() * VARIANTS))

    def _segment(self, word: Word, amount: float, random: Random) -> Word:
        if any(self._fixed[number] for number in word):
            return word
        parts = list("".join(self._pieces[number] for number in word))
        while True:
            first, position = len(self._pieces), -1
            for left in range(len(parts) - 1):
                merged = self._ids.get(parts[left] + parts[left + 1], first)
                if merged < first and random.random() >= amount:
                    first, position = merged, left
            if position < 0:
                break
            parts[position : position + 2] = [self._pieces[first]]
        return tuple(self._ids[part] for part in parts) if all(part in self._ids for part in parts) else word
