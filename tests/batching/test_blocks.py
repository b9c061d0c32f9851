"""Blocks of plain text: every token once, from any position the same, and each in its context."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.batch import Batch
from limelight.batching.blocks import BlockStream, blocks_in_order
from tests.batching.helpers import epoch_of

sizes = st.tuples(st.integers(2, 13), st.integers(1, 60), st.integers(0, 211))  # block, tokens, tokens beyond a block


def text_of(length: int) -> np.ndarray:
    """Every token is its own place, so that each can be told from every other."""
    return np.arange(length, dtype="<u2")


def predicted(batches: Iterable[Batch]) -> Counter[int]:
    return Counter(piece for batch in batches for piece in batch.target_out.flatten().tolist())


@given(sizes, st.integers(0, 2**31), st.integers(0, 5))
def test_an_epoch_predicts_every_piece_once_but_for_the_ends(size: tuple[int, int, int], seed: int, epoch: int) -> None:
    block, tokens, more = size
    length = block + 1 + more
    stream = BlockStream(text_of(length), tokens=tokens, block=block, seed=seed)
    batches = list(epoch_of(stream, epoch))
    found = predicted(batches)
    assert set(found.values()) == {1}
    first, last = min(found), max(found)
    assert set(found) == set(range(first, last + 1))
    assert first <= block
    assert length - 1 - last < block
    for batch in batches:
        assert len(batch.target_in) <= max(1, tokens // block)
        assert torch.equal(batch.target_out, batch.target_in + 1)  # what follows in the text
        assert batch.target_valid.all()
        assert batch.target_valid.shape == batch.target_in.shape
        assert batch.source.shape == batch.source_valid.shape == (len(batch.target_in), 0)
        assert batch.target_tokens == batch.target_out.numel()


@given(sizes)
def test_in_order_every_piece_but_the_first_is_predicted(size: tuple[int, int, int]) -> None:
    block, tokens, more = size
    length = 2 + more  # shorter than a block, too
    batches = list(blocks_in_order(text_of(length), tokens=tokens, block=block))
    assert [piece for batch in batches for piece in batch.target_out.flatten().tolist()] == list(range(1, length))
    assert all(torch.equal(batch.target_out, batch.target_in + 1) for batch in batches)
    assert all(batch.target_in.numel() <= max(tokens, block) for batch in batches)
