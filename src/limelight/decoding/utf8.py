"""A rule of every search: byte tokens such as `<0xE2>` form valid UTF-8.

A character that is not in the vocabulary has a token for each of its bytes. After the first byte only bytes that
continue the character may follow, until it is complete; elsewhere a byte that cannot begin a character must not occur.
"""

from collections.abc import Sequence

import numpy as np

from limelight.decoding.host import Integers, Truths
from limelight.tokens.tokenizer import Tokenizer, byte_of

CONTINUATION = 0x80, 0xBF
"""The first and last byte that continue a character."""
SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
"""First bytes after which fewer second bytes are valid (Unicode Standard, table 3-7)."""


class Utf8:
    """The bytes of a vocabulary."""

    def __init__(self, values: Integers) -> None:
        """`values` are the byte of each id, -1 for an id that is none."""
        self.values = values
        self.is_stray: Truths = ((values >= 0x80) & (values < 0xC2)) | (values > 0xF4)
        """(ids,): bytes that cannot begin a character."""
        self.continues: Truths = (values >= CONTINUATION[0]) & (values <= CONTINUATION[1])
        """(ids,): bytes that continue a character."""
        self.is_high: Truths = values >= 0x80
        """(ids,): bytes of characters with several bytes."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Utf8 | None":
        """The bytes of a tokenizer; None if it has none."""
        pieces = tokenizer.pieces(range(tokenizer.size))
        values = np.array([byte[0] if (byte := byte_of(piece)) else -1 for piece in pieces], dtype=np.int64)
        return cls(values) if (values >= 0x80).any() else None

    def permitted(self, tokens: Sequence[int]) -> Truths:
        """(ids,): the tokens that may follow `tokens`, of which the last three count."""
        bounds = self._expected([int(self.values[token]) for token in tokens[-3:]])
        if bounds is None:
            return ~self.is_stray
        return (bounds[0] <= self.values) & (self.values <= bounds[1])

    def _expected(self, last: list[int]) -> tuple[int, int] | None:
        """The first and last value of the next byte; None if no character is begun."""
        for count, value in enumerate(reversed(last), start=1):
            if 0xC2 <= value <= 0xF4:
                length = 2 + (value >= 0xE0) + (value >= 0xF0)
                if count >= length:
                    return None
                return SECOND.get(value, CONTINUATION) if count == 1 else CONTINUATION
            if not CONTINUATION[0] <= value <= CONTINUATION[1]:
                return None
        return None
