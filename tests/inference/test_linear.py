"""Linear layers in fewer bits: never further from the exact product than the rounding of their factors allows.

Bounds are derived, from the same numbers in double precision: with errors dx of the inputs and dw of the weights the
product is off by at most sum |x| dw + |w| dx + dx dw. What sums in fp32 add to that is far below `SUMS`.
"""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.errors import UserError
from limelight.inference import linear
from limelight.inference.linear import (
    Bf16Linear,
    CompiledInt8Linear,
    Fp32Linear,
    int8_kind,
    linear_of,
)

ROWS, INPUTS, OUTPUTS = 5, 67, 43
SUMS = 1e-5
INTEGER = [CompiledInt8Linear] if int8_kind() else []
"""The int8 layers that this machine can make."""
HALF = 2.0**-9
"""bf16 has eight significant bits: rounding changes a number by at most this share of it."""


@pytest.fixture
def weight(seed: int) -> Tensor:
    """Rows of very different size: one scale for all of them would lose the small ones."""
    return torch.randn(OUTPUTS, INPUTS) * torch.logspace(-3, 1, OUTPUTS)[:, None]


@pytest.fixture
def bias(weight: Tensor) -> Tensor:
    return torch.randn(OUTPUTS) * weight.abs().mean(dim=1)


@pytest.fixture
def inputs(seed: int) -> Tensor:
    return torch.randn(3, ROWS, INPUTS) + 0.5


def exact(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return functional.linear(inputs.double(), weight.double(), None if bias is None else bias.double())


def sizes(inputs: Tensor, weight: Tensor) -> Tensor:
    """sum |x| |w| of every product."""
    return inputs.double().abs() @ weight.double().abs().T


@torch.inference_mode()
@pytest.mark.parametrize("with_bias", [True, False])
def test_fp32_is_the_product(inputs: Tensor, weight: Tensor, bias: Tensor, with_bias: bool) -> None:
    given = bias if with_bias else None
    expected = functional.linear(inputs, weight, given)
    torch.testing.assert_close(Fp32Linear(weight, given)(inputs), expected, rtol=1e-6, atol=1e-6)


@torch.inference_mode()
@pytest.mark.parametrize("with_bias", [True, False])
def test_bf16_is_as_near_as_its_eight_bits(inputs: Tensor, weight: Tensor, bias: Tensor, with_bias: bool) -> None:
    given = bias if with_bias else None
    found = Bf16Linear(weight, given)(inputs)
    assert found.dtype == torch.float32
    expected = exact(inputs, weight, given)
    factors = (2 * HALF + HALF**2) * sizes(inputs, weight) + HALF * (0 if given is None else bias.double().abs())
    bound = factors + HALF * (expected.abs() + factors)  # the result comes in bf16, too
    error = (found - expected).abs()
    assert (error <= bound + SUMS * sizes(inputs, weight)).all()
    assert (error > 0).any()


@torch.inference_mode()
@pytest.mark.parametrize("kind", [Fp32Linear, Bf16Linear, *INTEGER])
def test_some_outputs_are_those_of_the_whole_layer(inputs: Tensor, weight: Tensor, bias: Tensor, kind: type) -> None:
    layer = kind(weight, bias)
    expected = layer(inputs)
    # Another number of outputs may be summed in another order, and then rounded to the other neighbor in bf16.
    bound = SUMS / 10 * sizes(inputs, weight) + (2 * HALF * expected.abs() if kind is Bf16Linear else 0)
    for count in (1, 7, 16, 33, OUTPUTS):
        ids = torch.randperm(OUTPUTS)[:count].sort().values
        error = (layer.some(ids)(inputs) - expected[..., ids]).abs()
        assert (error <= bound[..., ids]).all()
    assert torch.equal(layer(inputs), expected)  # choosing has left it as it was


def test_fp32_shares_its_weights_and_the_others_leave_them_alone(weight: Tensor) -> None:
    trained, before = nn.Parameter(weight), weight.clone()
    layer = Fp32Linear(trained, None)
    assert layer.weight.data_ptr() == trained.data_ptr()
    for kind in (Fp32Linear, Bf16Linear, *INTEGER):
        assert list(kind(trained, None).parameters()) == []
    assert torch.equal(trained, before)
    assert trained.requires_grad


def test_int8_needs_numba_and_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "has", lambda name: name == "neon")
    with pytest.raises(UserError, match="precision int8 needs numba and a CPU with AVX2; use fp32 or bf16"):
        linear_of("int8")
    monkeypatch.setattr(linear, "has", lambda name: name == "avx2")
    monkeypatch.setattr(linear, "CompiledInt8Linear", None)
    with pytest.raises(UserError, match="precision int8 needs numba"):
        linear_of("int8")
    assert linear_of("bf16") is Bf16Linear
