import pytest
import torch

from limelight.decoding.length_penalty import length_penalty, max_target_length


@pytest.mark.parametrize(
    ("length", "alpha", "expected"), [(1, 0.6, 1.0), (7, 1.0, 2.0), (19, 0.5, 2.0), (31, 2.0, 36.0)]
)
def test_the_penalty_is_equation_14(length: int, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(expected)


def test_alpha_zero_does_not_normalise() -> None:
    assert [length_penalty(length, 0.0) for length in (0, 1, 97)] == [1.0] * 3


def test_a_tensor_of_lengths_gives_the_same() -> None:
    lengths = torch.arange(41)
    expected = [length_penalty(int(length), 0.7) for length in lengths]
    assert length_penalty(lengths, 0.7).tolist() == pytest.approx(expected)


def test_the_penalty_grows_with_length() -> None:
    assert length_penalty(torch.arange(41), 0.3).diff().gt(0).all()


@pytest.mark.parametrize(("pieces", "factor", "extra", "most"), [(10, 1.5, 20, 35), (7, 1.5, 1, 11), (3, 1.0, 50, 53)])
def test_the_limit_follows_the_source(pieces: int, factor: float, extra: int, most: int) -> None:
    assert max_target_length(pieces, factor, extra) == most
