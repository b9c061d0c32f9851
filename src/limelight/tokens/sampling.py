"""Subword sampling, word by word, with a seeded generator.

The libraries' generators cannot be seeded, or their seed is not valid across processes; a resumed run would get other
segmentations. Here all draws depend only on the seed, in any process. Words are sampled separately, as tokens of both
kinds of vocabularies contain no inner spaces.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random

from sentencepiece import SentencePieceProcessor

from limelight.tokens.tokenizer import SPACE

Word = tuple[int, ...]
Draw = Callable[[Word], Word]

VARIANTS = 16
"""BPE: number of segmentations drawn for each word per call; its occurrences choose among them."""

N_BEST = 64
"""Unigram: number of best segmentations of a word to sample from; all others are very improbable."""


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
        found: list[int] = []
        word: list[int] = []
        for number in row:
            if begins[number] or alone[number]:
                found += draw(tuple(word))
                word = []
            if alone[number]:
                found.append(number)
            else:
                word.append(number)
        found += draw(tuple(word))
        sampled.append(found)
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
        random, pool = Random(seed), dict[Word, list[Word | None]]()

        def draw(word: Word) -> Word:
            variants = pool.setdefault(word, [None] * VARIANTS)
            place = int(random.random() * VARIANTS)
            found = variants[place]
            if found is None:
                found = variants[place] = self._segment(word, amount, random)
            return found

        return draw

    def _segment(self, word: Word, amount: float, random: Random) -> Word:
        if any(self._fixed[number] for number in word):
            return word
        parts = list("".join(self._pieces[number] for number in word))
        while True:
            first, place = len(self._pieces), -1
            for left in range(len(parts) - 1):
                merged = self._ids.get(parts[left] + parts[left + 1], first)
                if merged < first and random.random() >= amount:
                    first, place = merged, left
            if place < 0:
                break
            parts[place : place + 2] = [self._pieces[first]]
        return tuple(self._ids[part] for part in parts) if all(part in self._ids for part in parts) else word


class UnigramSampling:
    """Sample segmentations with probability proportional to p^alpha (Kudo 2018, section 3.2)."""

    def __init__(self, processor: SentencePieceProcessor, pieces: Sequence[str], fixed: Sequence[bool]) -> None:
        self._processor, self._pieces, self._fixed = processor, pieces, fixed
        self._best = lru_cache(maxsize=1 << 18)(self._find)

    def draws(self, amount: float, seed: int) -> Draw:
        """A function that samples a segmentation of a word; equal seeds give equal sequences."""
        random, known = Random(seed), dict[Word, tuple[list[Word], list[float]]]()

        def draw(word: Word) -> Word:
            if word not in known:
                found = self._best(word)
                highest = found[0][1]
                weights = accumulate(math.exp(amount * (score - highest)) for _, score in found)
                known[word] = ([segmentation for segmentation, _ in found], list(weights))
            segmentations, weights_so_far = known[word]
            return segmentations[
                bisect(weights_so_far, random.random() * weights_so_far[-1], hi=len(segmentations) - 1)
            ]

        return draw

    def _find(self, word: Word) -> list[tuple[Word, float]]:
        """The best segmentations with their log-probabilities; words with special tokens have only the given one."""
        text = "".join(self._pieces[number] for number in word)
        if not text.startswith(SPACE) or text == SPACE or any(self._fixed[number] for number in word):
            return [(word, 0.0)]
        found = [tuple(ids) for ids in self._processor.nbest_encode(text[1:], nbest_size=N_BEST)]
        same = [ids for ids in found if "".join(self._pieces[number] for number in ids) == text]
        scores = [sum(self._processor.get_score(number) for number in ids) for ids in same]
        return list(zip(same, scores, strict=True)) or [(word, 0.0)]
