"""The log (a JSON object a line, on standard error), and what is counted for Prometheus. A user's text, a key or an
address is never part of either.

`received` is counted when a request comes, the other four when it ends, each where that happens. So at any time
received = accepted + rejected + canceled + failed + in progress.
"""

import json
import logging
import select
import sys
import traceback
import warnings
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MAX_LINES = 10_000
"""Lines that wait while nobody reads the log; what comes then is counted."""


class Log:
    """Writes lines.

    Args:
        stream: where to; standard error by default.
        quiet: leaves out the lines of requests that ended well.
    """

    def __init__(self, stream: Any = None, *, quiet: bool = False) -> None:
        self._stream, self.quiet = stream, quiet
        self._waiting: deque[str] = deque()
        self._lost = 0

    def __call__(self, event: str, **fields: Any) -> None:
        """A line: time, what has happened, and more about it."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": time, "event": event, **fields}, ensure_ascii=False, default=str)
        if len(self._waiting) >= MAX_LINES:
            self._lost += 1
        else:
            self._waiting.append(line)
        self._write(self._stream or sys.stderr)

    def _write(self, stream: Any) -> None:
        """Write what waits, as far as the reader of the log takes it: the service does not wait for that."""
        try:
            while self._waiting and takes_more(stream):
                stream.write(self._waiting.popleft() + "\n")
                stream.flush()
            if self._lost and not self._waiting:
                lost, self._lost = self._lost, 0
                self("lines_lost", count=lost)
        except (OSError, ValueError):  # the log cannot be written, and the service goes on
            return

    def fault(self, error: BaseException, **fields: Any) -> None:
        """What went wrong in our own code: where, but not with what, as a message may quote a text."""
        frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        self("fault", kind=type(error).__name__, where=" > ".join(frames[-6:]), **fields)


def takes_more(stream: Any) -> bool:
    """Whether a line can be written at once: a pipe that is full takes none. Unknown on Windows."""
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except (OSError, ValueError, TypeError):  # no pipe
        return True


class ForeignLog(logging.Handler):
    """Messages of libraries as lines of the log: of an exception only its kind, and of the message nothing, as it may
    quote a text; only of the web server its words without values."""

    def __init__(self, log: Log, event: str = "library") -> None:
        super().__init__(logging.WARNING)
        self._log, self._event = log, event

    def emit(self, record: logging.LogRecord) -> None:
        """One message."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        words = record.msg if isinstance(record.msg, str) else ""
        what = {"message": words} if self._event == "server" else {"name": record.name}
        self._log(self._event, level=record.levelname.lower(), **what, kind=kind)


def log_warnings(log: Log) -> None:
    """Log the warnings of this process from now on, and what libraries log: their kind and place, as a message may
    quote a text."""
    logging.getLogger().handlers = [ForeignLog(log)]
    logging.getLogger("uvicorn.error").propagate = False

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any) -> None:
        log("warning", kind=category.__name__, where=f"{Path(filename).name}:{lineno}")

    warnings.showwarning = show


OUTCOMES = ("accepted", "rejected", "canceled", "failed")
"""What becomes of a request: answered; refused (4xx, or 503 for want of room); left by its client; failed (5xx)."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counts of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._received = Counter("limelight_requests_received", "Requests that came.", registry=self.registry)
        self._outcomes = Counter(
            "limelight_requests", "Requests that ended, by what became of them.", ["outcome"], registry=self.registry
        )
        self._in_progress = Gauge("limelight_requests_in_progress", "Requests on their way.", registry=self.registry)
        self._answers = Counter(
            "limelight_answers", "Answers by API and status.", ["api", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "limelight_request_seconds", "From the request to the end of its answer.", ["api"], buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self.characters = Counter("limelight_characters", "Characters translated.", registry=self.registry)
        self.sentences = Counter("limelight_sentences", "Sentences translated.", registry=self.registry)
        self.waiting = Gauge(
            "limelight_sentences_waiting", "Sentences in the queue.", ["model"], registry=self.registry
        )
        self.decoding = Gauge(
            "limelight_sentences_decoding", "Sentences that engines have.", ["model"], registry=self.registry
        )
        self.ready = Gauge("limelight_model_ready", "1 if all engines are there.", ["model"], registry=self.registry)
        for outcome in OUTCOMES:
            self._outcomes.labels(outcome)

    def begin(self) -> None:
        """A request has come."""
        self._received.inc()
        self._in_progress.inc()

    def end(self, outcome: str, *, api: str, status: int, seconds: float) -> None:
        """It has ended, as one of `OUTCOMES`."""
        self._in_progress.dec()
        self._outcomes.labels(outcome).inc()
        self._answers.labels(api, str(status)).inc()
        self._seconds.labels(api).observe(seconds)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self.registry)

    def value(self, name: str, labels: dict[str, str] | None = None) -> float:
        """One number, 0 if nothing was counted."""
        return self.registry.get_sample_value(name, labels or {}) or 0.0


def outcome_of(status: int) -> str:
    """The outcome of a request that was answered with this status."""
    if status < 400:
        return "accepted"
    return "rejected" if status < 500 or status == 503 else "failed"
