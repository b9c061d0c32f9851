"""The connection to an engine in a process of its own, and what is said through it: tasks, and reports of them."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from limelight.child import Channel, ChildEndedError

SILENT = "the engine did not report"
"""Why an engine has ended that was killed by the service."""
PING = "ping"
LONG = 200
"""A task that counts for more characters is long."""
WIDTH = 4
"""With a larger beam the characters of a task count for more."""


class Task(NamedTuple):
    """A task for an engine. `cancel` takes back the task with the same id; a `ping` is answered by a `pong`."""

    id: int
    kind: str
    texts: Sequence[str] = ()
    options: Mapping[str, Any] = {}  # never changed
    stream: bool = False
    """Whether to report the text so far while it grows."""

    @property
    def is_long(self) -> bool:
        """Whether others do not wait for it: an engine works on it in another thread."""
        return cost_of(self.texts, self.options) > LONG


def cost_of(texts: Sequence[str], options: Mapping[str, Any]) -> int:
    """The characters of a task, which count for more in a wide search, and once for each translation asked for: the
    answer of a service that converts megabytes to JSON keeps all its clients waiting."""
    characters = sum(map(len, texts)) + len(options.get("prefix") or "")
    return characters * max(WIDTH, options.get("beam_size") or 1, WIDTH * (options.get("n_best") or 1)) // WIDTH


class Report(NamedTuple):
    """What has become of a task; with `loaded`, `pong` and `closed`, of the engine."""

    id: int
    kind: Literal["loaded", "partial", "sentences", "done", "refused", "failed", "pong", "closed"]
    value: Any = None
    """The result; of `partial` the number of the text and its beginning; of `sentences` the number of the text and its
    next sentences or units, which come before those of the result; a message for the others."""


ReportCallback = Callable[[Report], None]
"""Called with each report, from any thread; the last one is `closed`."""


@dataclass(frozen=True, slots=True)
class Loading:
    """Which model, and what it is computed with. What is None is chosen as everywhere else in Limelight."""

    folder: str
    device: str | None = None
    precision: str | None = None
    threads: int = 1
    """CPU threads of one engine."""
    shortlist: bool = False
    pivot: bool = True
    """Whether it translates through another language what it has no direction for."""
    memory: str = ""
    """A file of segments that were translated before."""
    name: str = ""
    """The name in answers, which never show a path."""


class Link:
    """An engine. It begins to load when the link is made, and reports `loaded`."""

    def __init__(self, loading: Loading, heard: ReportCallback) -> None:
        self._channel = Channel(f"{__package__}.worker:work", loading)
        self.pid = self._channel.process.pid
        self._heard, self._reason = heard, ""
        self._sending = ThreadPoolExecutor(1, "tasks")  # the pipe may be full
        threading.Thread(target=self._read, daemon=True, name="reports").start()

    def send(self, task: Task | None) -> None:
        """Give it a task; None lets it end, and what it is doing is left. Nothing happens if it has ended."""
        with suppress(RuntimeError):  # it has ended
            self._sending.submit(self._send, task)

    def _send(self, task: Task | None) -> None:
        try:
            self._channel.send({"task": task})
        except OSError:
            pass  # it has ended, and will be replaced
        except ValueError:  # half of a surrogate pair, maybe in the name of a folder
            self._heard(Report(task.id if task else 0, "failed", "this cannot be sent to the model"))

    def kill(self) -> None:
        """End it by force; it reports `closed`."""
        self._reason = SILENT
        self._channel.process.kill()

    def join(self, seconds: float) -> None:
        """Wait until it has ended, and end it by force if it has not after `seconds`."""
        self._channel.close(seconds)

    def _read(self) -> None:
        try:
            while True:
                report = Report(*self._channel.receive()[0]["report"])
                if report.kind == "closed":
                    self._reason = str(report.value)
                else:
                    self._heard(report)
        except ChildEndedError as error:
            ending = "" if str(error) == "exit code 0" else str(error)
            self._sending.shutdown(wait=False)
            self._heard(Report(0, "closed", self._reason or ending))
