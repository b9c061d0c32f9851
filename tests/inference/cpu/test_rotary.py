"""Rotary positions in compiled loops against the readable ones."""

import math

import pytest
import torch

pytest.importorskip("numba")

from limelight.inference.cpu.attention import rotate
from limelight.inference.cpu.network import turns_of
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
    rotate(found.numpy(), turns_of(readable, 1000)[places.numpy()], HEADS)
    torch.testing.assert_close(found[:, : 2 * HEADS * HEAD_SIZE], expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(found[:, 2 * HEADS * HEAD_SIZE :], joint[:, 2 * HEADS * HEAD_SIZE :])


def test_angles_are_those_of_double_precision() -> None:
    turns = turns_of(RotaryPositions(HEAD_SIZE), 18)[[0, 1, 17]]
    for row, place in enumerate((0, 1, 17)):
        for pair in range(HEAD_SIZE // 2):
            angle = place * 10_000.0 ** (-2 * pair / HEAD_SIZE)
            assert turns[row, pair] == pytest.approx(math.cos(angle), abs=1e-5)
            assert turns[row, HEAD_SIZE // 2 + pair] == pytest.approx(math.sin(angle), abs=1e-5)


def test_rows_behind_the_turned_ones_stay(seed: int) -> None:
    """Products fill few rows up with others."""
    joint = joint_of(ROWS)
    found = joint.clone()
    rotate(found.numpy(), turns_of(RotaryPositions(HEAD_SIZE), 6)[[3, 5]], HEADS)
    assert torch.equal(found[2:], joint[2:])
    assert not torch.equal(found[:2], joint[:2])


def test_no_rows() -> None:
    joint = joint_of(0)
    rotate(joint.numpy(), turns_of(RotaryPositions(HEAD_SIZE), 0), HEADS)
    assert joint.shape[0] == 0
