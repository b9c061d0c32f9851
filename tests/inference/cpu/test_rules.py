"""The rules of compiled searches forbid what the readable ones forbid."""

import numpy as np
import pytest

from limelight.decoding.rules import no_repeat_ngram
from limelight.decoding.utf8 import Utf8

rules = pytest.importorskip("limelight.inference.cpu.rules")

BYTES = [
    0x41,
    0x7F,
    0x80,
    0x8F,
    0x90,
    0x9F,
    0xA0,
    0xBF,
    0xC0,
    0xC2,
    0xDF,
    0xE0,
    0xE1,
    0xED,
    0xEF,
    0xF0,
    0xF1,
    0xF4,
    0xF5,
]
VALUES = np.array([-1, *BYTES], dtype=np.int16)
"""A token that is none, and bytes at both sides of each bound."""


def test_bytes_are_those_of_valid_utf8() -> None:
    """After all histories of three tokens."""
    utf8 = Utf8(VALUES.astype(np.int64))
    for history in np.ndindex(*[len(VALUES)] * 3):
        for length in {3, int(np.count_nonzero(history))}:
            tokens = np.array(history[:length], dtype=np.int64)
            forbidden = [rules.breaks_utf8(tokens, length, token, VALUES) for token in range(len(VALUES))]
            assert forbidden == (~utf8.permitted(tokens.tolist())).tolist(), tokens


@pytest.mark.parametrize("size", [1, 2, 3])
def test_repeated_ngrams(size: int, seed: int) -> None:
    numbers, rule, found = np.random.default_rng(seed), no_repeat_ngram(size), 0
    for _ in range(200):
        tokens = numbers.integers(0, 4, size=(1, numbers.integers(0, 12)))
        factors = np.ones((1, 4))
        rule(tokens, factors)
        forbidden = [rules.repeats(tokens[0], tokens.shape[1], token, size) for token in range(4)]
        assert forbidden == np.isinf(factors[0]).tolist(), tokens
        found += sum(forbidden)
    assert found
