"""What one request may ask for, and how long it may take: every bound of the service, with safe defaults."""

from dataclasses import dataclass

from limelight.serving.refusal import Refusal, beyond

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
    documents: int = 8
    """That are read or translated at a time, each in a process of its own; of one client at most half of them."""
    segments: int = 50_000
    """Of a document: what is translated one by one."""
    bodies: int = 128 * MEBIBYTE
    """Bytes of all bodies that arrive at the same time, beyond the first 64 KiB of each; a quarter of it for those
    whose key is not known yet."""
    queue: int = 4000
    """Sentences of all clients that wait for an engine."""
    client_queue: int = 2000
    """Sentences of one client that wait: the rest of the queue is for others."""
    queue_seconds: float = 30.0
    """How long a request may wait before its first sentence is begun."""
    deadline: float = 120.0
    """Seconds a request may take in all, waiting included."""
    seconds: float = 15.0
    """CPU time that an engine gives to a request."""
    silence: float = 60.0
    """Seconds for which an engine may not report before it is ended by force and replaced."""
    body_seconds: float = 20.0
    """How long a body may take to arrive."""
    header_seconds: float = 8.0
    """How long the headers of a request may take to arrive."""
    write_seconds: float = 30.0
    """How long a client may take to read before its connection is closed."""
    connections: int = 2000
    """Connections at a time."""


class Room:
    """The memory for bodies that are being read, of all connections together."""

    def __init__(self, most: int) -> None:
        self._most, self.held = most, 0

    def take(self, size: int) -> None:
        """Reserve so many bytes. Raises `Refusal`, 503, where there are not so many left."""
        if self.held + size > self._most:
            what = "the bodies that arrive at this moment are too many"
            message = beyond(f"{what} bytes together", self._most, "--max-body-memory", "try again later")
            raise Refusal(503, "overloaded", message, retry_after=5)
        self.held += size

    def give(self, size: int) -> None:
        """Release them."""
        self.held -= size
