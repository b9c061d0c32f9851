"""The log (a JSON object a line, on standard error), and what is counted for Prometheus. A user's text, a key or an
address is never part of either."""

import json
import logging
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Log:
    """Writes lines.

    Args:
        stream: where to; standard error by default.
        quiet: leaves out the lines of requests.
    """

    def __init__(self, stream: Any = None, *, quiet: bool = False) -> None:
        self._stream, self._quiet = stream, quiet

    def __call__(self, event: str, **fields: Any) -> None:
        """A line: time, what has happened, and more about it."""
        if self._quiet and event == "request":
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": time, "event": event, **fields}, ensure_ascii=False, default=str)
        with suppress(OSError, ValueError):  # the log cannot be written, and the service goes on
            print(line, file=self._stream or sys.stderr, flush=True)

    def fault(self, error: BaseException, **fields: Any) -> None:
        """What went wrong in our own code: where, but not with what, as a message may quote a text."""
        frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        self("fault", kind=type(error).__name__, where=" > ".join(frames[-6:]), **fields)


class ForeignLog(logging.Handler):
    """Messages of libraries as lines of the log: of an exception only its kind, and of the message nothing, as it may
    quote a text; only of the web server its words without values."""

    def __init__(self, log: Log, event: str = "library") -> None:
        super().__init__(logging.WARNING)
        self._log, self._event = log, event

    def emit(self, record: logging.LogRecord) -> None:
        """One message."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        what = {"message": str(record.msg)} if self._event == "server" else {"name": record.name}
        self._log(self._event, level=record.levelname.lower(), **what, kind=kind)


def log_warnings(log: Log) -> None:
    """Log what libraries log and warn of from now on, without the messages, which may quote a text."""
    logging.getLogger().handlers = [ForeignLog(log)]
    logging.captureWarnings(True)


LEFT = 499
"""The status in log and metrics of a request whose client has disconnected; it is not sent."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counts of one service. A request is in progress until it is counted with its status."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.in_progress = Gauge("limelight_requests_in_progress", "Requests on their way.", registry=registry)
        self._requests = Counter("limelight_requests", "Requests that ended.", ["api", "status"], registry=registry)
        self._seconds = Histogram(
            "limelight_request_seconds", "Time to the end of an answer.", ["api"], buckets=SECONDS, registry=registry
        )
        self.characters = Counter("limelight_characters", "Characters translated.", registry=registry)
        self.waiting = Gauge("limelight_requests_waiting", "Requests in the queue.", ["model"], registry=registry)
        self.ready = Gauge("limelight_model_ready", "1 if all engines are there.", ["model"], registry=registry)

    @property
    def unanswered(self) -> float:
        """The number of requests in progress."""
        return self.registry.get_sample_value("limelight_requests_in_progress") or 0.0

    def end(self, api: str, status: int, seconds: float) -> None:
        """A request has ended with this status."""
        self.in_progress.dec()
        self._requests.labels(api, str(status)).inc()
        self._seconds.labels(api).observe(seconds)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self.registry)
