"""Log-probability of given translations, with teacher forcing.

   log p(y | x) = sum_t log p(y_t | y_<t, x)        natural logarithm, including the end of the sentence

The tokens come from the best segmentation. A pair's score is batch-invariant and does not depend on padding.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from limelight.config import find_direction
from limelight.errors import UserError
from limelight.inspection.batches import batches_of, pair_log_probabilities
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.tokens.tokenizer import END_PIECE


class PairScore(NamedTuple):
    """Log-probability of one target."""

    log_probability: float
    """Sum over the target's tokens and its end, natural logarithm."""
    tokens: int
    """Number of tokens, the end included."""


class TokenScores(NamedTuple):
    """Log-probability of each token of one target."""

    tokens: tuple[str, ...]
    """The target's tokens; the last one is `</s>`."""
    log_probabilities: tuple[float, ...]
    """Log-probability of each token given the source and the previous tokens, natural logarithm."""


def score_pairs(translator: Translator, pairs: Sequence[Pair], **how: Any) -> list[PairScore]:
    """Log-probability of each pair's target given its source, in the order of `pairs`; see `score_tokens`."""
    scores = score_tokens(translator, pairs, **how)
    return [PairScore(math.fsum(pair_scores.log_probabilities), len(pair_scores.tokens)) for pair_scores in scores]


def score_tokens(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    source_lang: str | None = None,
    target_lang: str | None = None,
    batch_tokens: int = 4096,
) -> list[TokenScores]:
    """Log-probability of each token of each pair's target given its source, in the order of `pairs`.

    `batch_tokens` bounds rows times the longest side of a batch; a longer pair is a batch of its own.
    """
    model = translator.model
    # Without its tag, a model of several directions would score in an unspecified language.
    direction = find_direction(translator.directions, source_lang or "", target_lang or "")
    tokenizers = translator.tokenizers_of(direction)
    sources = [tokenizers.source.encode(pair.source) for pair in pairs]
    forced = translator.forced(direction)
    targets = [[*forced, *tokenizers.target.encode(pair.target)] for pair in pairs]
    values = pair_log_probabilities(model, batches_of(model, sources, targets, batch_tokens=batch_tokens))
    pieces = tokenizers.target.pieces
    begin = len(forced)
    return [
        TokenScores((*pieces(ids[begin:]), END_PIECE), tuple(row[begin:].tolist()))
        for ids, row in zip(targets, values, strict=True)
    ]


def perplexity(scores: Sequence[PairScore]) -> float:
    """exp of the mean negative log-probability per token.

    Comparable only between models with the same target vocabulary. Raises `UserError` if there are no scores.
    """
    if not scores:
        raise UserError("there is no perplexity of an empty corpus: give at least one pair")
    mean = math.fsum(score.log_probability for score in scores) / sum(score.tokens for score in scores)
    try:
        return math.exp(-mean)
    except OverflowError:
        return math.inf
