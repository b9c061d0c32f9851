"""Leaving out one source word at a time, and how that changes the probability of each target token.

A weight of attention says what a model looks at, and an erasure what it needs (Li, Monroe and Jurafsky 2016,
"Understanding Neural Networks through Representation Erasure", equation 1). No weight is read here, so that the two can
be compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inspection.batches import batches_of, pair_log_probabilities
from limelight.models.interface import Seq2Seq
from limelight.tokens import Tokenizer
from limelight.tokens.tokenizer import is_control


class TokenizedPair(NamedTuple):
    """A sentence pair as token ids, without ends, and the words of each token."""

    source: Sequence[int]
    target: Sequence[int]
    source_words: Sequence[Sequence[int]]
    target_words: Sequence[Sequence[int]]
    sizes: tuple[int, int]
    """Words of source and target."""

    def tokens_of(self, wanted: int) -> list[int]:
        """The source tokens of a word."""
        return [token for token, words in enumerate(self.source_words) if wanted in words]


def with_words(tokenizer: Tokenizer, source: Sequence[int], target: Sequence[int]) -> TokenizedPair:
    """A pair with the word of each source token, none for a tag: tags are no words of a text. Each target token is a
    word."""
    pieces, numbers = tokenizer.pieces(source), tokenizer.word_of(source)
    words = [[] if is_control(piece) else [word] for piece, word in zip(pieces, numbers, strict=True)]
    targets = [[token] for token in range(len(target))]
    return TokenizedPair(source, target, words, targets, (len({*numbers}), len(targets)))


MAX_POSITIONS = 500
"""Rows times the longer side of a batch: with 32,000 tokens the probabilities of all of them take 64 MB. Larger batches
are slower."""


def erasures(model: Seq2Seq, pair: TokenizedPair) -> npt.NDArray[np.float64]:
    """(source words, target tokens): log p(y_t | x, y_<t) - log p(y_t | x without word w, y_<t).

    A word without tokens changes nothing: its row is zero. Shortened sources are computed in batches of at most
    `MAX_POSITIONS` positions.
    """
    erased = sorted({word for words in pair.source_words for word in words})
    tokens = list(zip(pair.source, pair.source_words, strict=True))
    sources = [pair.source, *([token for token, words in tokens if word not in words] for word in erased)]
    corpus = batches_of(model, sources, [pair.target] * len(sources), batch_tokens=MAX_POSITIONS)
    log_probabilities = np.stack(pair_log_probabilities(model, corpus))
    drops = np.zeros((pair.sizes[0], len(pair.target)))
    drops[erased] = (log_probabilities[0] - log_probabilities[1:])[:, :-1]
    return drops


MIN_DROP = 0.1
"""Nats: a smaller change of a log-probability says nothing of what a token needs."""


def needed_words(model: Seq2Seq, pair: TokenizedPair) -> list[list[int]]:
    """For each target token, and none for the end after them, the source tokens of the word whose removal lowers its
    log-probability most; none if all changes are smaller than `MIN_DROP`."""
    needed = [
        pair.tokens_of(int(drops.argmax())) if drops.max(initial=0) >= MIN_DROP else []
        for drops in erasures(model, pair).T
    ]
    return [*needed, []]
