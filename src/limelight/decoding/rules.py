"""Rules of a request: which tokens must not come next, or are less probable, given those so far.

To add a rule, write a function that makes it from the value of its option, and add a row to `RULES`; the key is the
name of the search option (`Translator.translate(text, no_repeat_ngram=3)`). A rule is applied only to requests that set
the option. Probabilities are not renormalized.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from limelight.decoding.host import Integers, Numbers
from limelight.errors import UserError

Rule = Callable[[Integers, Numbers], None]
"""Arguments: the tokens so far, (hypotheses, position); factors of log-probabilities, (hypotheses, vocab), which it
changes: above 1 a token is less probable, infinity forbids it.

A hypothesis without permitted tokens ends. Rules do not apply to forced tokens.
"""


def no_repeat_ngram(size: Any) -> Rule:
    """No n-gram of `size` tokens occurs twice (Paulus et al. 2017, section 2.5), which prevents loops.

    Raises `UserError` for a size that is not a whole number of at least 1.
    """
    if not isinstance(size, int) or size < 1:
        raise UserError(f"no_repeat_ngram must be a whole number of at least 1, not {size!r}")

    def rule(tokens: Integers, factors: Numbers) -> None:
        if tokens.shape[1] < size:
            return
        runs = np.lib.stride_tricks.sliding_window_view(tokens, size, axis=1)
        begun = tokens[:, tokens.shape[1] - size + 1 :]
        for hypothesis, run in zip(*np.nonzero((runs[:, :, :-1] == begun[:, None]).all(axis=2)), strict=True):
            factors[hypothesis, runs[hypothesis, run, -1]] = np.inf

    return rule


def repetition_penalty(penalty: Any) -> Rule:
    """The log-probability of tokens that the hypothesis contains is multiplied by `penalty` (Keskar et al. 2019,
    section 4.1), as in the beam search of transformers, for which 1.2 is usual.

    Raises `UserError` for a number below 1.
    """
    if not isinstance(penalty, int | float) or not 1 <= penalty < np.inf:
        raise UserError(f"repetition_penalty must be a number of at least 1, not {penalty!r}")

    def rule(tokens: Integers, factors: Numbers) -> None:
        rows = np.arange(len(tokens))[:, None]
        factors[rows, tokens] = np.maximum(factors[rows, tokens], penalty)

    return rule


RULES: dict[str, Callable[[Any], Rule]] = {
    "no_repeat_ngram": no_repeat_ngram,
    "repetition_penalty": repetition_penalty,
}
"""Each rule by the name of its option: makes it of the option's value, or raises `UserError`."""
