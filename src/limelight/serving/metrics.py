"""What the service counts, for Prometheus: no text, no key and no address is part of any of it.

`received` is counted when a request comes, the other four when it ends, each where that happens. So at any time
received = accepted + rejected + canceled + failed + in progress.
"""

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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
        """One number, 0 where nothing was counted."""
        return self.registry.get_sample_value(name, labels or {}) or 0.0


def outcome_of(status: int) -> str:
    """The outcome of a request that was answered with this status."""
    if status < 400:
        return "accepted"
    return "rejected" if status < 500 or status == 503 else "failed"
