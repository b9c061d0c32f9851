"""A corpus of many files: lines per second and memory of workers, an actor of Ray beside a process, a killed worker.

    python -m benchmarks.corpus --text train.en.gz --lines 4000
    python -m benchmarks.corpus --text a.tsv.gz --text b.tsv.gz --lines 200000 --beam 1 --row processes-2

Every row is a process of `limelight translate` on the same lines, with one thread for each worker. Memory is that of
the command with all its workers, each page counted once (PSS). A killed worker is ended by `kill -9` after ten seconds.
"""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.common import Figures, report, run, table
from limelight.storage.layout import DEFAULT

FILES = 4
KILLED_AFTER = 10.0


def main(
    text: Annotated[list[Path], typer.Option(help="Text, a line each; .gz is read, of .tsv the first column.")],
    lines: Annotated[int, typer.Option(help="Number of lines.")] = 4000,
    beam: Annotated[int, typer.Option(help="Beam size.")] = 4,
    model: str = DEFAULT,
    source: str = "en",
    target: str = "de",
    workers: Annotated[int, typer.Option(help="The larger number of workers.")] = 2,
    row: Annotated[list[str] | None, typer.Option(help="Such as processes-2 or actors-1; all if left out.")] = None,
) -> None:
    """Measure and print."""
    names = [f"processes-{number}" for number in (1, workers)] + [f"processes-{workers}-killed"]
    if find_spec("ray"):
        names += [name.replace("processes", "actors") for name in names]
    options = ["--model", model, "--from", source, "--to", target, "--beam", str(beam), "--lines", "--no-guards"]
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "in", list(islice(chain.from_iterable(map(read, text)), lines)))
        rows = {name: measured(name, folder, options, lines) for name in row or names}
    shown = table(
        ["workers", *next(iter(rows.values()))], [[name, *figures.values()] for name, figures in rows.items()]
    )
    report(f"corpus-{lines}", f"corpus --text FILE --lines {lines} --beam {beam}", shown, rows=rows)


def read(path: Path) -> Iterator[str]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.split("\t")[0].rstrip("\n") + "\n"


def write_files(folder: Path, lines: list[str]) -> None:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"part-{number}.txt").write_text("".join(lines[number::FILES]), encoding="utf-8")


def measured(name: str, folder: Path, options: list[str], lines: int) -> Figures:
    """One run of the command."""
    kind, workers, *killed = name.split("-")
    shutil.rmtree(folder / "out", ignore_errors=True)
    command = [sys.executable, "-m", "limelight", "translate", *options, "--workers", workers]
    command += ["--engine", "ray"] * (kind == "actors") + [str(folder / "in"), "-o", str(folder / "out")]
    # 15 by default: beside other work actors would wait for it
    environment = {**os.environ, "RAY_worker_niceness": "0"}
    began, peak = time.monotonic(), 0
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            family = [process.pid, *children(process.pid)]
            peak = max(peak, sum(map(shared_size, family)))
            if killed and time.monotonic() - began > KILLED_AFTER:
                killed.clear()
                os.kill(family[-1], signal.SIGKILL)
            time.sleep(0.2)
    took = time.monotonic() - began
    written = sum(len(path.read_bytes().splitlines()) for path in (folder / "out").glob("part-?.txt"))
    assert (process.returncode, written) == (0, lines)
    return {"lines/s": lines / took, "seconds in all": took, "MiB in all": peak / 2**20}


def children(pid: int) -> list[int]:
    """All processes below one; empty if it has ended."""
    try:
        own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [below for child in own for below in children(child)]


def shared_size(pid: int) -> int:
    """Bytes of a process, what it shares divided by those who share it; 0 for one that has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    run(main)
