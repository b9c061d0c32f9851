"""Linear layers in fewer bits: never further from the exact product than the rounding of their factors allows.

Bounds are derived, from the same numbers in double precision: with errors dx of the inputs and dw of the weights the
product is off by at most sum |x| dw + |w| dx + dx dw. What sums in fp32 add to that is far below `SUMS`.
"""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.errors import UserError
from limelight.layers import packed
from limelight.layers.feed_forward import ACTIVATIONS, FeedForward
from limelight.layers.packed import FullLinear, HalfLinear, IntegerLinear, PackedFeedForward, integer_rows, linear_of

ROWS, INPUTS, OUTPUTS = 5, 67, 43
SUMS = 1e-5
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
    torch.testing.assert_close(FullLinear(weight, given)(inputs), expected, rtol=1e-6, atol=1e-6)


@torch.inference_mode()
@pytest.mark.parametrize("with_bias", [True, False])
def test_bf16_is_as_near_as_its_eight_bits(inputs: Tensor, weight: Tensor, bias: Tensor, with_bias: bool) -> None:
    given = bias if with_bias else None
    found = HalfLinear(weight, given)(inputs)
    assert found.dtype == torch.float32
    expected = exact(inputs, weight, given)
    factors = (2 * HALF + HALF**2) * sizes(inputs, weight) + HALF * (0 if given is None else bias.double().abs())
    bound = factors + HALF * (expected.abs() + factors)  # the result comes in bf16, too
    error = (found - expected).abs()
    assert (error <= bound + SUMS * sizes(inputs, weight)).all()
    assert (error > 0).any()


@torch.inference_mode()
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("rows", [1, ROWS, 8 * ROWS])
def test_int8_is_as_near_as_its_steps(seed: int, weight: Tensor, bias: Tensor, with_bias: bool, rows: int) -> None:
    inputs, given = torch.randn(rows, INPUTS) + 0.5, bias if with_bias else None
    found = IntegerLinear(weight, given)(inputs)
    assert found.dtype == torch.float32
    # 255 steps from the smallest to the largest input; zero is one of them, so both ends count it in.
    step = (inputs.max().clamp(min=0) - inputs.min().clamp(max=0)).double() / 255
    scales = weight.double().abs().amax(dim=1) / 127
    sums, row_sums = inputs.double().abs().sum(dim=-1, keepdim=True), weight.double().abs().sum(dim=1)
    bound = sums * scales / 2 + row_sums * step / 2 + INPUTS * step * scales / 4
    error = (found - exact(inputs, weight, given)).abs()
    assert (error <= bound + SUMS * sizes(inputs, weight)).all()
    assert 0 < (error / bound).mean() < 0.2  # errors fall to both sides: together they stay far below the bound


@torch.inference_mode()
def test_both_libraries_for_int8_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows of a wide layer are multiplied by another library than few, where torch has both."""
    used = []
    multiply = packed._multiply
    monkeypatch.setattr(
        packed, "_multiply", lambda inputs, weights, *how: used.append(weights) or multiply(inputs, weights, *how)
    )
    layer = IntegerLinear(torch.randn(packed.WIDE, 13), torch.randn(packed.WIDE))
    inputs = torch.randn(packed.MANY, 13)
    inputs[-1] = inputs[0]  # no number of the last row changes the scale
    many, few = layer(inputs), layer(inputs[:-1])
    assert used == [layer.packed_wide, layer.packed]
    assert (layer.packed is layer.packed_wide) == (len(packed.int8_engines()) == 1)
    torch.testing.assert_close(many[:-1], few, rtol=1e-5, atol=1e-5)
    narrow = IntegerLinear(torch.randn(packed.WIDE - 1, 13), None)
    assert narrow.packed is narrow.packed_wide


def test_integer_rows_are_within_half_a_scale(weight: Tensor) -> None:
    integers, scales = integer_rows(weight)
    assert (integers.dtype, scales.dtype) == (torch.int8, torch.float32)
    error = (weight.double() - integers.double() * scales.double()[:, None]).abs()
    assert (error <= scales.double()[:, None] / 2 * (1 + 1e-6)).all()
    assert (integers.abs().amax(dim=1) == 127).all()
    torch.testing.assert_close(scales, weight.abs().amax(dim=1) / 127)


@torch.inference_mode()
def test_a_row_of_zeros_stays_one(weight: Tensor, inputs: Tensor, bias: Tensor) -> None:
    weight[7] = 0
    integers, scales = integer_rows(weight)
    assert (integers[7] == 0).all()
    assert (scales > 0).all()
    assert torch.isfinite(scales).all()
    torch.testing.assert_close(IntegerLinear(weight, bias)(inputs)[..., 7], bias[7].expand(3, ROWS))


@torch.inference_mode()
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_zeros_in_are_the_bias_out(weight: Tensor, bias: Tensor, precision: str) -> None:
    found = linear_of(precision)(weight, bias)(torch.zeros(ROWS, INPUTS))
    rounded = bias.bfloat16().float() if precision == "bf16" else bias
    torch.testing.assert_close(found, rounded.expand(ROWS, OUTPUTS))


def test_fp32_shares_its_weights_and_the_others_leave_them_alone(weight: Tensor) -> None:
    trained, before = nn.Parameter(weight), weight.clone()
    layer = FullLinear(trained, None)
    assert layer.weight.data_ptr() == trained.data_ptr()
    for kind in (FullLinear, HalfLinear, IntegerLinear):
        assert list(kind(trained, None).parameters()) == []
    assert torch.equal(trained, before)
    assert trained.requires_grad


def test_the_choice_of_a_library_is_put_back(weight: Tensor) -> None:
    before = torch.backends.quantized.engine
    IntegerLinear(weight, None)
    assert torch.backends.quantized.engine == before
    with pytest.raises(RuntimeError):
        packed._pack(weight, weight[:, 0], None, before)  # no integers
    assert torch.backends.quantized.engine == before


@pytest.mark.parametrize(("precision", "kind"), [("fp32", FullLinear), ("bf16", HalfLinear), ("int8", IntegerLinear)])
def test_a_precision_has_its_layer(precision: str, kind: type) -> None:
    assert linear_of(precision) is kind


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(UserError, match="unknown precision 'fp16': there are fp32, bf16, int8"):
        linear_of("fp16")


def test_int8_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "int8_engines", lambda: [])
    with pytest.raises(
        UserError, match=r"precision int8: this build of torch has no int8 products .* use fp32 or bf16"
    ):
        linear_of("int8")
    assert linear_of("bf16") is HalfLinear


@torch.inference_mode()
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_packed_network_is_the_network(inputs: Tensor, activation: str) -> None:
    network = FeedForward(INPUTS, 29, activation=activation, dropout=0.3).eval()
    for layer in (network.inner, network.outer):
        nn.init.normal_(layer.bias)
    given = inputs.clone()
    torch.testing.assert_close(PackedFeedForward(network, FullLinear)(inputs), network(inputs), rtol=1e-5, atol=1e-5)
    assert torch.equal(inputs, given)
    assert not getattr(network.activation, "inplace", False)
