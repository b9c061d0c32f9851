import numpy as np
import pytest

from limelight.decoding.length_penalty import LengthPenalty, max_target_length


@pytest.mark.parametrize(
    ("length", "alpha", "expected"), [(1.0, 0.6, 1.0), (7.0, 1.0, 2.0), (19.0, 0.5, 2.0), (31.0, 2.0, 36.0)]
)
def test_the_penalty_is_equation_14(length: float, alpha: float, expected: float) -> None:
    assert LengthPenalty(alpha).at(length) == pytest.approx(expected)


@pytest.mark.parametrize(("length", "alpha", "expected"), [(7.0, 1.0, 7.0), (9.0, 0.5, 3.0), (3.0, 2.0, 9.0)])
def test_without_its_offset_it_is_a_power_of_the_length(length: float, alpha: float, expected: float) -> None:
    assert LengthPenalty(alpha, 0.0).at(length) == pytest.approx(expected)


@pytest.mark.parametrize("offset", [0.0, 1.0, 5.0])
def test_alpha_zero_does_not_normalise(offset: float) -> None:
    assert [LengthPenalty(0.0, offset).at(length) for length in (0.0, 1.0, 97.0)] == [1.0] * 3


def test_nothing_is_divided_by_zero() -> None:
    """A hypothesis of no pieces, cut off at a limit of none, still has a score."""
    assert LengthPenalty(1.0, 0.0).at(0.0) == 1.0


def test_many_lengths_at_once_give_the_same() -> None:
    lengths, penalty = np.arange(41.0), LengthPenalty(0.7, 2.0)
    assert penalty.at(lengths).tolist() == pytest.approx([penalty.at(length) for length in lengths.tolist()])


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_the_penalty_grows_with_length(offset: float) -> None:
    assert (np.diff(LengthPenalty(0.3, offset).at(np.arange(1.0, 41.0))) > 0).all()


@pytest.mark.parametrize(("pieces", "factor", "extra", "most"), [(10, 1.5, 20, 35), (7, 1.5, 1, 11), (3, 1.0, 50, 53)])
def test_the_limit_follows_the_source(pieces: int, factor: float, extra: int, most: int) -> None:
    assert max_target_length(pieces, factor, extra) == most
