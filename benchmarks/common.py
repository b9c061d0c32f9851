"""What benchmarks share: the machine, ways that take turns in processes of their own, and the file of a result."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import typer

import limelight
from limelight.config import Corpus

RESULTS = Path(__file__).parent / "results"
Figures = dict[str, float]


def run(main: Callable[..., None], **others: Callable[..., None]) -> None:
    """A program: `main`, or another command if the first word is its name."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word in others:
        del sys.argv[1]
    typer.run(others.get(word, main))


def describe_machine() -> dict[str, Any]:
    """Processor, cores, threads, memory, load and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "load": os.getloadavg()[0],
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


def apart(module: str, *words: object) -> Any:
    """What another process of a benchmark prints last, as JSON; other output goes on."""
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


def in_turn(ways: Iterable[str], measure: Callable[[str], Figures], rounds: int) -> list[dict[str, Figures]]:
    """Figures of each way in each round. Ways alternate, so that a machine that becomes slower does so for all."""
    names = list(ways)
    found = []
    for number in range(rounds):
        found.append({way: measure(way) for way in names})
        print(f"round {number + 1} of {rounds}: {found[-1]}", file=sys.stderr)
    return found


def medians(rounds: Sequence[Mapping[str, Figures]]) -> dict[str, Figures]:
    """Of each way and figure over the rounds."""
    return {
        way: {name: round(statistics.median(each[way][name] for each in rounds), 3) for name in figures}
        for way, figures in rounds[0].items()
    }


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers get separators of thousands and as many digits as they are worth."""
    lines = [list(head), ["---"] * len(head), *([_shown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def write_result(name: str, result: Mapping[str, Any], *, folder: Path = RESULTS) -> None:
    """`NAME.json` in the folder of results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def report(name: str, command: str, shown: str, *, folder: Path = RESULTS, **figures: Any) -> None:
    """Print a table, and write it with the figures, the command and the machine."""
    result = {"command": f"python -m benchmarks.{command}", "machine": describe_machine(), **figures, "table": shown}
    write_result(name, result, folder=folder)
    print(shown)


def multi30k(data: Path, part: str) -> tuple[Corpus]:
    """A part of Multi30k, English to German."""
    return (Corpus(files=(str(data / f"{part}.en.gz"), str(data / f"{part}.de.gz")), source="en", target="de"),)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    found = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16") if flag in flags]
    return f"{', '.join(sorted(names))} ({' '.join(found)})"
