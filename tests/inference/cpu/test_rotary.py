"""Rotary positions in compiled loops against the readable ones."""

import math

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

from limelight.inference.cpu import transformer
from limelight.inference.cpu.attention import rotate
from limelight.inference.cpu.transformer import RotaryTable
from limelight.layers.embedding import RotaryPositions

HEADS, HEAD_SIZE, VALUE_SIZE, ROWS = 3, 10, 7, 11


def joint_of(rows: int) -> torch.Tensor:
    return torch.randn(rows, HEADS * (2 * HEAD_SIZE + VALUE_SIZE))


def test_queries_and_keys_are_turned_as_the_readable_ones_and_values_are_not(seed: int) -> None:
    readable, joint = RotaryPositions(HEAD_SIZE), joint_of(ROWS)
    places = torch.randint(1000, (ROWS,))
    parts = joint[:, : 2 * HEADS * HEAD_SIZE].unflatten(1, (2 * HEADS, HEAD_SIZE))
    # (rows, heads, size) -> (rows, heads, 1, size): each row is a batch of one position
    expected = readable(parts[:, :, None], places[:, None, None])[:, :, 0].flatten(1)
    found = joint.clone()
    rotate(found.numpy(), RotaryTable(readable).at(places, most=1000), HEADS)
    torch.testing.assert_close(found[:, : 2 * HEADS * HEAD_SIZE], expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[:, 2 * HEADS * HEAD_SIZE :], joint[:, 2 * HEADS * HEAD_SIZE :])


def test_angles_are_those_of_double_precision() -> None:
    turns = RotaryTable(RotaryPositions(HEAD_SIZE)).at(torch.tensor([0, 1, 17]), most=18)
    for row, place in enumerate((0, 1, 17)):
        for pair in range(HEAD_SIZE // 2):
            angle = place * 10_000.0 ** (-2 * pair / HEAD_SIZE)
            assert turns[row, pair] == pytest.approx(math.cos(angle), abs=1e-5)
            assert turns[row, HEAD_SIZE // 2 + pair] == pytest.approx(math.sin(angle), abs=1e-5)


def test_rows_behind_the_turned_ones_stay(seed: int) -> None:
    """Products fill few rows up with others."""
    joint = joint_of(ROWS)
    found = joint.clone()
    rotate(found.numpy(), RotaryTable(RotaryPositions(HEAD_SIZE)).at(torch.tensor([3, 5]), most=6), HEADS)
    assert torch.equal(found[2:], joint[2:])
    assert not torch.equal(found[:2], joint[:2])


def test_the_table_grows_and_says_the_same_whatever_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    table, places = RotaryTable(RotaryPositions(HEAD_SIZE)), torch.tensor([0, 3, 100])
    long = table.at(places, most=101)
    monkeypatch.setattr(transformer, "READY", 2)
    short = RotaryTable(RotaryPositions(HEAD_SIZE))
    np.testing.assert_array_equal(short.at(places[:1], most=1), long[:1])
    np.testing.assert_array_equal(short.at(places[:2], most=4), long[:2])
    np.testing.assert_array_equal(short.at(places, most=101), long)


def test_no_rows() -> None:
    joint = joint_of(0)
    rotate(joint.numpy(), RotaryTable(RotaryPositions(HEAD_SIZE)).at(torch.arange(0), most=1), HEADS)
    assert joint.shape[0] == 0
