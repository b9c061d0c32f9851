"""Layers of which some outputs are chosen: the same numbers as those of the whole layer."""

import pytest
import torch
from torch.nn import functional

from limelight.errors import UserError
from limelight.layers.packed import FullLinear, HalfLinear, IntegerLinear, LooseIntegerLinear, selectable_linear_of

OUT, IN = 23, 13
KINDS = {"fp32": FullLinear, "bf16": HalfLinear, "int8": LooseIntegerLinear}


@pytest.mark.parametrize("precision", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_some_outputs_are_those_of_the_whole_layer(seed: int, precision: str, bias: bool) -> None:
    layer = selectable_linear_of(precision)(torch.randn(OUT, IN), torch.randn(OUT) if bias else None)
    assert type(layer) is KINDS[precision]
    inputs = torch.randn(5, 3, IN)
    expected = layer(inputs)
    for count in (1, 7, OUT):
        ids = torch.randperm(OUT)[:count].sort().values
        few = layer.some(ids)
        assert few(inputs).shape == (5, 3, count)
        assert torch.allclose(few(inputs), expected[..., ids], rtol=1e-5, atol=1e-6)
    assert torch.equal(layer(inputs), expected)  # choosing has left it as it was


@pytest.mark.parametrize("rows", [1, 2, 19, 70])
@pytest.mark.parametrize("bias", [False, True])
def test_loose_integers_are_within_their_rounding(seed: int, rows: int, bias: bool) -> None:
    """Half a scale on each side of every product: |x| s_w / 2 + |w| s_x / 2 + s_w s_x / 4, summed."""
    weight, inputs = torch.randn(OUT, IN).double(), torch.randn(rows, IN).double()
    added = torch.randn(OUT).double() if bias else None
    found = LooseIntegerLinear(weight.float(), None if added is None else added.float())(inputs.float())
    of_weight, of_input = (part.abs().amax(1) / 127 for part in (weight, inputs))
    bound = inputs.abs().sum(1)[:, None] * of_weight / 2 + weight.abs().sum(1) * of_input[:, None] / 2
    bound += IN * of_input[:, None] * of_weight / 4
    assert (found.double() - functional.linear(inputs, weight, added)).abs().le(bound * 1.001 + 1e-5).all()


def test_loose_integers_are_exact_where_the_numbers_are_integers(seed: int) -> None:
    weight, inputs = torch.randint(-127, 128, (OUT, IN)).float(), torch.randint(-127, 128, (6, IN)).float()
    weight[:, 0], inputs[:, 0] = 127, -127
    assert torch.allclose(LooseIntegerLinear(weight, None)(inputs), inputs @ weight.T, rtol=1e-6)


def test_a_position_of_loose_integers_is_scaled_alone(seed: int) -> None:
    """Whatever stands beside it; packed ones share a scale."""
    weight, inputs = torch.randn(OUT, IN), torch.randn(4, IN)
    layer = LooseIntegerLinear(weight, None)
    large = torch.cat([inputs, 1000 * torch.randn(3, IN)])
    assert torch.equal(layer(large)[:4], layer(inputs))
    if "fbgemm" in torch.backends.quantized.supported_engines:
        packed = IntegerLinear(weight, None)
        assert not torch.allclose(packed(large)[:4], packed(inputs))


def test_zeros_and_what_is_no_number(seed: int) -> None:
    layer = LooseIntegerLinear(torch.randn(OUT, IN), None)
    inputs = torch.zeros(3, IN)
    inputs[1, 4] = torch.nan
    assert layer(inputs)[0].eq(0).all()
    assert layer(inputs)[1].isnan().all()
    assert layer(inputs)[2].eq(0).all()


def test_a_precision_that_there_is_not() -> None:
    with pytest.raises(UserError, match="unknown precision 'int4'"):
        selectable_linear_of("int4")
