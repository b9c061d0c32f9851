"""Training on several cores of one machine: processes of one thread each beside threads of one process.

    python -m benchmarks.scaling --train train.en.gz --train train.de.gz --out runs/scaling

Every row trains the same text with updates of the same size: in one batch, or in `--batches` smaller ones, which the
processes share. Target tokens per second are the median of the lines of the log, without the first two.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.recipes import find_recipe

ROWS = ((1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1))
"""Processes, and threads of each."""
EVERY = 5


def main(
    train: Annotated[list[str], typer.Option(help="Parallel text: one file with both sides, or two.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs.")],
    recipe: Annotated[str, typer.Option(help="Any recipe of limelight.")] = "small",
    batches: Annotated[int, typer.Option(help="Batches into which an update is divided.")] = 2,
    updates: Annotated[int, typer.Option(help="Updates of each row.")] = 36,
    rounds: Annotated[int, typer.Option(help="How often each row is measured; the rows take turns.")] = 2,
) -> None:
    """Measure all rows that this machine has cores for; print them and write them down."""
    cores = os.cpu_count() or 1
    rows = [(*row, parts) for row in ROWS for parts in (1, batches) if row[0] * row[1] <= cores and row[0] <= parts]
    found: dict[tuple[int, int, int], list[float]] = {row: [] for row in rows}
    for number in range(rounds):
        for processes, threads, parts in rows:
            run = prepared(train, out, recipe, parts, f"{processes}x{threads}x{parts}-{number}")
            found[processes, threads, parts].append(speed(run, processes, threads, updates))
    speeds = {row: statistics.median(each) for row, each in found.items()}
    shown = [
        (
            processes,
            threads,
            parts,
            each,
            each / speeds[1, 1, 1],
            each / speeds.get((1, processes * threads, 1), math.nan),
        )
        for (processes, threads, parts), each in speeds.items()
    ]
    head = ("processes", "threads of each", "batches of an update", "target tokens/s", "against one core",
            "against as many threads, one batch")  # fmt: skip
    print(table(head, shown))
    write_result("scaling", {
        "benchmark": "processes and threads", "recipe": recipe, "updates": updates, "rounds": rounds,
        "machine": describe_machine(),
        "target_tokens_per_second": {"x".join(map(str, row)): each for row, each in speeds.items()},
    })  # fmt: skip


def prepared(train: list[str], out: Path, recipe: str, parts: int, name: str) -> Path:
    """A run folder with text and vocabulary, made once and copied: they are no part of what is measured."""
    first = out / f"first-{parts}"
    if not first.exists():
        tokens = find_recipe(recipe).batching.tokens // parts
        settings = ("training.max_steps=1", f"training.accumulate={parts}", f"batching.tokens={tokens}",
                    f"training.log_every={EVERY}", "training.validate_every=1000000")  # fmt: skip
        given = [word for setting in settings for word in ("--set", setting)]
        languages = ["--source", "en", "--target", "de"]
        command = ["train", "--train", *train, *languages, "--recipe", recipe, *given, "--out", str(first), "-q"]
        subprocess.run([sys.executable, "-m", "limelight", *command], check=True)
    run = out / name
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(first, run))


def speed(run: Path, processes: int, threads: int, updates: int) -> float:
    """Target tokens per second of the run, gone on with for so many updates."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(launcher if processes > 1 else ()), "-m", "limelight", "train", "--out", str(run)]
    command += ["-q", "--max-steps", str(updates), "--threads", str(threads)]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [line["target_tokens_per_second"] for line in lines if line["event"] == "training"]
    return statistics.median(speeds[2:])


if __name__ == "__main__":
    typer.run(main)
