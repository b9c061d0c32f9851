"""How length enters a search: what it costs, and where it ends."""

from typing import overload

from torch import Tensor


@overload
def length_penalty(length: int, alpha: float) -> float: ...
@overload
def length_penalty(length: Tensor, alpha: float) -> Tensor: ...
def length_penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    """lp(Y) = ((5 + |Y|) / (5 + 1))^alpha (Wu et al. 2016, equation 14, without its coverage term).

    A sum of log-probabilities falls with every piece; divided by this, long hypotheses can stand beside short ones.
    |Y| counts pieces, the end included. alpha = 0 gives 1: nothing is normalised.
    """
    return ((5 + length) / 6) ** alpha


def max_target_length(source_pieces: int, factor: float, extra: int) -> int:
    """The most pieces a translation may have, its end not counted: `factor * source_pieces + extra`, rounded down.

    `source_pieces` is without the end, too. The paper takes a factor of 1 and 50 extra (Vaswani et al. 2017, 6.1).
    """
    return int(factor * source_pieces + extra)
