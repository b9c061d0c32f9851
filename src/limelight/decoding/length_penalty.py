"""How length enters a search: what it costs, and where it ends."""

from typing import NamedTuple

import numpy as np

from limelight.decoding.host import Numbers


class LengthPenalty(NamedTuple):
    """lp(Y) = ((k + |Y|) / (k + 1))^alpha, with k = 5 (Wu et al. 2016, equation 14, without its coverage term).

    A sum of log-probabilities falls with every token; divided by this, long hypotheses can stand beside short ones.
    |Y| counts tokens, the end included. alpha = 0 gives 1: nothing is normalized. With k = 0 it is |Y|^alpha, which
    fairseq, Marian, CTranslate2 and transformers call the length penalty; alpha = 1 then ranks by the mean.
    """

    alpha: float
    offset: float = 5.0
    """k"""

    def at(self, length: float) -> float:
        """Of a hypothesis of so many tokens; of none at all as of one, where the formula would give 0."""
        tokens = length if self.offset else max(length, 1.0)
        result: float = ((self.offset + tokens) / (self.offset + 1)) ** self.alpha
        return result


def penalties_at(lengths: Numbers, alphas: Numbers, offsets: Numbers) -> Numbers:
    """`LengthPenalty(alpha, offset).at(length)` for each of many."""
    result: Numbers = ((offsets + np.maximum(lengths, offsets == 0)) / (offsets + 1)) ** alphas
    return result


def max_target_length(source_tokens: int, factor: float, extra: int) -> int:
    """The most tokens a translation may have, its end not counted: `factor * source_tokens + extra`, rounded down.

    `source_tokens` is without the end, too. The paper takes a factor of 1 and 50 extra (Vaswani et al. 2017, 6.1).
    """
    return int(factor * source_tokens + extra)
