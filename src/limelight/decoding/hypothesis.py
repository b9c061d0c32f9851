"""The result of a search."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A candidate output: tokens and their log-probabilities.

    Attributes:
        ids: target tokens without start and end; a forced prefix is part of them.
        score: by which hypotheses are ranked. Beam search: `log_probability / length_penalty(tokens)`, the end, if any,
            counted as a token; greedy search and sampling: `log_probability`.
        log_probability: sum over all tokens, natural logarithm; forced tokens count, and so does the end if `finished`.
        finished: whether the end was reached within the length limit.
        log_probabilities: of each token, and of the end if `finished`; empty for partial results.
    """

    ids: tuple[int, ...]
    score: float
    log_probability: float
    finished: bool
    log_probabilities: tuple[float, ...] = field(default=(), compare=False)
