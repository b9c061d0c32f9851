"""Cells in compiled loops: those of the readable unit, whoever is beside them."""

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

from limelight.inference.cpu.ssru import advance_cells
from limelight.models.transformer import SSRU

BATCH, WIDTH, ROOM, MODEL = 3, 4, 5, 7
COUNTS, AGES = (4, 0, 2), (3, 1, 0)
FIRSTS = np.array([0, *np.cumsum(COUNTS)])


class State:
    """Random arguments: sentences of different age, whose hypotheses come from one another."""

    def __init__(self, seed: int) -> None:
        numbers = np.random.default_rng(seed)
        self.joint = numbers.normal(size=(sum(COUNTS), 2 * MODEL)).astype(np.float32)
        self.cells = numbers.normal(size=(BATCH, WIDTH, ROOM, 1, MODEL)).astype(np.float32)
        self.ancestors = numbers.integers(0, WIDTH, size=(BATCH, WIDTH, ROOM))
        self.ages = np.array(AGES)

    def advance(self, firsts: np.ndarray = FIRSTS) -> None:
        advance_cells(self.joint, firsts, self.cells, self.ancestors, self.ages)


def test_cells_are_those_of_the_readable_unit(seed: int) -> None:
    state, before = State(seed), State(seed)
    state.advance()
    for sentence, (age, count) in enumerate(zip(AGES, COUNTS, strict=True)):
        for hypothesis in range(count):
            row = FIRSTS[sentence] + hypothesis
            new, forget = np.split(before.joint[row].astype(np.float64), 2)
            old = before.cells[sentence, before.ancestors[sentence, hypothesis, age - 1], age - 1, 0] if age else 0
            gate = 1 / (1 + np.exp(-forget))
            cell = gate * old + (1 - gate) * new
            np.testing.assert_allclose(state.cells[sentence, hypothesis, age, 0], cell, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(state.joint[row, :MODEL], np.maximum(cell, 0), rtol=1e-5, atol=1e-6)
            assert state.ancestors[sentence, hypothesis, age] == hypothesis
            before.cells[sentence, hypothesis, age] = state.cells[sentence, hypothesis, age]
            before.ancestors[sentence, hypothesis, age] = hypothesis
    np.testing.assert_array_equal(state.cells, before.cells)  # nothing else is written
    np.testing.assert_array_equal(state.ancestors, before.ancestors)


def test_not_a_bit_depends_on_other_rows(seed: int) -> None:
    whole, alone = State(seed), State(seed)
    whole.advance()
    last = alone.joint[-2:].copy()
    cells, ancestors = alone.cells[2:].copy(), alone.ancestors[2:].copy()
    advance_cells(last, np.array([0, 2]), cells, ancestors, np.array([AGES[2]]))
    np.testing.assert_array_equal(last, whole.joint[-2:])
    np.testing.assert_array_equal(cells, whole.cells[2:])


def test_what_is_no_number_stays_none(seed: int) -> None:
    """Searches refuse predictions that are NaN: a rectifier must not hide them."""
    state = State(seed)
    state.joint[0, 2] = np.nan
    state.advance()
    assert np.isnan(state.joint[0, 2])
    assert np.isnan(state.cells[0, 0, AGES[0], 0, 2])


@torch.inference_mode()
def test_positions_in_turn_are_the_whole_sequence(seed: int) -> None:
    unit, inputs = SSRU(MODEL), torch.randn(1, ROOM, MODEL)
    joint = torch.cat([unit.input_proj(inputs), unit.forget_proj(inputs)], dim=-1)[0]
    cells, ancestors = np.zeros((1, 1, ROOM, 1, MODEL), np.float32), np.zeros((1, 1, ROOM), np.int64)
    for place, expected in enumerate(unit(inputs)[0]):
        row = joint[place : place + 1].clone().numpy()
        advance_cells(row, np.array([0, 1]), cells, ancestors, np.array([place]))
        np.testing.assert_allclose(row[0, :MODEL], expected, rtol=1e-5, atol=1e-6)
