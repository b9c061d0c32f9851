"""A row of a linear layer has the same bits whatever stands beside it, and wherever it stands."""

import pytest
import torch
from torch import nn

from limelight.inference.linear import LEAST_PRODUCTS, LEAST_ROWS, PROBED_ROWS, Fp32Linear, least_rows, linear_of

SIZES = [(256, 768), (1024, 256), (97, 113), (64, 2003), (64, 64), (8, 24)]
ROWS = [*range(1, 40), 64, 100, 257]


@torch.inference_mode()
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_a_row_has_the_same_bits_in_any_batch(seed: int, precision: str, inputs: int, outputs: int) -> None:
    if precision == "fp32" and least_rows() is None:
        pytest.skip("products of this machine in fp32 give a row other bits at another place")
    layer = linear_of(precision)(torch.randn(outputs, inputs) / inputs**0.5, torch.randn(outputs))
    given = torch.randn(max(ROWS), inputs)
    together = layer(given)
    for rows in ROWS:
        first = int(torch.randint(len(given) - rows + 1, ()))
        assert torch.equal(layer(given[first : first + rows]), together[first : first + rows]), f"{rows} rows"
    for axes in ((1, 1), (3, 1), (1, 3), (2, 5)):
        some = given[: axes[0] * axes[1]].unflatten(0, axes)
        assert torch.equal(layer(some).flatten(0, 1), together[: axes[0] * axes[1]])


@torch.inference_mode()
def test_few_rows_are_filled_up(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on any machine would they have other bits without; that they are filled up can be seen everywhere."""
    taken, own = [], nn.functional.linear
    least = least_rows() or LEAST_ROWS  # measured at the first call
    monkeypatch.setattr(nn.functional, "linear", lambda rows, *rest: taken.append(len(rows)) or own(rows, *rest))
    layer = linear_of("fp32")(torch.randn(5, 3), None)
    for rows in range(1, least + 3):
        assert layer(torch.randn(rows, 3)).shape == (rows, 5)
    assert taken == [least] * least + [least + 1, least + 2]
    taken.clear()
    assert linear_of("bf16")(torch.randn(32, 16), None)(torch.randn(2, 1, 16)).shape == (2, 1, 32)
    assert taken == [LEAST_PRODUCTS // 512 + 1]


@pytest.mark.parametrize(("until", "found"), [(0, LEAST_ROWS), (15, 16), (PROBED_ROWS, None), (55, None)])
def test_how_many_rows_are_needed_is_measured(until: int, found: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that end in another bit up to `until` rows."""

    def product(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        exact = torch.ones(len(rows), len(weight))
        return exact.nextafter(torch.tensor(2.0)) if len(rows) <= until else exact

    monkeypatch.setattr(nn.functional, "linear", product)
    least_rows.cache_clear()
    try:
        assert least_rows() == found
        assert Fp32Linear(torch.randn(5, 3), None).least_rows == (found or LEAST_ROWS)
    finally:
        least_rows.cache_clear()
