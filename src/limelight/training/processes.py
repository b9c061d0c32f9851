"""Further processes of one run on the CPU of this machine: when they pay, their start and their end.

Several processes of one thread train faster than one process with as many threads: threads wait for one another in
every product, processes only twice or so in an update. The results are those of one process (`distributed.py`).

The first process prepares the run and starts the others, which join it when it is prepared. They talk over loopback,
share memory for the sums of gradients, print nothing, and end with the first process however that ends: their standard
input is a pipe that it holds. They are in sessions of their own, so Ctrl-C reaches the first process alone, which tells
the others when to stop.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, NamedTuple, cast

import torch
from torch import distributed, nn

from limelight.config import RunConfig, load_config
from limelight.errors import RunError
from limelight.memory import physical_memory
from limelight.models.build import choose_device, count_parameters
from limelight.storage.layout import CONFIG
from limelight.training.carry import ReadsOn
from limelight.training.distributed import WAIT, Group, PeerEndedError

PACKAGES = Path(__file__).parents[2]
ENTRY = "limelight.cli.join"
"""What a further process runs."""
READY = b"ready\n"
MINUTES = 5.0
"""Minimum length of a run for which further processes are started: a start takes some seconds."""
RATE = 50e9
"""Floating-point operations per second of a core, for an estimate of the length of a run of so many updates."""
TOKENS = 1000
"""Minimum tokens that each process computes in an update (`batching.tokens` times its batches)."""
PART = 2048
"""Minimum tokens of a batch that an update is divided into for processes: below this, computing several batches takes
notably longer than one."""
BYTES = 28
"""Bytes for each parameter and process: weights, gradients, two moments, steps, a part of the shared memory."""
MEMORY = 0.5
"""The share of the memory of this machine that they may take."""
CONNECT, LEAVE = timedelta(minutes=5), 10.0
"""How long processes that are ready may take to connect, and to end by themselves."""


class Choice(NamedTuple):
    """How many processes train, and with how many threads each."""

    number: int
    threads: int
    reason: str = ""
    """What to say of it."""


def choose_processes(config: RunConfig, model: nn.Module) -> Choice:
    """The processes of a new or resumed run; `model` may have no memory (`meta`).

    `training.processes` determines their number. If it is not given, there are as many as threads and batches of an
    update, where this is faster (docs/scale.md). The choice depends on the settings and the machine, not on the
    progress of the run: a run that is resumed with the same settings has as many processes.
    """
    training, parameters = config.training, count_parameters(model)
    threads = training.threads or torch.get_num_threads()
    if training.processes is not None:
        count, each = training.processes, max(1, threads // training.processes)
        return Choice(count, each, f"{count} processes of {_threads(each)} train together")
    alone = Choice(1, threads)
    if choose_device(training.device).type != "cpu" or isinstance(model, ReadsOn) or os.name != "posix":
        return alone
    rounds = -(-training.accumulate // threads)
    count = -(-training.accumulate // rounds)  # no more than needed for so many rounds
    if count == 1 or rounds * config.batching.tokens < TOKENS or not _is_long(config, parameters, threads):
        return alone
    if count * parameters * BYTES > MEMORY * (physical_memory() or 0):
        return alone
    each = threads // count
    return Choice(
        count,
        each,
        f"{count} processes of {_threads(each)} share the {training.accumulate} batches of an update: faster than one "
        "process, with the same result; --processes 1 trains with one",
    )


def divided(config: RunConfig, model: nn.Module) -> RunConfig:
    """The same updates in as many smaller batches as processes shall share them, where this pays; else `config`."""
    training, tokens = config.training, config.batching.tokens
    threads = training.threads or torch.get_num_threads()
    parts = min(threads, tokens // PART)
    measured = config.model.family == "transformer"
    if not measured or training.accumulate > 1 or training.processes is not None or parts < 2:
        return config
    smaller = with_batches(config, accumulate=parts, tokens=tokens // parts)
    return smaller if choose_processes(smaller, model).number > 1 else config


def with_batches(config: RunConfig, *, accumulate: int, tokens: int) -> RunConfig:
    """The configuration with another division of its updates into batches."""
    training = config.training.model_copy(update={"accumulate": accumulate})
    return config.model_copy(
        update={"training": training, "batching": config.batching.model_copy(update={"tokens": tokens})}
    )


def batches_of_run(config: RunConfig, folder: Path) -> RunConfig:
    """The configuration with the batches of the run in the folder, if there is one and they are `config`'s, divided."""
    if not (folder / CONFIG).exists():
        return config
    there = load_config(folder / CONFIG)
    parts, tokens = there.training.accumulate, there.batching.tokens
    if config.training.accumulate > 1 or tokens != config.batching.tokens // parts:
        return config
    return with_batches(config, accumulate=parts, tokens=tokens)


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _is_long(config: RunConfig, parameters: int, threads: int) -> bool:
    """Whether the bounds of a run leave time for the start of processes."""
    training, minutes = config.training, [float("inf")]
    if training.max_minutes is not None:
        minutes.append(training.max_minutes)
    if training.max_steps is not None:
        operations = 6 * parameters * training.accumulate * config.batching.tokens * training.max_steps
        minutes.append(operations / (RATE * threads) / 60)
    return min(minutes) >= MINUTES


class Place(NamedTuple):
    """What a further process is told of itself."""

    rank: int
    size: int
    threads: int
    port: int
    memory: int | None
    """The descriptor of the memory that all processes share; None on systems without such memory."""


class Launcher:
    """Starts the further processes of a run. Use it in `further_processes`."""

    def __init__(self, *, may_divide: bool = False) -> None:
        self.may_divide = may_divide
        """Whether the updates of a new run may be divided into more batches."""
        self._leave = ExitStack()
        self._started: list[subprocess.Popen[bytes]] = []
        self._store: distributed.TCPStore | None = None

    def start(self, choice: Choice, folder: Path) -> Group:
        """Start the processes but this one; `join` is to be called when the run in `folder` is prepared."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            port = listening.getsockname()[1]
            self._store = distributed.TCPStore(
                "127.0.0.1",
                port,
                choice.number,
                True,
                CONNECT,
                wait_for_workers=False,
                master_listen_fd=listening.detach(),
            )
        memory = None
        if hasattr(os, "memfd_create"):
            memory = os.memfd_create("limelight")
            self._leave.callback(os.close, memory)
        for rank in range(1, choice.number):
            self._started.append(_start(folder, Place(rank, choice.number, choice.threads, port, memory)))
        group = Group(0, choice.number, threads=choice.threads, memory=memory)
        group.is_started_here = True
        return group

    def join(self) -> None:
        """Wait for the started processes and connect with them; nothing to do if there are none.

        Raises `RunError` if one of them did not begin.
        """
        if self._store is None:
            return
        for process in self._started:
            if cast(IO[bytes], process.stdout).readline() != READY:
                raise RunError(
                    f"a further process of this training did not begin ({_ending(process)}); --processes 1 trains "
                    "without"
                )
        _connect(self._store, 0, len(self._started) + 1)
        self._leave.callback(distributed.destroy_process_group)

    def close(self, error: BaseException | None = None) -> None:
        """Wait until the processes have ended; after an error or a signal end them, and say with it how one ended."""
        if isinstance(error, PeerEndedError):
            ended = [process for process in self._started if process.poll() not in (None, 0)]
            for process in ended[:1]:
                error.add_note(f"process {process.pid} ended first ({_ending(process)})")
        self._leave.close()
        for process in self._started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE if error is None else 0.0)
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast(IO[bytes], pipe).close()


@contextmanager
def further_processes(*, may_divide: bool) -> Iterator[Launcher]:
    """A context at whose end no process is left that was started in it."""
    launcher = Launcher(may_divide=may_divide)
    try:
        yield launcher
    except BaseException as error:
        launcher.close(error)
        raise
    launcher.close()


def _start(folder: Path, place: Place) -> subprocess.Popen[bytes]:
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", ENTRY, str(folder), json.dumps(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=() if place.memory is None else (place.memory,),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _connect(store: distributed.Store, rank: int, size: int) -> None:
    """Make the process group, over loopback."""
    name = "GLOO_SOCKET_IFNAME"
    before = os.environ.get(name)
    os.environ[name] = "lo" if sys.platform == "linux" else "lo0"
    try:
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=WAIT)
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


# --- in a further process ---


def end_with_first() -> None:
    """End this process when the first one has ended: it holds the other end of standard input."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def joined_first(place: Place) -> Iterator[Group]:
    """Join the first process, on this machine."""
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    _connect(distributed.TCPStore("127.0.0.1", place.port, place.size, False, CONNECT), place.rank, place.size)
    try:
        yield Group(place.rank, place.size, threads=place.threads, memory=place.memory)
    finally:
        distributed.destroy_process_group()
