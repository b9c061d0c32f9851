"""Which tokens must not come next, for a compiled search: `decoding/rules.py` and `decoding/utf8.py` say the same with
whole tables, and why."""

import numpy as np
import numpy.typing as npt

from limelight.inference.cpu.jit import Integers, compiled

Bytes = npt.NDArray[np.int16]
"""(ids,): the byte that each token stands for, or -1."""


@compiled
def repeats(tokens: Integers, position: int, token: int, ngram: int) -> bool:
    """Whether the `position` first tokens have the n-gram that would end with this token."""
    begun = position - ngram + 1
    for first in range(begun):
        alike = tokens[first + ngram - 1] == token
        for place in range(ngram - 1):
            alike &= tokens[first + place] == tokens[begun + place]
        if alike:
            return True
    return False


@compiled
def breaks_utf8(tokens: Integers, position: int, token: int, values: Bytes) -> bool:
    """Whether the bytes of the `position` first tokens would be invalid UTF-8 if this token came next."""
    low, high = 0, -1  # of the next byte, if a character is begun
    for count in range(1, min(3, position) + 1):
        value = values[tokens[position - count]]
        if 0xC2 <= value <= 0xF4:
            if count < 2 + (value >= 0xE0) + (value >= 0xF0):
                low, high = 0x80, 0xBF
                if count == 1:
                    low = 0xA0 if value == 0xE0 else 0x90 if value == 0xF0 else low
                    high = 0x9F if value == 0xED else 0x8F if value == 0xF4 else high
            break
        if not 0x80 <= value <= 0xBF:
            break
    byte = values[token]
    if high >= low:
        return not low <= byte <= high
    return 0x80 <= byte < 0xC2 or byte > 0xF4


@compiled
def is_forbidden(tokens: Integers, position: int, token: int, ngram: int, values: Bytes) -> bool:
    """Whether a token must not follow the `position` first ones, of which no n-gram of this size (0 for any) occurs
    again, and whose bytes are `values`."""
    may_repeat = ngram == 0 or 0x80 <= values[token] <= 0xBF
    return breaks_utf8(tokens, position, token, values) or (not may_repeat and repeats(tokens, position, token, ngram))
