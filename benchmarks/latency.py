"""Latency of one short sentence with the bundled model: warm, and from a cold start of the command.

    python -m benchmarks.latency

Warm is a translator that is loaded, asked for one sentence at a time: greedy and with a beam of 5. Figures are medians;
`CPU` is the time that the process computed, which other work on the machine changes less. Cold is the wall-clock time
of `limelight translate --text ...` from its start to its end: with compiled loops on disk, with an empty numba cache,
and without numba.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result

SENTENCE = "My sister drinks a cup of tea every evening."
WARM = {"greedy": 1, "beam 5": 5}
WARM_AIM, COLD_AIM = 15, 3.0
"""Milliseconds of greedy search, and seconds."""
COLD = ("numba's cache filled", "numba's cache empty", "without numba")


def main(
    calls: Annotated[int, typer.Option(help="Warm translations of each kind.", min=5)] = 40,
    rounds: Annotated[int, typer.Option(help="Cold starts of each kind, in turn.", min=5)] = 5,
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1)] = 2,
    results: Annotated[Path, typer.Option(help="Folder for latency.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    torch.set_num_threads(threads)
    warm = measure_warm(calls, threads)
    cold = measure_cold(rounds)
    rows: list[tuple[Any, ...]] = [
        (f"warm, {name}, ms", wall, cpu, f"<= {WARM_AIM}" if name == "greedy" else None)
        for name, (wall, cpu) in warm.items()
    ]
    rows += [(f"cold, {name}, s", seconds, None, f"<= {COLD_AIM}") for name, seconds in cold.items()]
    printed = table(["one short sentence", "median", "CPU", "aim"], rows)
    result: dict[str, Any] = {
        "benchmark": "latency of one sentence",
        "command": f"python -m benchmarks.latency --calls {calls} --rounds {rounds} --threads {threads}",
        "machine": {**describe_machine(), "load": os.getloadavg()[0]},
        "sentence": SENTENCE,
        "warm_milliseconds": {name: {"wall": wall, "cpu": cpu} for name, (wall, cpu) in warm.items()},
        "cold_seconds": cold,
        "table": printed,
    }
    write_result("latency", result, folder=results)
    print(printed)


def measure_warm(calls: int, threads: int) -> dict[str, tuple[float, float]]:
    """Milliseconds of a call, and of the processor in it, by kind."""
    from limelight.pipelines.load import load_translator
    from limelight.storage.layout import DEFAULT

    translator = load_translator(DEFAULT, threads=threads)
    found = {}
    for name, beam in WARM.items():

        def once(beam: int = beam) -> None:
            translator.translate(SENTENCE, source_lang="en", target_lang="de", beam_size=beam)

        for _ in range(3):
            once()
        both = [(timed(once, time.perf_counter), timed(once, time.process_time)) for _ in range(calls)]
        wall, cpu = (round(1000 * statistics.median(each), 2) for each in zip(*both, strict=True))
        found[name] = wall, cpu
    return found


def timed(call: Callable[[], None], clock: Callable[[], float]) -> float:
    """Seconds of a call by this clock."""
    begin = clock()
    call()
    return clock() - begin


def measure_cold(rounds: int) -> dict[str, float]:
    """Seconds of the command, by kind; the kinds take turns."""
    found: dict[str, list[float]] = {name: [] for name in COLD}
    with tempfile.TemporaryDirectory() as folder:
        missing = Path(folder) / "missing"
        missing.mkdir()
        (missing / "numba.py").write_text("raise ImportError\n")
        start(dict(os.environ))  # so that every file has been read
        for number in range(rounds):
            empty = Path(folder) / str(number)
            path = os.pathsep.join(filter(None, (str(missing), os.environ.get("PYTHONPATH"))))
            changes: tuple[dict[str, str], ...] = ({}, {"NUMBA_CACHE_DIR": str(empty)}, {"PYTHONPATH": path})
            for name, change in zip(COLD, changes, strict=True):
                begin = time.perf_counter()
                start({**os.environ, **change})
                found[name].append(time.perf_counter() - begin)
    return {name: round(statistics.median(seconds), 2) for name, seconds in found.items()}


def start(environment: dict[str, str]) -> str:
    """What the command prints."""
    words = [sys.executable, "-m", "limelight", "translate", "--from", "en", "--to", "de", "--text", SENTENCE]
    return subprocess.run(words, env=environment, capture_output=True, text=True, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    typer.run(main)
