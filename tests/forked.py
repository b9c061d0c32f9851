"""Processes of Python whose start takes milliseconds: they are forked from a server that has imported what most of them
need, and has done nothing else.

They have signals, streams, an environment and a working folder of their own, as a new interpreter has. What an
interpreter reads at its own start or while it imports, such as `PYTHONHASHSEED` and `NUMBA_CACHE_DIR`, is that of the
server: tests of imports, and of such variables, start a process with `subprocess`.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import connection
from pathlib import Path
from typing import IO, Any

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["limelight.cli.app", "limelight.training.run", "limelight.evaluation.evaluate", "limelight.serving.worker",
     "limelight.serving.server", "limelight.inference.prepare", "torch._dynamo", "pytest"]
)  # fmt: skip

Stream = IO[Any] | int | None


class Forked:
    """What `subprocess.Popen` starts from a command of this interpreter: `-m MODULE`, `-c CODE`, or a file."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        text: bool = False,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        interpreter, *words = map(str, command)
        assert interpreter == sys.executable
        self.stdin, its_input = _ends(stdin, "w", text)
        self.stdout, its_output = _ends(stdout, "r", text)
        self.stderr, its_errors = _ends(stderr, "r", text)
        theirs = (its_input, its_output, its_errors)
        where = (str(cwd or os.getcwd()), dict(os.environ if env is None else env))
        self._process = PROCESSES.Process(target=_begin, args=(words, theirs, *where), daemon=True)
        self._process.start()
        self._lock = threading.Lock()
        assert self._process.pid is not None
        self.pid = self._process.pid
        for each in theirs:
            if each is not None:
                each.close()

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; negative: the signal that ended it."""
        if self.poll() is None and not connection.wait([self._process.sentinel], timeout):
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def poll(self) -> int | None:
        """The same; None while it runs."""
        with self._lock:  # the code is read once, from a pipe
            return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.stdin, self.stdout, self.stderr):
            if each is not None:
                each.close()
        self.wait()


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` of a command of this interpreter, whose output is captured as text."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        code = Forked(command, stdout=out, stderr=errors, **options).wait()
        said = []
        for each in (out, errors):
            each.seek(0)
            said.append(each.read().decode())
    return subprocess.CompletedProcess(list(command), code, *said)


def _ends(stream: Stream, ours: str, text: bool) -> tuple[IO[Any] | None, connection.Connection | None]:
    """Our end of a pipe, which we read (`r`) or write (`w`), and the descriptor that the process gets."""
    if stream is None:
        return None, None
    if stream == subprocess.DEVNULL:
        return None, connection.Connection(os.open(os.devnull, os.O_RDWR))
    if stream != subprocess.PIPE:
        return None, connection.Connection(os.dup(stream if isinstance(stream, int) else stream.fileno()))
    read, write = os.pipe()
    mine, its = (read, write) if ours == "r" else (write, read)
    opened = os.fdopen(mine, ours, encoding="utf-8") if text else os.fdopen(mine, f"{ours}b")
    return opened, connection.Connection(its)


def _begin(
    words: list[str],
    streams: Sequence[connection.Connection | None],
    folder: str,
    environment: dict[str, str],
) -> None:
    """In the process. It may have children, which `multiprocessing` forbids to a daemon."""
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    for number, stream in enumerate(streams):
        if stream is not None:
            os.dup2(stream.fileno(), number)
            stream.close()
    # those of the server know what its own streams were: whether they can be sought, for one
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    warnings.filterwarnings("ignore", ".* found in sys.modules after import of package", RuntimeWarning)
    is_file = not words[0].startswith("-")
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])) if is_file else folder)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
