"""What every search returns."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as the model sees it: tokens and how probable it finds them.

    Attributes:
        ids: target tokens without start and end; a forced prefix is part of them.
        score: what the search ranks by. Beam search: `log_probability / length_penalty(tokens)`, the end counted as a
            token where there is one; greedy search and sampling rank nothing and give `log_probability`.
        log_probability: sum over all tokens, natural logarithm; forced tokens count, and so does the end if `finished`.
        finished: whether the end was reached within the length limit.
        log_probabilities: of each token, and of the end if `finished`; empty for what is not decided yet.
    """

    ids: tuple[int, ...]
    score: float
    log_probability: float
    finished: bool
    log_probabilities: tuple[float, ...] = field(default=(), compare=False)
