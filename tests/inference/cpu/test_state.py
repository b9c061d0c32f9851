"""What a compiled Transformer carries: nothing is copied that can stay, and room grows and shrinks with need."""

import pytest
import torch

pytest.importorskip("numba")

from limelight.inference.prepare import prepare
from limelight.models.interface import Seq2Seq
from tests.models.followed import begun, random_sources
from tests.models.helpers import make_model, transformer


def prepared(model: Seq2Seq) -> Seq2Seq:
    return prepare(model, "fp32")


@torch.inference_mode()
def test_the_source_is_stored_once_however_many_hypotheses_attend_to_it(seed: int) -> None:
    ready = prepared(make_model(transformer(value_size=5)).eval())
    state = begun(ready, random_sources(ready, (6, 2)), 5)
    assert state.past.memory.shape == (2, 2, 7, 3 * (2 + 5))
    assert state.past.lengths.tolist() == [7, 3]


@torch.inference_mode()
def test_neither_steps_nor_reorder_copy_the_past(seed: int) -> None:
    ready = prepared(make_model(transformer()).eval())
    state = begun(ready, random_sources(ready, (6, 2)), 3)
    places = [part.ctypes.data for part in state.past]
    for _ in range(4):
        _, state = ready.step(torch.randint(1, 29 - 1, (2, 3)), state)
        state = state.reorder(torch.randint(3, (2, 3)))
    assert [part.ctypes.data for part in state.past] == places
