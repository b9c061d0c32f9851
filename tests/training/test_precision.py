"""Which numbers are multiplied in."""

from pathlib import Path

import pytest
import torch

from limelight.errors import UserError
from limelight.training.optimization import precision
from limelight.training.optimization.precision import autocast, choose_precision, deterministic_kernels
from tests.training.helpers import go, last_weights, tiny_run

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class Hardware:
    """What the hardware is said to multiply."""

    def __init__(self, patched: pytest.MonkeyPatch, *kinds: str) -> None:
        for kind in ("bf16", "fp16"):
            patched.setattr(precision, f"multiplies_{kind}", lambda _, found=kind in kinds: found)


@pytest.mark.parametrize("device", [CPU, CUDA])
@pytest.mark.parametrize(
    ("kinds", "chosen"), [(("bf16", "fp16"), "bf16"), (("bf16",), "bf16"), (("fp16",), "fp16"), ((), "fp32")]
)
def test_auto_asks_the_hardware(
    device: torch.device, kinds: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Hardware(monkeypatch, *kinds)
    assert choose_precision("auto", device) == chosen
    assert choose_precision("fp32", device) == "fp32"
    assert choose_precision("fp16", device) == "fp16"


def test_bf16_on_a_gpu_without_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for kinds, other in (((), "fp32"), (("fp16",), "fp16")):
        Hardware(monkeypatch, *kinds)
        with pytest.raises(UserError, match=rf"precision=bf16, but this GPU cannot .* set training\.precision={other}"):
            choose_precision("bf16", CUDA)


def test_a_cpu_without_bf16_multiplies_in_fp32(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch's autocast would find no LSTM, and be slower with everything else."""
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: False)
    cells, inputs = torch.nn.LSTM(3, 5), torch.randn(2, 1, 3)
    with autocast("bf16", CPU):
        assert cells(inputs)[0].dtype == torch.float32


def test_deterministic_kernels_are_those_of_a_cpu(tmp_path: Path) -> None:
    """On a CPU the setting changes nothing, and afterwards the process is as before."""
    config = tiny_run(tmp_path / "text", max_steps=3)
    go(config, tmp_path / "one")
    go(config, tmp_path / "two", deterministic=True)
    assert last_weights(tmp_path / "one") == last_weights(tmp_path / "two")
    with deterministic_kernels(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
