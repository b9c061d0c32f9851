"""Blocks of plain text: every token once, from any position the same, and each in its context."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
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


@pytest.mark.parametrize("continuous", [False, True])
@given(sizes, st.integers(0, 2**31), st.integers(0, 5))
def test_an_epoch_predicts_every_piece_once_but_for_the_ends(
    continuous: bool, size: tuple[int, int, int], seed: int, epoch: int
) -> None:
    block, tokens, more = size
    length = block + 1 + more
    stream = BlockStream(text_of(length), tokens=tokens, block=block, seed=seed, continuous=continuous)
    batches = list(epoch_of(stream, epoch))
    found = predicted(batches)
    assert set(found.values()) == {1}
    first, last = min(found), max(found)
    ends_missing = (first - 1) + (length - 1 - last)
    if not continuous:
        assert set(found) == set(range(first, last + 1))
        assert first <= block
        assert length - 1 - last < block
    else:
        assert set(found) == set(range(1, last + 1))
        assert ends_missing < max(1, tokens // block)
    for batch in batches:
        assert len(batch.target_in) <= max(1, tokens // block)
        assert torch.equal(batch.target_out, batch.target_in + 1)  # what follows in the text
        assert batch.target_valid.all()
        assert batch.target_valid.shape == batch.target_in.shape
        assert batch.source.shape == batch.source_valid.shape == (len(batch.target_in), 0)
        assert batch.target_tokens == batch.target_out.numel()


@given(sizes)
def test_each_row_of_continuous_blocks_goes_on_where_it_stopped(size: tuple[int, int, int]) -> None:
    block, tokens, more = size
    stream = BlockStream(text_of(block + 1 + more), tokens=tokens, block=block, continuous=True)
    batches = list(epoch_of(stream))
    assert {len(batch.target_in) for batch in batches} == {stream.rows}
    for before, after in pairwise(batches):
        assert torch.equal(after.target_in[:, 0], before.target_out[:, -1])
    assert all(batch.target_in.shape[1] == block for batch in batches[:-1])
    assert 1 <= batches[-1].target_in.shape[1] <= block


@given(sizes)
def test_in_order_every_piece_but_the_first_is_predicted(size: tuple[int, int, int]) -> None:
    block, tokens, more = size
    length = 2 + more  # shorter than a block, too
    batches = list(blocks_in_order(text_of(length), tokens=tokens, block=block))
    assert [piece for batch in batches for piece in batch.target_out.flatten().tolist()] == list(range(1, length))
    assert all(torch.equal(batch.target_out, batch.target_in + 1) for batch in batches)
    assert all(batch.target_in.numel() <= max(tokens, block) for batch in batches)
