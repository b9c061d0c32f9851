"""Memory that runs out: the run ends with advice, at once, and goes on from its last checkpoint where there is more."""

import io
import multiprocessing.connection
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple

from limelight.cli.app import run as command
from limelight.config import TransformerConfig, save_config
from limelight.training.checkpoints.checkpoint import find_damage
from tests.forked import PROCESSES
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import checkpoints_of, tiny_run

MEGABYTE = 1 << 20
SECONDS = 30
"""So long a run may take to end once memory has run out."""

NARROW = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8_000, dropout=0.2)
WORKLOADS = {
    "a batch that does not fit": (NARROW, {"d_ff": 40_000}, 900),
    "weights that do not fit": (NARROW.model_copy(update={"d_model": 256}), {"d_model": 512}, 60),
}
"""Nearly all memory goes to the activations of a batch, or to weights, gradients, Adam's moments, and storing them. The
changed model, which needs more, is for the full form; the number is `batching.tokens`."""


class Ending(NamedTuple):
    """How a process ended."""

    code: int
    said: str
    seconds: float


def workload(name: str, folder: Path, *, large: bool) -> None:
    model, changed, tokens = WORKLOADS[name]
    model = model.model_copy(update=changed if large else {})
    config = tiny_run(folder / "text", model, max_steps=2, checkpoint_every=1, validate_every=2, accumulate=1)
    config = config.model_copy(update={"batching": config.batching.model_copy(update={"tokens": tokens})})
    save_config(config, folder / "run.yaml")


def in_a_child(arguments: Sequence[str], room: int | None = None) -> Ending:
    """A command line in a process that may take so many bytes more than it has at its start."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_command, args=(arguments, room, sender))
    began = time.monotonic()
    process.start()
    sender.close()
    try:
        code, said = receiver.recv()
    except EOFError:
        code, said = None, ""
    process.join()
    return Ending(process.exitcode or 0 if code is None else code, said, time.monotonic() - began)


def _command(arguments: Sequence[str], room: int | None, told: multiprocessing.connection.Connection) -> None:
    if room is not None:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + room, resource.RLIM_INFINITY))
    with redirect_stderr(io.StringIO()) as said:
        code = command(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    told.send((code, said.getvalue()))


REAL = """
import re, sys
from limelight.cli import app
code = app.run(sys.argv[1:])
print(re.search(r"VmPeak:\\s+(\\d+)", open("/proc/self/status").read())[1])
sys.exit(code)
"""


def for_real(arguments: Sequence[str], limit: int | None = None) -> tuple[Ending, int]:
    """`limelight`, from the start of the interpreter on, and the largest address space it has had, in bytes."""

    def bound() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    began = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-c", REAL, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "src", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        preexec_fn=bound,
        timeout=600,
    )
    peak = 1024 * int(found.stdout.split()[-1]) if found.stdout.split() else 0
    return Ending(found.returncode, found.stderr, time.monotonic() - began), peak


def kept_its_word(ending: Ending, healthy: float, run: Path) -> bool:
    """Ended by itself and soon, with one line of advice, and everything that was saved is whole."""
    last = ending.said.strip().splitlines()[-1] if ending.said.strip() else ""
    advice = re.fullmatch(r"limelight: out of memory \(.*\)\. .*batching\.tokens.*training\.accumulate.*", last)
    clean = "Traceback" not in ending.said and "panicked" not in ending.said
    return ending.code == 1 and advice is not None and clean and is_whole(run) and ending.seconds < healthy + SECONDS


def is_whole(run: Path) -> bool:
    """Whether there are checkpoints, none of them damaged."""
    return bool(checkpoints_of(run)) and not any(find_damage(place) for place in checkpoints_of(run))


def was_aborted(ending: Ending, run: Path) -> bool:
    """Ended by a library (LLVM, a thread of torch) that aborts its process when memory runs out: nobody can prevent
    that, but what was saved is whole."""
    return ending.code == -signal.SIGABRT and is_whole(run)


def begun(folder: Path) -> tuple[Path, Path, Ending]:
    """A run of one update, the whole run of two, and how the second update went."""
    whole, base = folder / "whole", folder / "base"
    assert (
        in_a_child(["train", "--config", str(folder / "run.yaml"), "--out", str(whole), "--max-steps", "1"]).code == 0
    )
    shutil.copytree(whole, base)
    rest = in_a_child(["train", "--out", str(whole), "--max-steps", "2"])
    assert rest.code == 0
    return base, whole, rest


def goes_on(run: Path, whole: Path) -> bool:
    return in_a_child(["train", "--out", str(run), "--max-steps", "2"]).code == 0 and not differences(run, whole)


def test_memory_runs_out(full: bool, measured: Measured, tmp_path: Path) -> None:
    for name in WORKLOADS if full else [next(iter(WORKLOADS))]:
        folder = tmp_path / name
        folder.mkdir()
        workload(name, folder, large=full)
        base, whole, healthy = begun(folder)
        if full:
            real_processes(name, base, whole, measured)
        ending = in_a_child(["train", "--out", str(base), "--max-steps", "2"], room=40 * MEGABYTE)
        print(ending)
        good = kept_its_word(ending, healthy.seconds, base) and not kept_its_word(healthy, healthy.seconds, base)
        measured("T8", f"{name}: exit code 1 within {SECONDS} s, one line of advice, then on to the last bit",
                 held=int(good and goes_on(base, whole)), of=1, note="RLIMIT_AS")  # fmt: skip


def real_processes(name: str, base: Path, whole: Path, measured: Measured) -> None:
    """`limelight` from its start on, with limits from what loading the run takes to nearly what finishing it takes."""
    nothing, least = for_real(["train", "--out", str(base), "--max-steps", "1"])
    shutil.copytree(base, base.with_name("healthy"))
    healthy, most = for_real(["train", "--out", str(base.with_name("healthy")), "--max-steps", "2"])
    assert (nothing.code, healthy.code) == (0, 0), (nothing, healthy)
    # Most of the last part of 256 MiB by which the heap grew (`limelight.memory`) was not needed.
    least, most = least - 150 * MEGABYTE, max(least, most - 250 * MEGABYTE)
    limits, held, fitted, aborted = 6, 0, 0, 0
    for number in range(limits):
        run, limit = base.with_name(f"run-{number}"), least + (most - least) * number // limits
        shutil.copytree(base, run)
        ending, _ = for_real(["train", "--out", str(run), "--max-steps", "2"], limit)
        fits = ending.code == 0
        aborts = was_aborted(ending, run)
        good = fits or aborts or kept_its_word(ending, healthy.seconds, run)
        print(f"{name}: {limit / MEGABYTE:,.0f} MiB: {good}: {ending}")
        fitted, aborted = fitted + fits, aborted + aborts
        held += good and goes_on(run, whole)
        shutil.rmtree(run)
    assert fitted + aborted < limits, "limits that are enough, or end a library, prove nothing"
    note = (
        f"RLIMIT_AS, {least / MEGABYTE:,.0f} to {most / MEGABYTE:,.0f} MiB; {fitted} of them were enough, and with "
        f"{aborted} a library aborted. With much less than the first, the libraries themselves do not load"
    )
    what = f"{name}: the same in real processes, with limits between loading and finishing a run"
    measured("T8", what, held=held, of=limits, note=note)
