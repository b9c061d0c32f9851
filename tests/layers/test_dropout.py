"""Dropout of our own making: as many zeros as asked for, the expectation kept, the gradient through the same places."""

import pytest
import torch
from torch import Tensor

from limelight.layers.feed_forward import Dropout

COUNT = 400_000


def ones(**options: object) -> Tensor:
    return torch.ones(COUNT, **options)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_fraction_and_expectation(p: float, seed: int) -> None:
    dropped = Dropout(p)(ones())
    fraction = (dropped == 0).double().mean().item()
    # The probability is a multiple of 1/256; five standard deviations of a mean of 400,000 draws.
    exact = round(256 * p) / 256
    deviation = (exact * (1 - exact) / COUNT) ** 0.5
    assert abs(exact - p) <= 1 / 512
    assert abs(fraction - exact) < 5 * deviation
    assert abs(dropped.double().mean().item() - 1) < 5 * deviation / (1 - exact)


@pytest.mark.parametrize(("p", "least"), [(0.0001, 1), (0.9999, 255)])
def test_extreme_probabilities_stay_possible(p: float, least: int, seed: int) -> None:
    """However small, some are dropped; however large, some are kept."""
    fraction = (Dropout(p)(ones()) == 0).double().mean().item()
    assert fraction == pytest.approx(least / 256, abs=1e-3)


def test_the_gradient_goes_where_the_values_went(seed: int) -> None:
    inputs = torch.randn(3, 5, 7, requires_grad=True)
    outputs = Dropout(0.4)(inputs)
    outputs.sum().backward()
    kept = outputs.detach() != 0
    scale = 256 / (256 - round(0.4 * 256))
    torch.testing.assert_close(inputs.grad, kept * scale)
    torch.testing.assert_close(outputs, inputs * kept * scale)


def test_neighbors_are_independent(seed: int) -> None:
    """Eight decisions come from one draw: none of them may tell about another."""
    kept = (Dropout(0.5)(ones()) != 0).double().view(-1, 8)
    together = torch.corrcoef(kept.T)
    assert (together - torch.eye(8, dtype=torch.float64)).abs().max() < 5 / (COUNT / 8) ** 0.5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_type_is_kept(dtype: torch.dtype, seed: int) -> None:
    inputs = torch.randn(5, 7, dtype=dtype, requires_grad=True)
    outputs = Dropout(0.5)(inputs)
    assert outputs.dtype == dtype
    outputs.sum().backward()
    assert inputs.grad.dtype == dtype


def test_nothing_happens_outside_training(seed: int) -> None:
    inputs = torch.randn(5, 7)
    assert Dropout(0.5).eval()(inputs) is inputs
    assert Dropout(0.0)(inputs) is inputs


def test_the_seed_repeats_it(seed: int) -> None:
    dropout, inputs = Dropout(0.5), torch.randn(5, 7)
    torch.manual_seed(seed)
    stored = torch.get_rng_state()
    one = dropout(inputs)
    assert not torch.equal(dropout(inputs), one)
    torch.set_rng_state(stored)
    assert torch.equal(dropout(inputs), one)
