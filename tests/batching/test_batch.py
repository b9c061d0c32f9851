"""Batches against a loop over places: the shift, the padding, and which places are real."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.batch import Batch, make_batch, make_blocks
from limelight.batching.ragged import Ragged

END, SOURCE_PADDING, TARGET_PADDING = 0, 30, 29
SPECIAL = {"source_padding": SOURCE_PADDING, "target_padding": TARGET_PADDING}

rows = st.lists(st.integers(1, 27), max_size=7)


def of(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    return make_batch(sources, targets, **SPECIAL)


@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=5))
def test_a_batch_is_what_a_loop_over_its_places_says(pairs: list[tuple[list[int], list[int]]]) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    batch = of(sources, targets)
    assert batch.source.shape == batch.source_valid.shape == (len(pairs), max(map(len, sources)) + 1)
    assert batch.target_in.shape == batch.target_out.shape == batch.target_valid.shape
    assert batch.target_out.shape == (len(pairs), max(map(len, targets)) + 1)
    for row, (source, target) in enumerate(pairs):
        for place in range(batch.source.shape[1]):
            expected = source[place] if place < len(source) else END if place == len(source) else SOURCE_PADDING
            assert batch.source[row, place] == expected
            assert batch.source_valid[row, place] == (place <= len(source))
        for place in range(batch.target_out.shape[1]):
            read = target[place - 1] if 0 < place <= len(target) else TARGET_PADDING
            predicted = target[place] if place < len(target) else END if place == len(target) else TARGET_PADDING
            assert batch.target_in[row, place] == read
            assert batch.target_out[row, place] == predicted
            assert batch.target_valid[row, place] == (place <= len(target))
    assert batch.target_tokens == sum(len(target) + 1 for target in targets)


@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 2**31))
def test_blocks_predict_what_follows_and_have_no_source(count: int, block: int, seed: int) -> None:
    ids = np.random.default_rng(seed).integers(0, 60_000, (count, block + 1)).astype("<u2")
    batch = make_blocks(ids)
    assert batch.source.shape == batch.source_valid.shape == (count, 0)
    for row in range(count):
        for place in range(block):
            assert batch.target_in[row, place] == ids[row, place]
            assert batch.target_out[row, place] == ids[row, place + 1]
    assert batch.target_tokens == count * block
    assert batch.target_in.is_contiguous()
    assert batch.target_out.is_contiguous()
    assert batch.target_out.dtype == torch.int64


@given(st.lists(st.lists(st.integers(2, 99), max_size=5), max_size=7), st.lists(st.integers(2, 99), max_size=2))
def test_flat_rows_are_taken_prefixed_and_joined_as_lists_are(rows: list[list[int]], prefix: list[int]) -> None:
    flat = Ragged.of(rows)
    order = np.argsort([str(row) for row in rows], kind="stable").astype(np.int64)
    expected = [prefix + rows[row] for row in order] + rows
    found = Ragged.joined([flat.take(order).prefixed(prefix), flat])
    assert [row.tolist() for row in (found[place] for place in range(len(found)))] == expected
    assert found.lengths().tolist() == [len(row) for row in expected]
