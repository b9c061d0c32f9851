"""Rules of a request: which tokens may not come next, given those so far.

A new one is a function that makes it of its value, and a row in `RULES`; the name of the row is the option that asks
for it (`Translator.translate(text, no_repeat_ngram=3)`). It is applied to the hypotheses of those requests that ask for
it and costs the others nothing. Whatever a rule leaves, the probabilities stay those of the model.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from limelight.decoding.host import Integers, Truths
from limelight.errors import UserError

Rule = Callable[[Integers, Truths], None]
"""(hypotheses, position) the tokens so far; (hypotheses, vocab) which may come next: a rule makes entries False.

Where nothing is left of a hypothesis, it ends. Forced tokens come whatever the rules say.
"""


def no_repeat_ngram(size: Any) -> Rule:
    """No run of `size` tokens comes twice (Paulus et al. 2017, section 2.5): what ends loops.

    Raises `UserError` for a size that is no whole number of at least 1.
    """
    if not isinstance(size, int) or size < 1:
        raise UserError(f"no_repeat_ngram must be a whole number of at least 1, not {size!r}")

    def rule(tokens: Integers, permitted: Truths) -> None:
        if tokens.shape[1] < size:
            return
        runs = np.lib.stride_tricks.sliding_window_view(tokens, size, axis=1)
        begun = tokens[:, tokens.shape[1] - size + 1 :]
        for hypothesis, run in zip(*np.nonzero((runs[:, :, :-1] == begun[:, None]).all(axis=2)), strict=True):
            permitted[hypothesis, runs[hypothesis, run, -1]] = False

    return rule


def without(runs: Sequence[Sequence[int]]) -> Rule:
    """None of these runs of tokens comes: phrases that a request excludes."""

    def rule(tokens: Integers, permitted: Truths) -> None:
        for *begun, last in runs:
            place = tokens.shape[1] - len(begun)
            if place >= 0:
                permitted[(tokens[:, place:] == begun).all(axis=1), last] = False

    return rule


RULES: dict[str, Callable[[Any], Rule]] = {"no_repeat_ngram": no_repeat_ngram}
"""Each rule by the name of its option: makes it of the option's value, or raises `UserError`."""
