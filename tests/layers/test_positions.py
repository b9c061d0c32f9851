"""Sinusoids against their paper's formula; models hold the other positions to theirs."""

import math

import pytest
import torch

from limelight.layers.embedding import LearnedPositions, SinusoidalPositions, sinusoids


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


def test_positions_keep_the_precision_of_the_embeddings() -> None:
    for positions in (SinusoidalPositions(), LearnedPositions(4, longest=5)):
        embedded = torch.zeros(1, 5, 4, dtype=torch.bfloat16)
        assert positions(embedded).dtype == torch.bfloat16
        assert positions.at(embedded, torch.tensor([3])).dtype == torch.bfloat16
