"""Which numbers are multiplied in."""

import pytest
import torch

from limelight.errors import UserError
from limelight.training import precision
from limelight.training.precision import autocast, choose_precision

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("device", [CPU, CUDA])
@pytest.mark.parametrize(("hardware", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_auto_asks_the_hardware(
    device: torch.device, hardware: bool, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: hardware)
    assert choose_precision("auto", device) == chosen
    assert choose_precision("fp32", device) == "fp32"


def test_bf16_on_a_cpu_without_it_is_slow_but_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: False)
    assert choose_precision("bf16", CPU) == "bf16"


def test_bf16_on_a_gpu_without_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: False)
    with pytest.raises(
        UserError, match=r"training\.precision=bf16, but this GPU cannot .* set training\.precision=fp32"
    ):
        choose_precision("bf16", CUDA)


def test_the_hardware_answers() -> None:
    assert precision.multiplies_bf16(CPU) in (True, False)


def test_products_are_made_in_it_and_weights_stay(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: True)
    layer, inputs = torch.nn.Linear(3, 5), torch.randn(2, 3)
    for _ in range(2):  # the same context serves every batch
        with autocast("bf16", CPU):
            assert layer(inputs).dtype == torch.bfloat16
        with autocast("fp32", CPU):
            assert layer(inputs).dtype == torch.float32
    assert layer.weight.dtype == torch.float32


def test_a_cpu_without_bf16_multiplies_in_fp32(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch's autocast would find no LSTM, and be slower with everything else."""
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: False)
    cells, inputs = torch.nn.LSTM(3, 5), torch.randn(2, 1, 3)
    with autocast("bf16", CPU):
        assert cells(inputs)[0].dtype == torch.float32
