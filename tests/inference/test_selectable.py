"""Layers of which some outputs are chosen: the same numbers as those of the whole layer."""

import pytest
import torch

from limelight.inference.linear import Bf16Linear, CompiledInt8Linear, Fp32Linear, int8_kind

OUT, IN = 53, 13
KINDS = [Fp32Linear, Bf16Linear, CompiledInt8Linear]


@torch.inference_mode()
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [False, True])
def test_some_outputs_are_those_of_the_whole_layer(seed: int, kind: type, bias: bool) -> None:
    if kind is CompiledInt8Linear and int8_kind() is not kind:
        pytest.skip("needs numba and avx2")
    layer = kind(torch.randn(OUT, IN), torch.randn(OUT) if bias else None)
    inputs = torch.randn(5, 3, IN)
    expected = layer(inputs)
    for count in (1, 7, 16, 33, OUT):
        ids = torch.randperm(OUT)[:count].sort().values
        few = layer.some(ids)
        assert few(inputs).shape == (5, 3, count)
        assert torch.allclose(few(inputs), expected[..., ids], rtol=1e-5, atol=1e-6)
    assert torch.equal(layer(inputs), expected)  # choosing has left it as it was
    again = layer.some(torch.arange(1, OUT, 2)).some(torch.tensor([0, 3, 20]))
    assert torch.allclose(again(inputs), expected[..., [1, 7, 41]], rtol=1e-5, atol=1e-6)
