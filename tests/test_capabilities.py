"""What the machine can do: the environment only ever takes away, and every answer has its reason."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from limelight import capabilities
from limelight.capabilities import (
    LEVELS,
    bf16_products,
    cpu_capability,
    describe,
    gpus,
    has,
    multiplies_bf16,
)
from limelight.errors import UserError

EVERYTHING = dict.fromkeys(("avx2", "avx512_f", "avx512_vnni", "avx512_bf16", "amx_tile"), True)
CPU, CUDA = torch.device("cpu"), torch.device("cuda")
NAMES = ("avx2", "avx512", "vnni", "bf16", "amx")


@pytest.fixture(autouse=True)
def no_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIMELIGHT_CAPABILITIES", raising=False)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a(monkeypatch, EVERYTHING)


def on_a(monkeypatch: pytest.MonkeyPatch, flags: Mapping[str, bool]) -> None:
    monkeypatch.setattr(capabilities, "processor", lambda: flags)


def available() -> list[str]:
    return [name for name in NAMES if has(name)]


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_permits_itself_and_those_before_it(level: str, large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMELIGHT_CAPABILITIES", level.upper())
    assert available() == list(NAMES[: LEVELS.index(level)])


def test_an_unknown_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMELIGHT_CAPABILITIES", "sse9")
    with pytest.raises(
        UserError, match="LIMELIGHT_CAPABILITIES=sse9: choose from baseline, avx2, avx512, vnni, bf16, all"
    ):
        has("avx2")


def test_reasons_name_the_flag_or_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a(monkeypatch, {"avx2": True, "avx512_vnni": True})
    monkeypatch.setenv("LIMELIGHT_CAPABILITIES", "avx2")
    assert cpu_capability("avx2").reason == "the processor has avx2"
    assert cpu_capability("avx512").reason == "the processor has no avx512_f"
    assert cpu_capability("vnni").reason == "the processor has avx512_vnni, but LIMELIGHT_CAPABILITIES=avx2 forbids it"


@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16", "bf16", "sve_bf16"])
def test_bf16_has_many_names_and_one_library(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a(monkeypatch, {flag: True})
    assert multiplies_bf16(CPU) == has("bf16") == torch.backends.mkldnn.is_available()
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not multiplies_bf16(CPU)
    assert cpu_capability("bf16").reason.endswith("torch was built without oneDNN")


@pytest.mark.parametrize(
    ("flags", "faster"),
    [
        (("avx512_bf16",), True),
        (("avx512_bf16", "avx512_fp16"), False),
        (("avx512_bf16", "avx512_fp16", "amx_tile"), True),
        (("avx512_fp16",), False),
        (("bf16",), True),
    ],
)
def test_bf16_instructions_may_be_slower_than_fp32(
    flags: tuple[str, ...], faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of Sapphire Rapids are where AMX is hidden."""
    on_a(monkeypatch, dict.fromkeys(flags, True))
    assert multiplies_bf16(torch.device("cpu")) == faster
    assert bf16_products().available == faster
    slower = "bf16" in str(flags) and not faster
    assert has("bf16") == (faster or slower)
    assert ("slower than fp32" in describe()) == slower


def test_a_gpu_answers_for_itself(large: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the CPU has; a GPU that is not there multiplies nothing."""
    if not torch.cuda.is_available():
        assert not multiplies_bf16(CUDA)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    monkeypatch.setattr(
        torch.cuda,
        "get_device_capability",
        lambda device: (8 if getattr(device, "index", device) in (1, None) else 7, 5),  # the current one is the second
    )
    assert [multiplies_bf16(torch.device(name)) for name in ("cuda", "cuda:0", "cuda:1")] == [True, False, True]
    assert list(gpus())[:2] == ["cuda:0", "cuda:1"]
    assert gpus()["cuda:0"] == "GPU 0, compute capability 7.5, no bf16 products"
    assert gpus()["cuda:1"] == "GPU 1, compute capability 8.5, bf16 products"


def test_nobody_else_asks_the_processor() -> None:
    """Or a limit would hold in one place and not in another."""
    asking = re.compile(r"torch\.cpu\._is_|get_capabilities|supported_engines|is_bf16_supported|get_cpu_capability")
    source = Path(capabilities.__file__).parent
    found = [str(path.relative_to(source)) for path in source.rglob("*.py") if asking.search(path.read_text("utf-8"))]
    assert found == ["capabilities.py"]
