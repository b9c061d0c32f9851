"""The driver's side of workers that are processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, runtime_checkable

from limelight.corpus.worker import FORK, NUMBER, SERVE, Done, Opening, Outcome
from limelight.errors import RunError, UserError

PROGRAM = "limelight.corpus.worker"
PACKAGES = Path(__file__).parents[2]
"""Where the package lies, for a process that begins elsewhere."""
ENDED = "its worker "
"""What the reason begins with where a worker is gone."""
STARTS = 3
"""Times in a row that loading may end before the model is there."""


class WorkerEnded(Exception):  # noqa: N818
    """A worker is gone, or has not answered in time; its text says which."""


@runtime_checkable
class Worker(Protocol):
    """What translates tasks, one at a time."""

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        """The result for each text. Raises `WorkerEnded`."""

    def close(self) -> None:
        """Let it end, by force where it is at work."""


class Processes:
    """Starts workers, from any thread. With `forks` they share one process that has loaded the model; without, as with
    a GPU, each loads it for itself."""

    def __init__(self, opening: Opening, *, forks: bool) -> None:
        if not hasattr(socket, "send_fds"):
            raise UserError("processes that translate need Linux or macOS; give --workers 1")
        self._opening, self._forks = opening, forks
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._loaders: list[subprocess.Popen[bytes]] = []

    def start(self, number: int) -> Worker:
        """A new worker. Raises `UserError` for an unavailable model, `RunError` if the process ends while loading."""
        mine, theirs = socket.socketpair()
        with self._lock if self._forks else nullcontext(), theirs:
            for _ in range(STARTS):
                try:
                    return _Process(mine, self._hand_over(theirs, number))
                except (OSError, EOFError):
                    self._drop_loader()
                except BaseException:
                    mine.close()
                    raise
        mine.close()
        raise RunError(f"the process that loads the model ended {STARTS} times before it was there")

    def close(self) -> None:
        """End what is left of the processes."""
        with self._lock:
            self._drop_loader()
            for loader in self._loaders:
                if not self._forks:
                    loader.kill()
                loader.wait()
            self._loaders.clear()

    def _drop_loader(self) -> None:
        """It is gone, or is to go with its workers."""
        if self._control is not None:
            self._control.close()
        self._control = None

    def _hand_over(self, link: socket.socket, number: int) -> int:
        """Give a socket to a process that serves it; returns which one that is."""
        if not self._forks:
            control, pid = self._load(number)
            with control:
                socket.send_fds(control, [SERVE], [link.fileno()])
            return pid
        if self._control is None:
            self._control, _ = self._load(number)
        socket.send_fds(self._control, [FORK], [link.fileno()])
        answer = self._control.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(answer) < NUMBER.size:
            raise EOFError
        return int(NUMBER.unpack(answer)[0])

    def _load(self, number: int) -> tuple[socket.socket, int]:
        """A process that has loaded the model, and its number."""
        mine, theirs = socket.socketpair()
        words = json.dumps({"opening": asdict(self._opening), "number": number})
        path = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
        one = {"OMP_NUM_THREADS": "1"} if self._forks else {}
        with theirs:
            command = [sys.executable, "-m", PROGRAM, words, str(theirs.fileno())]
            loader = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2,
                env={**os.environ, "PYTHONPATH": path, **one},
            )  # fmt: skip
        self._loaders = [each for each in self._loaders if each.poll() is None] + [loader]
        line = b""
        while not line.endswith(b"\n"):
            some = mine.recv(4096)
            if not some:
                mine.close()
                raise EOFError
            line += some
        if fault := json.loads(line):
            mine.close()
            raise UserError(fault)
        return mine, loader.pid


class _Process:
    """A worker, at the other end of a socket."""

    def __init__(self, link: socket.socket, pid: int) -> None:
        self._link, self.pid, self._hangs = link, pid, False

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        line = bytearray()
        try:
            self._link.settimeout(timeout)
            self._link.sendall(json.dumps({"texts": list(texts), "first": first}).encode("ascii") + b"\n")
            while not line.endswith(b"\n"):
                some = self._link.recv(1 << 20)
                if not some:
                    raise WorkerEnded(f"{ENDED}ended")
                line += some
        except TimeoutError:
            self._hangs = True
            raise WorkerEnded(f"{ENDED}had no answer after {timeout:g} s") from None
        except OSError:
            raise WorkerEnded(f"{ENDED}ended") from None
        return [each if isinstance(each, str) else Done(*each) for each in json.loads(line)]

    def close(self) -> None:
        if self._hangs:  # so it is there, and the number is its own
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()
