"""Further processes of one run on the CPU of this machine (`training.processes`): their start and their end.

Threads wait for one another in every product, processes only a few times in an update; docs/scale.md measures both.
The results are those of one process (`distributed.py`).

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

from torch import distributed

from limelight.config import RunConfig, load_config
from limelight.errors import RunError
from limelight.storage.layout import CONFIG
from limelight.training.distributed import WAIT, Group, PeerEndedError

PACKAGES = Path(__file__).parents[2]
ENTRY = "limelight.cli.join"
"""What a further process runs."""
READY = b"ready\n"
CONNECT, LEAVE = timedelta(minutes=5), 10.0
"""How long processes that are ready may take to connect, and to end by themselves."""


def divided(config: RunConfig) -> RunConfig:
    """The same updates in as many smaller batches as processes shall share them; `config` if it divides them itself."""
    training = config.training
    count = training.processes or 1
    if count == 1 or training.accumulate > 1 or config.batching.tokens < count:
        return config
    return with_batches(config, accumulate=count, tokens=config.batching.tokens // count)


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

    def start(self, number: int, folder: Path, *, threads: int) -> Group:
        """Start so many processes with this one; `join` is to be called when the run in `folder` is prepared."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            port = listening.getsockname()[1]
            self._store = distributed.TCPStore(
                "127.0.0.1",
                port,
                number,
                True,
                CONNECT,
                wait_for_workers=False,
                master_listen_fd=listening.detach(),
            )
        memory = None
        if hasattr(os, "memfd_create"):
            memory = os.memfd_create("limelight")
            self._leave.callback(os.close, memory)
        for rank in range(1, number):
            self._started.append(_start(folder, Place(rank, number, threads, port, memory)))
        group = Group(0, number, threads=threads, memory=memory)
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
