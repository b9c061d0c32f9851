"""A child process of this package that answers calls: `python -m limelight.child MODULE:FACTORY`.

Both directions carry frames: the lengths of a header and a payload, the header as JSON, the payload as bytes. The child
calls `FACTORY()` once, then calls the function that it returned for each frame and sends back the result. An exception
becomes the `error` of the answer.

A child runs in its own session, so Ctrl-C reaches only its parent. It ends with its parent, even in the middle of a
call: a thread reads its standard input, which closes when the parent ends. Output of the function goes to standard
error. A child that does not answer in time is killed.
"""

import json
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import BufferedRWPair
from pathlib import Path
from typing import IO, Any

from limelight.errors import RunError, UserError

LENGTHS = struct.Struct(">IQ")
ENDING_SECONDS = 5.0
"""Seconds that a process may take to end after its last output."""
KILLED = "ended from outside by SIGKILL, usually because memory ran out"
MAX_HEADER = 1 << 24
MAX_PAYLOAD = 1 << 32
"""Maximum bytes of a header and of a payload; larger lengths are not a frame of this module."""

Header = dict[str, Any]
Frame = tuple[Header, bytes]
Handler = Callable[[Header, bytes], Frame]


def environment() -> dict[str, str]:
    """The environment of a child process, in which this package is importable."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def write_frame(sink: IO[bytes] | BufferedRWPair, header: Header, payload: bytes = b"") -> None:
    """Write a frame and flush."""
    content = json.dumps(header).encode("ascii")
    sink.write(LENGTHS.pack(len(content), len(payload)) + content)
    sink.write(payload)
    sink.flush()


def read_frame(source: IO[bytes] | BufferedRWPair) -> Frame | None:
    """Read a frame; None at the end of the input, also in the middle of a frame. Raises `ValueError` for invalid
    data."""
    lengths = source.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header, payload = LENGTHS.unpack(lengths)
    if header > MAX_HEADER or payload > MAX_PAYLOAD:
        raise ValueError(f"not a frame: {header} and {payload} bytes")
    content, data = source.read(header), source.read(payload)
    return (json.loads(content), data) if len(content) == header and len(data) == payload else None


class ChildEndedError(RunError):
    """The child ended, or was killed because it did not answer; the message says which."""


class ChildKilledError(ChildEndedError):
    """The child was ended from outside, as a system does that runs out of memory."""


class ChildFaultError(RunError):
    """The function failed with an error that is not the user's; its message may have names of modules."""


def how_it_ended(code: int) -> str:
    """How a process ended that this one has not killed, from its exit code."""
    if code >= 0:
        return f"exit code {code}"
    name = next((each.name for each in signal.Signals if each == -code), f"signal {-code}")
    return KILLED if name == "SIGKILL" else f"ended by {name}"


def await_end(process: "subprocess.Popen[bytes]") -> str:
    """How a process ended that answers no longer. One that does not end is killed: it has sent something invalid."""
    try:
        return how_it_ended(process.wait(ENDING_SECONDS))
    except subprocess.TimeoutExpired:
        process.kill()
        return "its answer is damaged"


class Child:
    """A child process that answers one call at a time.

    Args:
        factory: `module:name` of the function that creates the handler in the child.
        silence: seconds without an answer after which the child is killed.
    """

    def __init__(self, factory: str, *, silence: float) -> None:
        self.silence = silence
        self._is_silent = False
        self.process = subprocess.Popen(
            [sys.executable, "-m", "limelight.child", factory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=environment(),
        )

    def call(self, header: Header, payload: bytes = b"") -> Frame:
        """Send a frame and wait for its answer.

        Raises `RunError` with the error of the function, `ChildFaultError` if that is no `UserError`, and
        `ChildEndedError` if the child ended: `ChildKilledError` if it was killed, and not by this process.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timer = threading.Timer(self.silence, self._kill_silent)
        timer.daemon = True
        timer.start()
        try:
            write_frame(self.process.stdin, header, payload)
            answer = read_frame(self.process.stdout)
        except (OSError, ValueError):  # a closed pipe, or an invalid frame
            answer = None
        finally:
            timer.cancel()
        if answer is None:
            raise self._ended()
        if "error" in answer[0]:
            raise (ChildFaultError if answer[0].get("fault") else RunError)(answer[0]["error"])
        return answer

    def close(self) -> None:
        """Kill the child and wait for it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _kill_silent(self) -> None:
        self._is_silent = True
        self.process.kill()

    def _ended(self) -> ChildEndedError:
        if self._is_silent:
            return ChildEndedError(f"no answer after {self.silence:g} s")
        ending = await_end(self.process)
        return (ChildKilledError if ending == KILLED else ChildEndedError)(ending)


# --- in the child ---


def main(factory: str) -> None:
    """Answer calls until the parent ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    calls: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, calls), daemon=True).start()
    handler: Handler | None = None
    while True:
        header, payload = calls.get()
        try:
            if handler is None:
                module, _, name = factory.partition(":")
                handler = getattr(import_module(module), name)()
            answer = handler(header, payload)
        except UserError as error:
            answer = {"error": str(error)}, b""
        except Exception as error:
            answer = {"error": "".join(traceback.format_exception_only(error)).strip(), "fault": True}, b""
        with suppress(OSError):  # the parent has ended; the reading thread exits
            write_frame(answers, *answer)


def _read(source: IO[bytes], calls: "queue.SimpleQueue[Frame]") -> None:
    """Queue the calls; exit this process at the end of the input."""
    while (frame := read_frame(source)) is not None:
        calls.put(frame)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
