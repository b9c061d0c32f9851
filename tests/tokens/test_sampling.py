"""Sampling follows from its seed in any process, and draws from the distributions of the papers."""

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.tokens import load_tokenizer
from limelight.tokens.sampling import BpeDropout
from limelight.tokens.sentencepiece import train_sentencepiece
from limelight.tokens.tokenizer import reserved_pieces

SENTENCES = [
    f"the {size} {animal} {verb} {place}"
    for size, animal, verb, place in product(
        ("small", "smaller", "old", "older"), ("dog", "cat", "catfish"), ("sleeps", "slept"), ("outside", "inside")
    )
]


BPE = train_sentencepiece(
    SENTENCES, kind="bpe", vocabulary_size=None, reserved=reserved_pieces([]), byte_fallback=True, pairs=len(SENTENCES)
)


def digest(rows: Iterable[list[int]]) -> str:
    return hashlib.sha256(repr(list(rows)).encode()).hexdigest()


def test_the_same_seed_draws_the_same_in_another_process(tmp_path: Path) -> None:
    """The library's own sampling does not: its seed counts for one process only."""
    BPE.save(tmp_path)
    work = (
        "import hashlib, sys; from limelight.tokens import load_tokenizer; "
        "rows = load_tokenizer(sys.argv[1]).encode_sampled(sys.argv[2:], amount=0.3, seed=11); "
        "print(hashlib.sha256(repr(rows).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", work, str(tmp_path), *SENTENCES]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    here = digest(BPE.encode_sampled(SENTENCES, amount=0.3, seed=11))
    assert other == here
    assert digest(load_tokenizer(tmp_path).encode_sampled(SENTENCES, amount=0.3, seed=11)) == here
    assert digest(BPE.encode_sampled(SENTENCES, amount=0.3, seed=12)) != here


@given(st.text(alphabet="thesmalodgcfirpnu <2ph0>é", max_size=40), st.integers(0, 2**64))
def test_bpe_that_forgets_nothing_is_bpe(text: str, seed: int) -> None:
    """Our merging is the library's: with next to no dropout both segment alike."""
    assert BPE.encode_sampled([text], amount=1e-300, seed=seed) == [BPE.encode(text)]


def test_bpe_that_forgets_everything_spells(seed: int) -> None:
    for ids in BPE.encode_sampled(SENTENCES, amount=1.0, seed=seed):
        assert all(len(piece) == 1 for piece in BPE.pieces(ids))


def test_bpe_dropout_draws_as_the_paper_does(seed: int) -> None:
    """`abc` with the merges ab, abc and p = 0.25, worked out by hand: each merge is there or left out, one by one."""
    pieces = ["ab", "abc", "a", "b", "c"]
    dropout = BpeDropout(pieces, [False] * 5)
    p, calls = 0.25, 4000
    counts = Counter(dropout.draws(p, seed + call)((1,)) for call in range(calls))
    expected = {(1,): (1 - p) ** 2, (0, 4): (1 - p) * p, (2, 3, 4): p}
    assert set(counts) <= set(expected)
    for word, probability in expected.items():
        assert counts[word] / calls == pytest.approx(
            probability, abs=5 * (probability * (1 - probability) / calls) ** 0.5
        )
