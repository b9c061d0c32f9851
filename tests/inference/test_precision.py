"""The device decides in which precision stored weights are computed."""

import pytest
import torch

from limelight.inference import prepare
from limelight.inference.linear import TorchInt8Linear
from limelight.inference.prepare import search_precision, slow_precision


@pytest.mark.parametrize(
    ("stored", "device", "bf16", "engines", "chosen"),
    [
        ("fp32", "cpu", True, ("onednn",), "fp32"),
        ("bf16", "cpu", True, ("onednn",), "bf16"),
        ("bf16", "cpu", False, ("onednn",), "fp32"),
        ("int8", "cpu", False, ("onednn",), "int8"),
        ("int8", "cpu", True, (), "fp32"),
        ("fp32", "cuda", True, ("onednn",), "fp32"),
        ("bf16", "cuda", True, ("onednn",), "bf16"),
        ("bf16", "cuda", False, ("onednn",), "fp32"),
        ("int8", "cuda", True, ("onednn",), "bf16"),
        ("int8", "cuda:1", False, ("onednn",), "fp32"),
        ("int8", "mps", True, (), "bf16"),
    ],
)
def test_the_device_decides_what_is_computed_with_stored_weights(
    stored: str, device: str, bf16: bool, engines: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: bf16)
    monkeypatch.setattr(prepare, "int8_kind", lambda: TorchInt8Linear if engines else None)
    assert search_precision(stored, torch.device(device)) == chosen


def test_a_precision_without_instructions_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: False)
    assert slow_precision("fp32", cpu) is slow_precision("int8", cpu) is None
    assert slow_precision("bf16", cpu).startswith("precision bf16 is slower than fp32 here: the processor has ")
    assert "this GPU has no bf16 instructions" in slow_precision("bf16", gpu)
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: True)
    assert slow_precision("bf16", cpu) is None
