"""Connections to engines, which take tasks and call back with reports: a thread of this process, or another process.

A process can be killed without harm to anything else, and computes while this one answers; a thread starts faster and
shares what is loaded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import BinaryIO

from limelight.child import ENDING_SECONDS, how_it_ended
from limelight.decoding.ahead import compile_aside
from limelight.errors import RunError, UserError
from limelight.memory import hold_memory_for_work, rare_collections
from limelight.serving.load import Loading, load_worker
from limelight.serving.logs import Log, log_warnings
from limelight.serving.tasks import Report, Task, decode_report, decode_task, encode
from limelight.serving.text_worker import TextWorker
from limelight.serving.worker import Worker
from limelight.serving.workers import Workers

SILENT = "the engine did not report"
"""Why one has ended that was killed by the service."""
ENGINE = "engine"
"""The name of threads that are engines."""
SWITCH = 1e-5
"""Python's switch interval in seconds, in processes whose engine shares the interpreter lock with a thread that reads
tasks or answers clients."""
ReportCallback = Callable[[Report], None]
"""Called with each report, from any thread; the last one is `closed`."""


class Link(ABC):
    """An engine, somewhere. It begins to load when it is made, and reports `loaded`."""

    pid: int | None = None
    """The process it has to itself, if any."""

    @abstractmethod
    def send(self, task: Task) -> None:
        """Give it a task; one that has ended takes it and does nothing."""

    @abstractmethod
    def close(self) -> None:
        """Let it end. What it is doing is left."""

    @abstractmethod
    def kill(self) -> None:
        """End it by force, and report `closed`."""

    @abstractmethod
    def join(self, seconds: float) -> None:
        """Wait until it has ended, and end it by force where it has not after so many seconds."""


class ThreadLink(Link):
    """An engine in a thread of this process.

    Args:
        make: makes the worker, in the thread.
    """

    def __init__(self, make: Callable[[ReportCallback], Worker | Workers | TextWorker], heard: ReportCallback) -> None:
        self._inbox: SimpleQueue[Task | None] = SimpleQueue()
        self._heard, self._left = heard, False
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True, name=ENGINE)
        self._thread.start()

    def send(self, task: Task) -> None:
        self._inbox.put(task)

    def close(self) -> None:
        self._inbox.put(None)

    def kill(self) -> None:
        """Report `closed` and abandon the thread, which cannot be ended by force."""
        self._report(Report(0, "closed", SILENT))
        self._left = True
        self._inbox.put(None)

    def join(self, seconds: float) -> None:
        """Wait; a thread cannot be ended by force."""
        self._thread.join(seconds)

    def _report(self, report: Report) -> None:
        if not self._left:
            self._heard(report)

    def _run(self, make: Callable[[ReportCallback], Worker | Workers | TextWorker]) -> None:
        reason = ""
        try:
            make(self._report).run(self._inbox)
        except (UserError, RunError) as error:
            reason = str(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        self._report(Report(0, "closed", reason))


class ProcessLink(Link):
    """An engine in a process of its own: tasks go to its standard input, reports come from its standard output.

    It ends when its input does, so none is left when this process is gone, however it ended.
    """

    def __init__(self, loading: Loading, heard: ReportCallback) -> None:
        command = [sys.executable, "-m", "limelight.serving.links", json.dumps(loading.to_dict())]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid, self._reason = self._process.pid, ""
        self._outbox: SimpleQueue[Task | None] = SimpleQueue()
        threading.Thread(target=self._write, daemon=True, name="tasks").start()
        threading.Thread(target=self._read, args=(heard,), daemon=True, name="reports").start()

    def send(self, task: Task) -> None:
        self._outbox.put(task)

    def close(self) -> None:
        self._outbox.put(None)

    def kill(self) -> None:
        """End the process; the thread that reads from it reports `closed`."""
        self._reason = SILENT
        self._process.kill()

    def join(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()

    def _write(self) -> None:
        """Off the event loop: an engine in the middle of a long step leaves its pipe full."""
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError):  # the process has ended, and the thread that reads from it tells
            while (task := self._outbox.get()) is not None:
                stdin.write(encode(task))
                if self._outbox.empty():
                    stdin.flush()
        with suppress(OSError):
            stdin.close()

    def _read(self, heard: ReportCallback) -> None:
        """Until the process has ended, or has written an invalid report: it died in the middle of one."""
        stdout = self._process.stdout
        assert stdout is not None
        try:
            with stdout:
                for line in stdout:
                    report = decode_report(line)
                    if report.kind == "closed":
                        self._reason = str(report.value)
                    else:
                        heard(report)
        except (ValueError, TypeError):
            self.join(ENDING_SECONDS)
        finally:
            code = self._process.wait()
            self._outbox.put(None)
            heard(Report(0, "closed", self._reason or (how_it_ended(code) if code else "")))


def thread_link(loading: Loading, heard: ReportCallback) -> Link:
    """The model of a folder in a thread."""
    return ThreadLink(lambda send: load_worker(loading, send), heard)


# --- in the process of an engine ---


def main() -> None:
    """Serve one model until standard input ends. Signals that a terminal or a service manager sends to all processes
    are for the service, which drains first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What libraries print must not come between the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()
    hold_memory_for_work()
    sys.setswitchinterval(SWITCH)
    log, loading = Log(), Loading(**json.loads(sys.argv[1]))
    log_warnings(log)
    if loading.device in (None, "auto", "cpu"):
        compile_aside(lambda message: log("compiling", message=message))
    reason = _work(loading, inbox, out)
    _write(out, Report(0, "closed", reason))
    os._exit(0)  # nothing is to be saved, and no thread of a library is waited for


def _work(loading: Loading, inbox: SimpleQueue[Task | None], out: BinaryIO) -> str:
    """Returns why it ended early, if it did."""
    try:
        worker = load_worker(loading, lambda report: _write(out, report))
        with rare_collections():
            worker.run(inbox)
    except (UserError, RunError) as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _read(lines: BinaryIO, inbox: SimpleQueue[Task | None]) -> None:
    for line in lines:
        inbox.put(decode_task(line))
    inbox.put(None)


def _write(out: BinaryIO, report: Report) -> None:
    """Called by two threads: each `write` of a buffered file is whole, and the line is made outside of its lock."""
    try:
        out.write(encode(report))
        out.flush()
    except OSError:  # the service is gone
        os._exit(1)


if __name__ == "__main__":
    main()
