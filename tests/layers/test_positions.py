"""Sinusoids, learned positions and rotary positions against their papers' formulas and laws."""

import cmath
import math

import pytest
import torch

from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, sinusoids


@pytest.mark.parametrize("d_model", [2, 12, 7])
def test_sinusoids_are_the_papers(d_model: int) -> None:
    table = sinusoids(101, d_model)
    assert table.shape == (101, d_model)
    for position in (0, 1, 2, 17, 100):
        for column in range(d_model):
            angle = position / 10_000 ** ((column - column % 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=1e-6)


def test_sinusoids_stay_exact_far_out() -> None:
    """Angles are computed in float64: in float32 they are off by 1e-3 at position 50,000."""
    assert sinusoids(50_001, 2)[-1, 0].item() == pytest.approx(math.sin(50_000), abs=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_sinusoidal_positions_grow_beyond_what_is_ready(layout: str, seed: int) -> None:
    positions = SinusoidalPositions(11, layout=layout, ready=3)
    embedded = torch.randn(2, 17, 11)
    torch.testing.assert_close(positions(embedded), embedded + sinusoids(17, 11, layout=layout))
    torch.testing.assert_close(positions(embedded[:, :2]), embedded[:, :2] + sinusoids(2, 11, layout=layout))
    assert positions.state_dict() == {}


def test_a_table_that_another_thread_replaces_is_not_missed(seed: int) -> None:
    """The other thread is here at work while the longer table is made, and puts a shorter one in its place last."""
    positions, embedded = SinusoidalPositions(6, ready=3), torch.randn(2, 31, 6)

    class Replaced(SinusoidalPositions):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, sinusoids(5, 6) if name == "table" else value)

    positions.__class__ = Replaced
    assert torch.equal(positions(embedded), embedded + sinusoids(31, 6))
    alone = positions.at(embedded[:, :1], torch.tensor([17, 30]), most=31)
    assert torch.equal(alone[:, 0], embedded[:, 0] + sinusoids(31, 6)[[17, 30]])


def test_a_table_that_grew_while_translating_still_serves_training() -> None:
    positions = SinusoidalPositions(4, ready=2)
    with torch.inference_mode():
        positions(torch.zeros(1, 5, 4))
    embedded = torch.zeros(1, 5, 4, requires_grad=True)
    positions(embedded).sum().backward()
    assert torch.equal(embedded.grad, torch.ones(1, 5, 4))


@pytest.mark.parametrize("positions", [SinusoidalPositions(11, ready=3), LearnedPositions(11, longest=31)])
def test_rows_may_stand_at_different_places(positions: SinusoidalPositions | LearnedPositions, seed: int) -> None:
    """A later token gets what it would have got among all: step by step equals all at once."""
    embedded, places = torch.randn(5, 13, 11), torch.tensor([12, 0, 3, 3, 7])
    together = positions(embedded)
    for most in (13, 17):
        alone = positions.at(embedded[torch.arange(5), places][:, None].repeat(1, 2, 1), places, most=most)
        for hypothesis in (0, 1):
            assert torch.equal(alone[:, hypothesis], together[torch.arange(5), places])


def test_positions_keep_the_precision_of_the_embeddings() -> None:
    for positions in (SinusoidalPositions(4), LearnedPositions(4, longest=5)):
        embedded = torch.zeros(1, 5, 4, dtype=torch.bfloat16)
        assert positions(embedded).dtype == torch.bfloat16
        assert positions.at(embedded, torch.tensor([3]), most=4).dtype == torch.bfloat16


def test_learned_positions_end_with_a_clear_message() -> None:
    positions = LearnedPositions(4, longest=5)
    assert positions(torch.zeros(1, 5, 4)).shape == (1, 5, 4)
    assert positions.at(torch.zeros(2, 1, 4), torch.tensor([0, 4]), most=7).shape == (2, 1, 4)
    with pytest.raises(UserError, match=r"a sequence of 6 tokens is longer than the 5 learned positions of this model"):
        positions(torch.zeros(1, 6, 4))
    with pytest.raises(
        UserError, match=r"shorten it, or train with model.positions=sinusoidal or a larger model.max_po"
    ):
        positions.at(torch.zeros(2, 1, 4), torch.tensor([0, 5]), most=7)


def test_rotary_is_a_product_of_complex_numbers(seed: int) -> None:
    """Each pair (x, y) as x + iy, times exp(i position 10000^(-2 pair / size)) (Su et al. 2021, equation 34)."""
    size = 6
    heads = torch.randn(2, 3, 5, size, dtype=torch.float64)
    places = torch.tensor([0, 1, 4, 11, 37])
    turned = RotaryPositions(size).double()(heads, places)
    for row, head, place, pair in [(0, 0, 0, 0), (1, 2, 4, 1), (0, 1, 3, 2), (1, 0, 2, 0)]:
        x, y = heads[row, head, place, 2 * pair : 2 * pair + 2].tolist()
        expected = complex(x, y) * cmath.exp(1j * places[place].item() * 10_000 ** (-2 * pair / size))
        found = complex(*turned[row, head, place, 2 * pair : 2 * pair + 2].tolist())
        assert abs(found - expected) < 1e-5  # the rates are kept in float32


def test_rotary_needs_pairs() -> None:
    with pytest.raises(UserError, match="the head size must be even, not 7"):
        RotaryPositions(7)
