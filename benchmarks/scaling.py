"""Training on several cores of one machine: processes of one thread each beside threads of one process.

    python -m benchmarks.scaling --train train.en.gz --train train.de.gz --out runs/scaling

Every row is the same run, with the same batches: an update has four of them, which the processes share. What differs is
how many processes and threads there are. Target tokens per second are the median of the lines of the log, without the
first two.
"""

import json
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

ROWS = ((1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1))
"""Processes, and threads of each."""
BATCHES, TOKENS, EVERY = 4, 1024, 5


def main(
    train: Annotated[list[str], typer.Option(help="Parallel text: one file with both sides, or two.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs.")],
    recipe: Annotated[str, typer.Option(help="Any recipe of limelight.")] = "quick",
    updates: Annotated[int, typer.Option(help="Updates of each row.")] = 40,
    rounds: Annotated[int, typer.Option(help="How often each row is measured; the rows take turns.")] = 3,
) -> None:
    """Measure all rows that this machine has cores for; print them and write them down."""
    cores = os.cpu_count() or 1
    rows = [row for row in ROWS if row[0] * row[1] <= cores]
    found: dict[tuple[int, int], list[float]] = {row: [] for row in rows}
    for number in range(rounds):
        for processes, threads in rows:
            run = prepared(train, out, recipe, f"{processes}x{threads}-{number}")
            found[processes, threads].append(speed(run, processes, threads, updates))
    speeds = {row: statistics.median(each) for row, each in found.items()}
    alone = {threads: each for (processes, threads), each in speeds.items() if processes == 1}
    shown = [
        (processes, threads, each, each / alone[1], each / alone[processes * threads])
        for (processes, threads), each in speeds.items()
    ]
    head = ("processes", "threads of each", "target tokens/s", "against one core", "against as many threads")
    print(table(head, shown))
    write_result("scaling", {
        "benchmark": "processes and threads", "recipe": recipe, "updates": updates, "rounds": rounds,
        "machine": describe_machine(),
        "target_tokens_per_second": {f"{row[0]}x{row[1]}": each for row, each in speeds.items()},
    })  # fmt: skip


def prepared(train: list[str], out: Path, recipe: str, name: str) -> Path:
    """A run folder with text and vocabulary, made once and copied: they are no part of what is measured."""
    first = out / "first"
    if not first.exists():
        settings = ("training.max_steps=1", f"training.accumulate={BATCHES}", f"batching.tokens={TOKENS}",
                    f"training.log_every={EVERY}", "training.validate_every=1000000")  # fmt: skip
        given = [word for setting in settings for word in ("--set", setting)]
        command = [
            "train",
            "--train",
            *train,
            "--source",
            "en",
            "--target",
            "de",
            "--recipe",
            recipe,
            *given,
            "--out",
            str(first),
        ]
        subprocess.run([sys.executable, "-m", "limelight", *command, "-q"], check=True)
    run = out / name
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(first, run))


def speed(run: Path, processes: int, threads: int, updates: int) -> float:
    """Target tokens per second of the run, gone on with for so many updates."""
    started = [sys.executable]
    if processes > 1:
        started += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*started, "-m", "limelight", "train", "--out", str(run), "-q", "--set", f"training.max_steps={updates}",
               "--threads", str(threads)]  # fmt: skip
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, capture_output=True)
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [line["target_tokens_per_second"] for line in lines if line["event"] == "training"]
    return statistics.median(speeds[2:])


if __name__ == "__main__":
    typer.run(main)
