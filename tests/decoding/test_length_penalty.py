import numpy as np
import pytest

from limelight.decoding.request import length_penalty, max_target_length


@pytest.mark.parametrize(
    ("length", "alpha", "expected"), [(1.0, 0.6, 1.0), (7.0, 1.0, 2.0), (19.0, 0.5, 2.0), (31.0, 2.0, 36.0)]
)
def test_the_penalty_is_equation_14(length: float, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha, 5.0) == pytest.approx(expected)


@pytest.mark.parametrize(("length", "alpha", "expected"), [(7.0, 1.0, 7.0), (9.0, 0.5, 3.0), (3.0, 2.0, 9.0)])
def test_without_its_offset_it_is_a_power_of_the_length(length: float, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha, 0.0) == pytest.approx(expected)


def test_nothing_is_divided_by_zero() -> None:
    """A hypothesis of no tokens, cut off at a limit of none, still has a score."""
    assert length_penalty(0.0, 1.0, 0.0) == 1.0


def test_many_at_once_give_the_same() -> None:
    """Each of another length, alpha and offset."""
    lengths = np.repeat(np.arange(11.0), 6)
    alphas, offsets = np.tile([0.0, 0.7, 2.0], 22), np.tile([0.0, 0.0, 0.0, 2.0, 5.0, 5.0], 11)
    expected = [length_penalty(*each) for each in zip(lengths.tolist(), alphas.tolist(), offsets.tolist(), strict=True)]
    assert length_penalty(lengths, alphas, offsets).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("pieces", "factor", "extra", "most"), [(10, 1.5, 20, 35), (7, 1.5, 1, 11), (3, 1.0, 50, 53)])
def test_the_limit_follows_the_source(pieces: int, factor: float, extra: int, most: int) -> None:
    assert max_target_length(pieces, factor, extra) == most
