"""Smaller forms of weights: how much they lose, and what is refused."""

import pytest
import torch
from torch import Tensor

from limelight.errors import UserError
from limelight.storage.weights import FORMS, compact, numbers_of, with_scales


def weights() -> dict[str, Tensor]:
    """A matrix with rows of very different size, one of zeros, and a vector."""
    matrix = torch.randn(7, 13) * torch.logspace(-3, 3, 7)[:, None]
    matrix[3] = 0
    return {"layer.weight": matrix, "layer.bias": torch.randn(7)}


def size(tensors: dict[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_back_under_the_same_names(seed: int, form: str) -> None:
    given = weights()
    stored = with_scales(compact(given, form), "here")
    assert same(compact(stored, form), compact(given, form))
    found = {name: numbers_of(tensor) for name, tensor in stored.items()}
    assert found.keys() == given.keys()
    assert torch.equal(found["layer.bias"], given["layer.bias"])
    largest = given["layer.weight"].abs().amax(dim=1, keepdim=True)
    # bf16 has eight bits of a number's own size; a byte has 120 or 127 steps up to the largest of its row
    bound = {"fp32": 0 * largest, "bf16": given["layer.weight"].abs() / 256, "int8": largest / 240 * (1 + 1e-6)}[form]
    assert ((found["layer.weight"].float() - given["layer.weight"]).abs() <= bound).all()


@pytest.mark.parametrize(
    "scale", [None, torch.ones(6), torch.ones(7, 1), torch.ones(7, dtype=torch.float64), torch.ones(7).int()]
)
def test_bytes_without_their_scales_are_refused(scale: Tensor | None) -> None:
    stored = {"layer.weight": torch.ones(7, 13, dtype=torch.int8)}
    if scale is not None:
        stored["layer.weight.scale"] = scale
    with pytest.raises(UserError, match=r"model.safetensors: layer.weight holds bytes, .*: damaged, .* export the"):
        with_scales(stored, "model.safetensors")
