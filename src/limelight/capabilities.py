"""What this machine computes fast, with the reason for each answer: precision, kernels and test skips follow from it.

The processor says what it has. Environment variables can only take away from that: those that limit torch's own
libraries (`ATEN_CPU_CAPABILITY`, `ONEDNN_MAX_CPU_ISA`), and `LIMELIGHT_CAPABILITIES`, which limits this file alone:

| LIMELIGHT_CAPABILITIES | what may be used on a CPU                           | such as                        |
|------------------------|-----------------------------------------------------|--------------------------------|
| `baseline`             | what every CPU of its architecture has              |                                |
| `avx2`                 | AVX2                                                | laptops; AMD before Zen 4      |
| `avx512`               | AVX-512                                             | Skylake-X                      |
| `vnni`                 | int8 products that are summed in 32 bits            | Cascade Lake, Ice Lake         |
| `bf16`                 | bf16 products, where they are faster than fp32      | Cooper Lake, Zen 4, Neoverse V |
| `all`                  | AMX as well: everything there is                    | Sapphire Rapids                |

An extension that the code was not told to avoid is used whatever is said here: numba and fbgemm have variables of their
own (`NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES`, `FBGEMM_ENABLE_INSTRUCTIONS`).
"""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import torch

from limelight.errors import UserError

LEVELS = ("baseline", "avx2", "avx512", "vnni", "bf16", "all")
"""What `LIMELIGHT_CAPABILITIES` can be; each includes those before it."""

VARIABLE = "LIMELIGHT_CAPABILITIES"

_ATEN = {"default": "baseline", "avx2": "avx2"}
_ONEDNN = {
    "SSE41": "baseline",
    "AVX": "baseline",
    "AVX2": "avx2",
    "AVX2_VNNI": "avx2",
    "AVX2_VNNI_2": "avx2",
    "AVX512_CORE": "avx512",
    "AVX512_CORE_VNNI": "vnni",
    "AVX512_CORE_BF16": "bf16",
    "AVX512_CORE_FP16": "bf16",
}

_NEEDS = {
    "neon": ("baseline", ("neon",)),
    "avx2": ("avx2", ("avx2",)),
    "avx512": ("avx512", ("avx512_f",)),
    "vnni": ("vnni", ("avx512_vnni",)),
    "bf16": ("bf16", ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")),
    "amx": ("all", ("amx_tile",)),
}
"""Name to the level it belongs to, and the processor's flags of which one is enough (`torch.cpu.get_capabilities`)."""


class Capability(NamedTuple):
    """One thing that the machine can or cannot do."""

    name: str
    available: bool
    reason: str


def has(name: str) -> bool:
    """Whether the CPU has `neon`, `avx2`, `avx512`, `vnni`, `bf16` or `amx`, and may use it."""
    return cpu_capability(name).available


def cpu_capability(name: str) -> Capability:
    """The same with the reason. Raises `UserError` where `LIMELIGHT_CAPABILITIES` is none of the `LEVELS`."""
    level, flags = _NEEDS[name]
    found = [flag for flag in flags if processor().get(flag)]
    if not found:
        return Capability(name, False, f"the processor has no {' or '.join(flags)}")
    for variable, ceiling in _ceilings():
        if LEVELS.index(level) > LEVELS.index(ceiling):
            return Capability(name, False, f"the processor has {found[0]}, but {variable} forbids it")
    if name == "bf16" and not torch.backends.mkldnn.is_available():
        return Capability(name, False, f"the processor has {found[0]}, but torch was built without oneDNN")
    return Capability(name, True, f"the processor has {found[0]}")


def int8_engines() -> tuple[str, ...]:
    """Torch's libraries for int8 products on this CPU, best for few rows first; none in some builds."""
    return tuple(name for name in ("fbgemm", "onednn") if name in torch.backends.quantized.supported_engines)


def multiplies_bf16(device: torch.device) -> bool:
    """Whether a device multiplies bf16 faster than fp32. A CPU without instructions for it does not, nor do some that
    have them (`bf16_products`)."""
    if device.type == "cpu":
        return bf16_products().available
    if device.type == "cuda" and torch.cuda.is_available():
        return _cuda_bf16(torch.cuda.current_device() if device.index is None else device.index)
    return device.type == "mps" and torch.backends.mps.is_available() and torch.backends.mps.is_macos_or_newer(14, 0)


def bf16_products() -> Capability:
    """Whether the CPU multiplies bf16 faster than fp32, with the reason.

    Instructions alone do not say it. Cores of Sapphire and Emerald Rapids, known by `avx512_fp16`, are fast in bf16
    through AMX; where a virtual machine hides AMX, their `avx512_bf16` takes 1.8 times as long as fp32
    (`benchmarks.machine.product_rate`, on Emerald Rapids), while AMD's Zen 4 needs half as long as for fp32. This is a
    rule and not a measurement at run time, so that a run has the same precision whatever else the machine does.
    """
    found = cpu_capability("bf16")
    if found.available and processor().get("avx512_fp16") and not has("amx"):
        return Capability("bf16", False, f"{found.reason}, which is slower than fp32 on this kind of CPU without AMX")
    return found


def multiplies_fp16(device: torch.device) -> bool:
    """Whether a device has fast fp16 products: CUDA GPUs with tensor cores (compute capability 7.0), and Apple's."""
    return _compute_capability(device) >= (7, 0) or (device.type == "mps" and torch.backends.mps.is_available())


def multiplies_tf32(device: torch.device) -> bool:
    """Whether a device has TF32: fp32 products whose factors are rounded to 11 bits (compute capability 8.0)."""
    return _compute_capability(device) >= (8, 0)


def _compute_capability(device: torch.device) -> tuple[int, int]:
    """(0, 0) for what is no CUDA GPU."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return 0, 0
    return torch.cuda.get_device_capability(device)


def gpus() -> list[Capability]:
    """The GPUs by the names of their torch devices; the reason says what they are and whether they multiply bf16."""
    found = []
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        major, minor = torch.cuda.get_device_capability(index)
        products = "bf16 products" if _cuda_bf16(index) else "no bf16 products"
        reason = f"{torch.cuda.get_device_name(index)}, compute capability {major}.{minor}, {products}"
        found.append(Capability(f"cuda:{index}", True, reason))
    if torch.backends.mps.is_available():
        products = "bf16 products" if multiplies_bf16(torch.device("mps")) else "no bf16 products before macOS 14"
        found.append(Capability("mps", True, f"Apple GPU, {products}"))
    return found


def capabilities() -> list[Capability]:
    """Everything that is known: of the CPU, torch's int8 libraries, GPUs."""
    engines = int8_engines()
    reason = f"torch has {', '.join(engines)}" if engines else "this build of torch has neither fbgemm nor onednn"
    of_cpu = [bf16_products() if name == "bf16" else cpu_capability(name) for name in _NEEDS]
    return [*of_cpu, Capability("int8", bool(engines), reason), *gpus()]


def describe() -> str:
    """A table of `capabilities`, one line each."""
    lines = [f"{processor().get('cpu_name') or 'CPU'} ({processor().get('architecture', 'unknown')})"]
    for name, available, reason in capabilities():
        lines.append(f"  {name:8}{'yes' if available else 'no':5}{reason}")
    return "\n".join(lines)


@cache
def processor() -> Mapping[str, Any]:
    """What the processor says of itself, whatever the environment forbids."""
    query = getattr(torch.cpu, "get_capabilities", None)
    if query is not None:
        return dict(query())
    return {
        "avx2": torch.cpu._is_avx2_supported(),
        "avx512_f": torch.cpu._is_avx512_supported(),
        "avx512_vnni": torch.cpu._is_vnni_supported(),
        "avx512_bf16": torch.cpu._is_avx512_bf16_supported(),
        "amx_bf16": torch.cpu._is_amx_tile_supported(),
        "amx_tile": torch.cpu._is_amx_tile_supported(),
    }


def _ceilings() -> list[tuple[str, str]]:
    """The variables that are set, as they were written, and the level up to which each permits."""
    ours = os.environ.get(VARIABLE, "").lower()
    if ours and ours not in LEVELS:
        raise UserError(f"{VARIABLE}={ours}: there is {', '.join(LEVELS)}")
    ceilings = [(f"{VARIABLE}={ours}", ours)] if ours else []
    for variable, levels in (("ATEN_CPU_CAPABILITY", _ATEN), ("ONEDNN_MAX_CPU_ISA", _ONEDNN)):
        value = os.environ.get(variable, "")
        ceiling = levels.get(value.lower() if levels is _ATEN else value.upper())
        ceilings += [(f"{variable}={value}", ceiling)] if ceiling else []
    return ceilings


@cache
def _cuda_bf16(index: int) -> bool:
    with torch.cuda.device(index):
        return torch.cuda.is_bf16_supported(including_emulation=False)
