"""Sentences end to end: each has the context that it has alone, by the equation in double precision."""

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

from limelight.attention import attend
from limelight.inference.cpu.attention import SHORT, attend_ragged

HEADS, HEAD_SIZE, VALUE_SIZE = 3, 5, 7
LENGTHS = [1, 4, SHORT, SHORT + 1, 2, SHORT + 9]


def joint_of(length: int) -> torch.Tensor:
    return torch.randn(length, HEADS * (2 * HEAD_SIZE + VALUE_SIZE))


def parts_of(joint: torch.Tensor) -> list[torch.Tensor]:
    """(length, heads * size) -> (heads, length, size)"""
    inner = HEADS * HEAD_SIZE
    parts = joint.split([inner, inner, HEADS * VALUE_SIZE], dim=1)
    return [part.unflatten(1, (HEADS, -1)).transpose(0, 1) for part in parts]


def together(joints: list[torch.Tensor]) -> list[torch.Tensor]:
    lengths = [len(joint) for joint in joints]
    firsts = np.concatenate([[0], np.cumsum(lengths)])
    return list(attend_ragged(torch.cat(joints), firsts, HEADS, HEAD_SIZE).split(lengths))


@torch.inference_mode()
def test_a_sentence_has_its_own_context(seed: int) -> None:
    joints = [joint_of(length) for length in LENGTHS]
    for joint, found in zip(joints, together(joints), strict=True):
        context, _ = attend(*(part.double() for part in parts_of(joint)), want_weights=True)
        torch.testing.assert_close(found.double(), context.transpose(0, 1).flatten(1), rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_not_a_bit_of_it_depends_on_the_others(seed: int) -> None:
    joints = [joint_of(length) for length in LENGTHS]
    order = torch.randperm(len(joints)).tolist()
    mixed = together([joints[place] for place in order])
    for place, found in zip(order, mixed, strict=True):
        assert torch.equal(found, together([joints[place]])[0])


@torch.inference_mode()
def test_no_sentences(seed: int) -> None:
    assert attend_ragged(joint_of(0), np.zeros(1, dtype=np.int64), HEADS, HEAD_SIZE).shape == (0, HEADS * VALUE_SIZE)
