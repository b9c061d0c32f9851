"""Sinusoids, learned positions and rotary positions against their papers' formulas and laws."""

import cmath
import math

import pytest
import torch

from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, sinusoids


@pytest.mark.parametrize("d_model", [2, 12, 7])
def test_sinusoids_are_the_papers(d_model: int) -> None:
    table = sinusoids(torch.arange(101), d_model)
    assert table.shape == (101, d_model)
    for position in (0, 1, 2, 17, 100):
        for column in range(d_model):
            angle = position / 10_000 ** ((column - column % 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=1e-6)


def test_sinusoids_stay_exact_far_out() -> None:
    """Angles are computed in float64: in float32 they are off by 1e-3 at position 50,000."""
    assert sinusoids(torch.tensor([50_000]), 2)[-1, 0].item() == pytest.approx(math.sin(50_000), abs=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_sinusoids_are_added_and_nothing_is_stored(layout: str, seed: int) -> None:
    positions, embedded = SinusoidalPositions(layout=layout), torch.randn(2, 17, 11)
    torch.testing.assert_close(positions(embedded), embedded + sinusoids(torch.arange(17), 11, layout=layout))
    assert positions.state_dict() == {}


@pytest.mark.parametrize("positions", [SinusoidalPositions(), LearnedPositions(11, longest=31)])
def test_rows_may_stand_at_different_places(positions: SinusoidalPositions | LearnedPositions, seed: int) -> None:
    """A later token gets what it would have got among all: step by step equals all at once."""
    embedded, places = torch.randn(5, 13, 11), torch.tensor([12, 0, 3, 3, 7])
    together = positions(embedded)
    alone = positions.at(embedded[torch.arange(5), places][:, None].repeat(1, 2, 1), places)
    for hypothesis in (0, 1):
        assert torch.equal(alone[:, hypothesis], together[torch.arange(5), places])


def test_positions_keep_the_precision_of_the_embeddings() -> None:
    for positions in (SinusoidalPositions(), LearnedPositions(4, longest=5)):
        embedded = torch.zeros(1, 5, 4, dtype=torch.bfloat16)
        assert positions(embedded).dtype == torch.bfloat16
        assert positions.at(embedded, torch.tensor([3])).dtype == torch.bfloat16


def test_learned_positions_end_with_a_clear_message() -> None:
    positions = LearnedPositions(4, longest=5)
    assert positions(torch.zeros(1, 5, 4)).shape == (1, 5, 4)
    message = r"a sequence of 6 tokens is longer than the 5 learned positions of this model; shorten it, or train with"
    with pytest.raises(UserError, match=message):
        positions(torch.zeros(1, 6, 4))
    with pytest.raises(UserError, match=message):
        positions.at(torch.zeros(2, 1, 4), torch.tensor([0, 5]))


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
