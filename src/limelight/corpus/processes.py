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
from typing import Protocol, runtime_checkable

from limelight.child import environment, read_frame, write_frame
from limelight.corpus.worker import FORK, NUMBER, SERVE, Done, Outcome, WorkerSettings
from limelight.errors import RunError, UserError

PROGRAM = "limelight.corpus.worker"
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

    def __init__(self, settings: WorkerSettings, *, forks: bool) -> None:
        if not hasattr(socket, "send_fds"):
            raise UserError("processes that translate need Linux or macOS; give --workers 1")
        self._settings, self._forks = settings, forks
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
        words = json.dumps({"settings": asdict(self._settings), "number": number})
        one = {"OMP_NUM_THREADS": "1"} if self._forks else {}
        with theirs:
            command = [sys.executable, "-m", PROGRAM, words, str(theirs.fileno())]
            loader = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2,
                env=environment() | one,
            )  # fmt: skip
        self._loaders = [each for each in self._loaders if each.poll() is None] + [loader]
        with mine.makefile("rb") as told:
            frame = read_frame(told)
        if frame is None or "error" in frame[0]:
            mine.close()
            raise EOFError if frame is None else UserError(frame[0]["error"])
        return mine, loader.pid


class _Process:
    """A worker, at the other end of a socket."""

    def __init__(self, link: socket.socket, pid: int) -> None:
        self._link, self.pid, self._hangs = link, pid, False
        self._frames = link.makefile("rwb")

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        try:
            self._link.settimeout(timeout)
            write_frame(self._frames, {"first": first}, json.dumps(list(texts)).encode("ascii"))
            frame = read_frame(self._frames)
        except TimeoutError:
            self._hangs = True
            raise WorkerEnded(f"{ENDED}had no answer after {timeout:g} s") from None
        except OSError:
            frame = None
        if frame is None:
            raise WorkerEnded(f"{ENDED}ended")
        return [each if isinstance(each, str) else Done(*each) for each in json.loads(frame[1])]

    def close(self) -> None:
        if self._hangs:  # so it is there, and the number is its own
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        for each in (self._frames, self._link):
            with suppress(OSError):
                each.close()
