"""What a figure was measured on: a number without its machine says nothing."""

import os
import platform
import time
from pathlib import Path
from typing import Any

import torch

import limelight


def describe_machine() -> dict[str, Any]:
    """Processor, cores, threads, memory and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "limelight": limelight.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def product_rate(dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large product of matrices: what the machine has to give, now."""
    left, right = torch.randn(2, 2048, 2048).to(dtype)
    best = float("inf")
    for _ in range(6):
        begin = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - begin)
    return 2 * 2048**3 / best


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    found = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16") if flag in flags]
    return f"{', '.join(sorted(names))} ({' '.join(found)})"
