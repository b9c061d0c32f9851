"""How length enters a search: what it costs, and where it ends."""

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt


class LengthPenalty(NamedTuple):
    """lp(Y) = ((k + |Y|) / (k + 1))^alpha, with k = 5 (Wu et al. 2016, equation 14, without its coverage term).

    A sum of log-probabilities falls with every piece; divided by this, long hypotheses can stand beside short ones.
    |Y| counts pieces, the end included. alpha = 0 gives 1: nothing is normalised. With k = 0 it is |Y|^alpha, which
    fairseq, Marian, CTranslate2 and transformers call the length penalty; alpha = 1 then ranks by the mean.
    """

    alpha: float
    offset: float = 5.0
    """k"""

    @overload
    def at(self, length: float) -> float: ...
    @overload
    def at(self, length: npt.NDArray[Any]) -> npt.NDArray[np.float64]: ...
    def at(self, length: float | npt.NDArray[Any]) -> float | npt.NDArray[np.float64]:
        """Of a hypothesis of so many pieces; of none at all as of one, where the formula would give 0."""
        pieces = length if self.offset else np.maximum(length, 1.0)
        result: float | npt.NDArray[np.float64] = ((self.offset + pieces) / (self.offset + 1)) ** self.alpha
        return result


def max_target_length(source_pieces: int, factor: float, extra: int) -> int:
    """The most pieces a translation may have, its end not counted: `factor * source_pieces + extra`, rounded down.

    `source_pieces` is without the end, too. The paper takes a factor of 1 and 50 extra (Vaswani et al. 2017, 6.1).
    """
    return int(factor * source_pieces + extra)
