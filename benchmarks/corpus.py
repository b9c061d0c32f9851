"""A corpus of many files: lines per second and memory of workers, what an actor of Ray costs beside a process, what a
killed worker costs, and how fast the driver reads and writes when translating costs nothing.

    python -m benchmarks.corpus --text train.en.gz --lines 4000
    python -m benchmarks.corpus --text a.tsv.gz --text b.tsv.gz --lines 200000 --beam 1

Every row translates the same lines with the bundled model, from English to German by default, with one thread for each
worker. Memory is that of the workers and the process that has loaded the model, each page counted once (PSS).
"""

import gzip
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.corpus.pool import Processes
from limelight.corpus.translate import CorpusJob, Report, translate_corpus
from limelight.corpus.worker import Done, Outcome, WorkerSettings
from limelight.storage.layout import DEFAULT

FILES = 4


def main(
    text: Annotated[list[Path], typer.Option(help="Text, a line each; .gz is read, of .tsv the first column.")],
    lines: Annotated[int, typer.Option(help="How many of its lines.")] = 4000,
    beam: Annotated[int, typer.Option(help="Beam size.")] = 4,
    model: str = DEFAULT,
    source: str = "en",
    target: str = "de",
    workers: Annotated[int, typer.Option(help="The larger number of workers.")] = 2,
    row: Annotated[
        list[str] | None, typer.Option(help="Such as processes-2 or actors-killed; all if left out.")
    ] = None,
) -> None:
    """Measure and print."""
    options = {
        "source_lang": source, "target_lang": target, "beam_size": beam, "batch_tokens": 16384,
        "lines": True, "guards": False,
    }  # fmt: skip
    settings = WorkerSettings([model], options, device="cpu")
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "in", list(islice(chain.from_iterable(map(read, text)), lines)))
        ways = {
            "processes-1": partial(processes, folder, settings, 1),
            f"processes-{workers}": partial(processes, folder, settings, workers),
            "processes-killed": partial(processes, folder, settings, workers, kill=True),
            "actors-1": partial(actors, folder, settings, 1),
            f"actors-{workers}": partial(actors, folder, settings, workers),
            "actors-killed": partial(actors, folder, settings, workers, kill=True),
            "driver": partial(driver, folder),
        }
        chosen = row or [name for name in ways if find_spec("ray") or not name.startswith("actors")]
        rows = [way() for name, way in ways.items() if name in chosen]
    head = ("way", "workers", "lines/s", "seconds in all", "until the first chunk", "MiB for each worker", "ended")
    print(table(head, [[row[name] for name in NAMES] for row in rows]))
    write_result(f"corpus-{lines}", {
        "benchmark": "a corpus", "lines": lines, "beam": beam, "machine": describe_machine(), "rows": rows,
    })  # fmt: skip


NAMES = ("way", "workers", "lines_per_second", "seconds", "first_chunk", "mib_each", "ended")


def read(path: Path) -> Iterator[str]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.split("\t")[0].rstrip("\n") + "\n"


def write_files(folder: Path, lines: list[str]) -> None:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"part-{number}.txt").write_text("".join(lines[number::FILES]), encoding="utf-8")


def processes(folder: Path, settings: WorkerSettings, workers: int, *, kill: bool = False) -> dict[str, Any]:
    """With `kill`, the first worker is killed after five seconds at work."""
    engine = Processes(settings, forks=True)
    own, pids = engine.start, list[int]()

    def start(number: int) -> Any:
        worker = own(number)
        note(pids, worker.pid, kill)  # type: ignore[attr-defined]
        return worker

    engine.start = start  # type: ignore[method-assign]
    return measured(folder, engine, workers, "processes, one killed" if kill else "processes", pids)


def note(pids: list[int], pid: int, kill: bool) -> None:
    """Remember a worker; with `kill`, end the first after five seconds."""
    pids.append(pid)
    if kill and len(pids) == 1:
        threading.Timer(5.0, lambda: os.kill(pid, signal.SIGKILL)).start()


def actors(folder: Path, settings: WorkerSettings, workers: int, *, kill: bool = False) -> dict[str, Any]:
    import ray

    from limelight.corpus.ray_actors import Actors

    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: beside other work actors would wait for it
    began = time.monotonic()
    engine = Actors(settings, workers=workers)
    pids = list[int]()
    own = engine.start

    def start(number: int) -> Any:
        worker = own(number)
        note(pids, ray.get(worker._actor.__ray_call__.remote(lambda _: os.getpid())), kill)  # type: ignore[attr-defined]
        return worker

    engine.start = start  # type: ignore[method-assign]
    return measured(folder, engine, workers, "actors of Ray, one killed" if kill else "actors of Ray", pids, began)


def measured(
    folder: Path, engine: Any, workers: int, way: str, pids: list[int], began: float | None = None
) -> dict[str, Any]:
    output = folder / "out"
    shutil.rmtree(output, ignore_errors=True)
    began = began or time.monotonic()
    first, memory = list[float](), list[float]()

    def show(report: Report, files: int) -> None:
        if not first:
            first.append(time.monotonic() - began)
        memory.append(sum(map(shared_size, pids)) / max(1, len([pid for pid in pids if shared_size(pid)])))

    job = CorpusJob((str(folder / "in"),), output, {}, workers=workers, chunk=500)
    report = translate_corpus(job, engine, show)
    took = time.monotonic() - began
    assert report.counts.written == report.counts.read
    return {
        "way": way, "workers": workers, "lines_per_second": report.counts.read / took, "seconds": took,
        "first_chunk": first[0], "mib_each": max(memory) / 2**20, "ended": report.workers.ended,
    }  # fmt: skip


def shared_size(pid: int) -> int:
    """Bytes of a process, what it shares divided by those who share it; 0 for one that is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


class Echo:
    """A worker that costs nothing."""

    def ask(self, texts: Any, first: int, timeout: float) -> list[Outcome]:
        return [Done([text]) for text in texts]

    def close(self) -> None: ...


class Echoes:
    def start(self, number: int) -> Echo:
        return Echo()

    def close(self) -> None: ...


def driver(folder: Path, lines: int = 400_000) -> dict[str, Any]:
    """Reading, dividing and writing alone."""
    (folder / "long").mkdir()
    (folder / "long" / "a.txt").write_text("a sentence of a usual length, of some words\n" * lines, encoding="utf-8")
    began = time.monotonic()
    report = translate_corpus(CorpusJob((str(folder / "long"),), folder / "echo", {}, workers=2), Echoes())
    took = time.monotonic() - began
    assert report.counts.written == lines
    return {
        "way": "the driver alone", "workers": 2, "lines_per_second": lines / took, "seconds": took,
        "first_chunk": None, "mib_each": None, "ended": 0,
    }  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
