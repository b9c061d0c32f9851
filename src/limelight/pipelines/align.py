"""Word alignments of given sentence pairs, from the attention of a translator's model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from limelight.batching.batch import cut_batches
from limelight.config import Direction, find_direction
from limelight.errors import UserError
from limelight.inspection.erasure import TokenizedPair
from limelight.inspection.word_alignment import (
    agreement_of_directions,
    agreement_with_erasure,
    best_sources,
    choose_heads,
    tokenized,
    word_weights,
)
from limelight.models.interface import Seq2Seq, longest_sequence
from limelight.preparation.lexicon import evenly
from limelight.preparation.word_alignment import grow
from limelight.storage.tables import AlignmentHead
from limelight.tokens import Tokenizers

Links = list[tuple[int, int]]
"""Numbers of source and target words that translate one another, sorted."""

WordPair = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence and of its translation."""

MAX_TOKENS = 1000
"""Maximum tokens of a side: every head has a weight for each pair of tokens."""
BATCH_WEIGHTS = 2_000_000
"""Maximum weights of a head in a batch."""
PAIRS_OF_BOTH, PAIRS_OF_ONE = 60, 150
"""Pairs from which heads are chosen. With the bundled model, both directions lead to the same first two heads with any
60 pairs, while erasure sometimes takes another second head with 150."""
LENGTHS = range(6, 31), range(2, 61)
"""Words of a side: in longer sentences a head is right by chance less often. The second range counts if no pair is in
the first one."""


class PairError(UserError):
    """A pair that cannot be aligned, by its number from 1."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"pair {number}: {reason}")
        self.number, self.reason = number, reason


@dataclass(frozen=True)
class AttentionAligner:
    """Aligns words with the cross-attention of a model.

    Attributes:
        towards: the tokenizers of a direction.
        directions: the directions of the model.
        heads: those that align; without any, the mean of all heads is used.
    """

    model: Seq2Seq
    towards: Callable[[Direction | None], Tokenizers]
    directions: Sequence[Direction]
    heads: Sequence[AlignmentHead] = ()

    def align(
        self, pairs: Sequence[WordPair], direction: Direction | None = None, *, symmetrize: bool = True
    ) -> list[Links]:
        """The links of each pair.

        Each target word is linked with the source word that the heads attend to most. If the model also translates in
        the opposite direction, its links are combined with these ("grow-diag-final-and", Koehn et al. 2003), unless
        `symmetrize` is false.

        Raises `UserError` for an ensemble, a model without cross-attention, a direction that the model does not have,
        and a sentence that is too long, with its number.
        """
        known_direction = find_direction(self.directions, *(direction or ("", "")))
        forward = self._best_sources(pairs, known_direction)
        turned = None if known_direction is None else known_direction.reversed
        if not symmetrize or turned is None or turned not in self.directions:
            return [sorted((source, row) for row, source in enumerate(of_pair) if source >= 0) for of_pair in forward]
        backward = self._best_sources([(target, source) for source, target in pairs], turned)
        links = (grow(*both, final=True) for both in zip(forward, backward, strict=True))
        return [[(link.source, link.target) for link in of_pair] for of_pair in links]

    def choose(self, pairs: Sequence[tuple[WordPair, Direction | None]]) -> tuple[list[AlignmentHead], float]:
        """Choose the heads that align, on pairs of any of the directions.

        Returns the heads and their agreement from 0 to 1: of both directions, if the model has them, otherwise with
        erasure; see `inspection.word_alignment`. Raises `UserError` if no pair is usable, and as `align` does.
        """
        turned = {direction.reversed for direction in self.directions}.intersection(self.directions)
        both = [pair for pair in pairs if pair[1] in turned]
        fitting = _spread(both or pairs, PAIRS_OF_BOTH if both else PAIRS_OF_ONE)
        ready = [self._tokenized([words], direction)[0] for words, direction in fitting]
        if not any(pair.source and pair.target for pair in ready):
            raise UserError(
                f"no pair has from {LENGTHS[1][0]} to {LENGTHS[1][-1]} words on each side, so no heads can be chosen; "
                "give other text"
            )
        weights = [word_weights(self.model, [pair])[0] for pair in ready]
        if both:
            opposite = [self._tokenized([words[::-1]], way.reversed) for words, way in fitting if way]
            backward = [word_weights(self.model, pairs)[0] for pairs in opposite]
            agreement = agreement_of_directions(weights, backward)
        else:
            agreement = agreement_with_erasure(self.model, ready, weights)
        return choose_heads(weights[0].shape[1:3], agreement)

    def _best_sources(self, pairs: Sequence[WordPair], direction: Direction | None) -> list[list[int]]:
        """For each target word of each pair its source word, -1 for none."""
        ready = self._tokenized(pairs, direction)
        best: list[list[int]] = [[-1] * pair.sizes[1] for pair in ready]
        rows = [row for row, pair in enumerate(ready) if pair.source and pair.target]
        squares = np.array([(max(len(ready[row].source), len(ready[row].target)) + 1) ** 2 for row in rows])
        for group in cut_batches(squares, squares, tokens=BATCH_WEIGHTS, generator=np.random.default_rng(0)):
            chosen = [rows[index] for index in group]
            for row, weights in zip(chosen, word_weights(self.model, [ready[row] for row in chosen]), strict=True):
                best[row] = best_sources(weights, self.heads)
        return best

    def _tokenized(self, pairs: Sequence[WordPair], direction: Direction | None) -> list[TokenizedPair]:
        tokenizers = self.towards(direction)
        longest = min(longest_sequence(self.model) or MAX_TOKENS + 1, MAX_TOKENS + 1) - 1
        ready = []
        for number, (source, target) in enumerate(pairs, start=1):
            pair = tokenized(tokenizers, source, target)
            for side, ids in (("source", pair.source), ("target", pair.target)):
                if len(ids) > longest:
                    raise PairError(
                        number,
                        f"the {side} has {len(ids):,} tokens, and at most {longest:,} are aligned: split it into "
                        "sentences",
                    )
            ready.append(pair)
        return ready


def _spread(
    pairs: Sequence[tuple[WordPair, Direction | None]], count: int
) -> Sequence[tuple[WordPair, Direction | None]]:
    """At most `count` pairs of fitting lengths, spread evenly."""
    for lengths in LENGTHS:
        if fitting := [pair for pair in pairs if all(len(side) in lengths for side in pair[0])]:
            return evenly(fitting, count)
    return []
