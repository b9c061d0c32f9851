"""Child processes of this package and the channel to them: engines of a service, readers of documents, workers of a
corpus, compilation.

A message is a header, sent as JSON (a number that JSON does not have is null), and a payload of bytes, through a pipe
of `multiprocessing`; nothing that a child sends is unpickled. The child runs `work(inbox, send, *arguments)`, given as
`module:name`; most are a `handler` that answers one call after the other.

A child runs in its own session, so Ctrl-C reaches only its parent. It ends with its parent, even in the middle of a
call: a thread reads the pipe, which closes when the parent ends. Output goes to standard error.
"""

import multiprocessing
import os
import signal
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from pydantic_core import from_json, to_json

from limelight.errors import RunError, UserError, fault_of
from limelight.registry import resolve

KILLED = "ended from outside by SIGKILL, usually because memory ran out"
MAX_MESSAGE = 1 << 32
"""Maximum bytes of a header and of a payload."""
ENDING_SECONDS = 5.0
"""Seconds that a process may take to end after its last message."""
PROCESSES = multiprocessing.get_context("spawn")

Header = dict[str, Any]
Frame = tuple[Header, bytes]
Handler = Callable[[Header, bytes], Frame]
Inbox = SimpleQueue[Frame]
Send = Callable[..., None]


class ChildEndedError(RunError):
    """The child ended, or was killed because it did not answer; the message says which."""


def how_it_ended(code: int) -> str:
    """How a process ended that this one has not killed, from its exit code."""
    if code >= 0:
        return f"exit code {code}"
    name = next((member.name for member in signal.Signals if member == -code), f"signal {-code}")
    return KILLED if name == "SIGKILL" else f"ended by {name}"


class Channel:
    """The parent's end. `send` and `receive` may be called in different threads.

    Args:
        work: `module:name` of the function that the child runs.
        arguments: of the function, after its inbox and its `send`.
        context: of `multiprocessing`, which starts the process; `PROCESSES` by default.
    """

    def __init__(self, work: str, *arguments: Any, context: Any = None) -> None:
        context = context or PROCESSES
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_run, args=(theirs, work, arguments), name=work)
        self.process.start()
        theirs.close()
        # At the end of this process, too, which waits for its children.
        self._finalizer = weakref.finalize(self, self.process.kill)

    @property
    def abandoned(self) -> bool:
        """Whether it was killed because this process ends."""
        return not self._finalizer.alive

    def send(self, header: Header, payload: bytes = b"") -> None:
        """Send a message. Raises `OSError` if the child has ended."""
        _send(self._pipe, header, payload)

    def receive(self) -> Frame:
        """The next message. Raises `ChildEndedError`."""
        try:
            return _receive(self._pipe)
        except (OSError, EOFError, ValueError):  # it has ended, maybe in the middle of a message
            raise ChildEndedError(self._ending()) from None

    def _ending(self) -> str:
        """How the process ended. One that still runs is killed: it has sent something invalid."""
        self.process.join(ENDING_SECONDS)
        if self.process.exitcode is not None:
            return how_it_ended(self.process.exitcode)
        self.close()
        return "its answer is damaged"

    def close(self, seconds: float = 0.0) -> None:
        """End the process, by force after so many seconds."""
        if seconds:
            self.process.join(seconds)
        self.process.kill()
        self.process.join(ENDING_SECONDS)


class Child(Channel):
    """A child that answers one call at a time.

    Args:
        factory: `module:name` of the function that creates the handler in the child, from `arguments`.
        silence: seconds without an answer after which the child is killed.
    """

    def __init__(self, factory: str, *arguments: Any, silence: float, context: Any = None) -> None:
        super().__init__(f"{__name__}:answer_calls", factory, *arguments, context=context)
        self.silence = silence

    def call(self, header: Header, payload: bytes = b"") -> Frame:
        """Send a message and wait for its answer.

        Raises the `UserError` of the function, `RunError` for its other errors, and `ChildEndedError` if the child
        ended.
        """
        with suppress(OSError):  # `receive` says how it ended
            self.send(header, payload)
        if not self._pipe.poll(self.silence):
            self.close()
            raise ChildEndedError(f"no answer after {self.silence:g} s")
        answer = self.receive()
        if "error" in answer[0]:
            raise (RunError if answer[0]["fault"] else UserError)(answer[0]["error"])
        return answer


def _send(pipe: Connection, header: Header, payload: bytes) -> None:
    pipe.send_bytes(to_json(header, inf_nan_mode="null"))
    pipe.send_bytes(payload)


def _receive(pipe: Connection) -> Frame:
    header = from_json(pipe.recv_bytes(MAX_MESSAGE))
    return header, pipe.recv_bytes(MAX_MESSAGE)


# --- in the child ---


def end_with_parent() -> None:
    """In a process of a standard executor: end with the parent, which alone is stopped by signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def _run(pipe: Connection, work: str, arguments: tuple[Any, ...]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent ends this process
    if hasattr(os, "setsid"):  # Windows has no sessions
        with suppress(OSError):
            os.setsid()
    os.dup2(2, 1)
    inbox, sending = Inbox(), threading.Lock()

    def read() -> None:
        with suppress(OSError, EOFError):
            while True:
                inbox.put(_receive(pipe))
        os._exit(0)

    def send(header: Header, payload: bytes = b"") -> None:
        with sending, suppress(OSError):  # the parent has ended; the reading thread exits
            _send(pipe, header, payload)

    threading.Thread(target=read, daemon=True).start()
    resolve(work)(inbox, send, *arguments)
    os._exit(0)  # nothing is to be saved, and no thread of a library is waited for


def answer_calls(inbox: Inbox, send: Send, factory: str, *arguments: Any) -> None:
    """Answer calls with the handler that the factory makes."""
    handler: Handler | None = None
    while True:
        header, payload = inbox.get()
        try:
            handler = handler or resolve(factory)(*arguments)
            send(*handler(header, payload))
        except Exception as error:
            reason = fault_of(error).encode(errors="replace").decode()  # the names of files are any bytes
            send({"error": reason, "fault": not isinstance(error, UserError)})
