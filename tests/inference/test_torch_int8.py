"""Packing for torch's int8 libraries: the very integers, and a global switch that is put back."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from limelight.capabilities import int8_engines
from limelight.inference.linear import pack
from limelight.layers.embedding import quantize_rows

pytestmark = pytest.mark.skipif(not int8_engines(), reason="this build of torch has no int8 products")


@pytest.fixture
def weight(seed: int) -> Tensor:
    """Rows of very different size."""
    return torch.randn(43, 67) * torch.logspace(-3, 1, 43)[:, None]


@pytest.mark.parametrize("engine", int8_engines())
def test_the_integers_are_packed_as_they_are(weight: Tensor, engine: str) -> None:
    rows, scales = quantize_rows(weight)
    kept, _ = torch.ops.quantized.linear_unpack(pack(rows, scales, engine))
    assert torch.equal(kept.int_repr(), rows)
    assert torch.equal(kept.q_per_channel_scales(), scales.double())


def test_the_choice_of_a_library_is_put_back(weight: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.backends.quantized.engine
    pack(*quantize_rows(weight), before)
    assert torch.backends.quantized.engine == before

    def fail(*given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(torch, "quantize_per_channel", fail)
    with pytest.raises(RuntimeError):
        pack(*quantize_rows(weight), int8_engines()[-1])
    assert torch.backends.quantized.engine == before


def test_threads_that_load_models_at_once_leave_the_engine_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with the engine that it asked for, though there is but one switch for all of them."""
    seen: list[str] = []
    make = torch.quantize_per_channel

    def slow(*given: object) -> Tensor:
        time.sleep(0.002)
        seen.append(torch.backends.quantized.engine)
        return make(*given)

    monkeypatch.setattr(torch, "quantize_per_channel", slow)
    before, wanted = torch.backends.quantized.engine, [*int8_engines()] * 6
    rows, scales = quantize_rows(torch.randn(5, 7))
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(lambda engine: pack(rows, scales, engine), wanted))
    assert torch.backends.quantized.engine == before
    assert sorted(seen) == sorted(wanted)
