"""Hardware capabilities, each with a reason. Precision, kernels and test skips follow from them.

The environment variable `LIMELIGHT_CAPABILITIES` can only restrict what the processor reports:

| LIMELIGHT_CAPABILITIES | what may be used on a CPU                           | such as                        |
|------------------------|-----------------------------------------------------|--------------------------------|
| `baseline`             | what every CPU of its architecture has              |                                |
| `avx2`                 | AVX2                                                | laptops; AMD before Zen 4      |
| `avx512`               | AVX-512                                             | Skylake-X                      |
| `vnni`                 | int8 products that are summed in 32 bits            | Cascade Lake, Ice Lake         |
| `bf16`                 | bf16 products, where they are faster than fp32      | Cooper Lake, Zen 4, Neoverse V |
| `all`                  | everything, AMX included                            | Sapphire Rapids                |

Libraries that do not ask this module are not affected: torch, numba and fbgemm have variables of their own
(`ATEN_CPU_CAPABILITY`, `ONEDNN_MAX_CPU_ISA`, `NUMBA_CPU_NAME`, `FBGEMM_ENABLE_INSTRUCTIONS`).
"""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import torch

from limelight.errors import UserError

LEVELS = ("baseline", "avx2", "avx512", "vnni", "bf16", "all")
"""Values of `LIMELIGHT_CAPABILITIES`; each includes those before it."""

VARIABLE = "LIMELIGHT_CAPABILITIES"
BF16_GPU = (8, 0)
"""The compute capability from which CUDA GPUs multiply bf16; those of AMD that torch supports have more."""

_NEEDS = {
    "neon": ("baseline", ("neon",)),
    "avx2": ("avx2", ("avx2",)),
    "avx512": ("avx512", ("avx512_f",)),
    "vnni": ("vnni", ("avx512_vnni",)),
    "bf16": ("bf16", ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")),
    "amx": ("all", ("amx_tile",)),
}
"""Capability to its level, and processor flags (`torch.cpu.get_capabilities`), of which one is sufficient."""


class Capability(NamedTuple):
    """Whether the machine has a capability, and why or why not."""

    available: bool
    reason: str


def has(name: str) -> bool:
    """Whether the CPU has `neon`, `avx2`, `avx512`, `vnni`, `bf16` or `amx`, and the environment allows its use."""
    return cpu_capability(name).available


def cpu_capability(name: str) -> Capability:
    """A capability of the CPU with the reason. Raises `UserError` if `LIMELIGHT_CAPABILITIES` is not one of
    `LEVELS`."""
    level, flags = _NEEDS[name]
    present = [flag for flag in flags if processor().get(flag)]
    if not present:
        return Capability(False, f"the processor has no {' or '.join(flags)}")
    ceiling = os.environ.get(VARIABLE, "").lower() or LEVELS[-1]
    if ceiling not in LEVELS:
        raise UserError(f"{VARIABLE}={ceiling}: choose from {', '.join(LEVELS)}")
    if LEVELS.index(level) > LEVELS.index(ceiling):
        return Capability(False, f"the processor has {present[0]}, but {VARIABLE}={ceiling} forbids it")
    if name == "bf16" and not torch.backends.mkldnn.is_available():
        return Capability(False, f"the processor has {present[0]}, but torch was built without oneDNN")
    return Capability(True, f"the processor has {present[0]}")


def multiplies_bf16(device: torch.device) -> bool:
    """Whether a device multiplies bf16 faster than fp32. False for CPUs without bf16 instructions, and for some with
    them, see `bf16_products`."""
    if device.type == "cpu":
        return bf16_products().available
    if device.type == "cuda":
        return torch.cuda.is_available() and torch.cuda.get_device_capability(device) >= BF16_GPU
    return device.type == "mps" and torch.backends.mps.is_available() and torch.backends.mps.is_macos_or_newer(14, 0)


def bf16_products() -> Capability:
    """Whether the CPU multiplies bf16 faster than fp32, with the reason.

    Instructions are not sufficient. Sapphire and Emerald Rapids, recognized by `avx512_fp16`, are fast in bf16 through
    AMX; where a virtual machine hides AMX, their `avx512_bf16` takes 1.8 times as long as fp32
    (`benchmarks.common.product_rate`, on Emerald Rapids), while AMD's Zen 4 needs half as long as for fp32. This is a
    rule and not a measurement at run time, so that the precision of a run does not depend on the load of the machine.
    """
    bf16 = cpu_capability("bf16")
    if bf16.available and processor().get("avx512_fp16") and not has("amx"):
        return Capability(False, f"{bf16.reason}, which is slower than fp32 on this kind of CPU without AMX")
    return bf16


def multiplies_fp16(device: torch.device) -> bool:
    """Whether a device has fast fp16 products: CUDA GPUs with tensor cores (compute capability 7.0), and Apple's."""
    if device.type == "cuda":
        return torch.cuda.is_available() and torch.cuda.get_device_capability(device) >= (7, 0)
    return device.type == "mps" and torch.backends.mps.is_available()


def gpus() -> dict[str, str]:
    """For the torch device of each GPU its model and whether it multiplies bf16."""
    found = {}
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        major, minor = capability = torch.cuda.get_device_capability(index)
        products = "bf16 products" if capability >= BF16_GPU else "no bf16 products"
        found[f"cuda:{index}"] = f"{torch.cuda.get_device_name(index)}, compute capability {major}.{minor}, {products}"
    if torch.backends.mps.is_available():
        products = "bf16 products" if multiplies_bf16(torch.device("mps")) else "no bf16 products before macOS 14"
        found["mps"] = f"Apple GPU, {products}"
    return found


def describe() -> str:
    """All capabilities of the CPU and the GPUs as a table, one line each."""
    lines = [f"{processor().get('cpu_name') or 'CPU'} ({processor().get('architecture', 'unknown')})"]
    for name in _NEEDS:
        available, reason = bf16_products() if name == "bf16" else cpu_capability(name)
        lines.append(f"  {name:8}{'yes' if available else 'no':5}{reason}")
    lines += [f"  {name:8}{'yes':5}{reason}" for name, reason in gpus().items()]
    return "\n".join(lines)


@cache
def processor() -> Mapping[str, Any]:
    """The processor's own report, without the restrictions of the environment."""
    return dict(torch.cpu.get_capabilities())
