"""What one request may ask for, and how long it may take: every bound of the service, with safe defaults."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the service. A refusal names the bound and its value."""

    characters: int = 50_000
    """Of all texts of a request."""
    texts: int = 128
    """Of a request."""
    beam: int = 16
    n_best: int = 16
    body: int = MEBIBYTE // 2
    """Bytes of a request's body, after decompression."""
    document: int = 4 * MEBIBYTE
    """Bytes of an uploaded document."""
    queue: int = 4000
    """Sentences of all clients that wait for an engine."""
    client_queue: int = 2000
    """Sentences of one client that wait: the rest of the queue is for others."""
    queue_seconds: float = 30.0
    """How long a request may wait before its first sentence is begun."""
    deadline: float = 120.0
    """Seconds a request may take in all, waiting included."""
    body_seconds: float = 20.0
    """How long a body may take to arrive."""
    header_seconds: float = 8.0
    """How long the headers of a request may take to arrive."""
    connections: int = 2000
    """Connections at a time."""
