"""The device decides in which precision stored weights are computed."""

import pytest
import torch

from limelight.inference import prepare
from limelight.inference.linear import Fp32Linear
from limelight.inference.prepare import search_precision, slow_precision


@pytest.mark.parametrize(
    ("stored", "device", "bf16", "has_int8", "chosen"),
    [
        ("fp32", "cpu", True, True, "fp32"),
        ("bf16", "cpu", True, True, "bf16"),
        ("bf16", "cpu", False, True, "fp32"),
        ("int8", "cpu", False, True, "int8"),
        ("int8", "cpu", True, False, "fp32"),
        ("fp32", "cuda", True, True, "fp32"),
        ("bf16", "cuda", True, True, "bf16"),
        ("bf16", "cuda", False, True, "fp32"),
        ("int8", "cuda", True, True, "bf16"),
        ("int8", "cuda:1", False, True, "fp32"),
        ("int8", "mps", True, False, "bf16"),
    ],
)
def test_the_device_decides_what_is_computed_with_stored_weights(
    stored: str, device: str, bf16: bool, has_int8: bool, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: bf16)
    monkeypatch.setattr(prepare, "int8_kind", lambda: Fp32Linear if has_int8 else None)
    assert search_precision(stored, torch.device(device)) == chosen


def test_a_precision_without_instructions_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: False)
    assert slow_precision("fp32", cpu) is slow_precision("int8", cpu) is None
    assert slow_precision("bf16", cpu).startswith("precision bf16 is slower than fp32 here: the processor has ")
    assert "this GPU has no bf16 instructions" in slow_precision("bf16", gpu)
    monkeypatch.setattr(prepare, "multiplies_bf16", lambda _: True)
    assert slow_precision("bf16", cpu) is None
