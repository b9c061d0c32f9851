"""What one request may ask for, and how long it may take: every bound of the service, with safe defaults.

The bounds are declared once, here: `limelight serve` makes its options of them.
"""

from dataclasses import dataclass, field
from typing import Any

MEBIBYTE = 1 << 20


def _bound(default: float, flag: str, help: str, at_least: float = 1) -> Any:
    """A field that an option of `limelight serve` sets, with the arguments of the option: whole numbers where the
    default is one, else decimals."""
    return field(default=default, metadata={"names": flag, "help": help, "min": at_least})


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the service. A refusal names the bound and its value."""

    characters: int = _bound(50_000, "--max-characters", "Maximum characters of a request.")
    texts: int = _bound(128, "--max-texts", "Maximum texts of a request.")
    beam: int = _bound(16, "--max-beam", "Maximum beam size of a request.")
    n_best: int = _bound(16, "--max-n-best", "Maximum number of translations of a sentence.")
    body: int = _bound(MEBIBYTE // 2, "--max-body", "Maximum bytes of a body.", 1024)
    document: int = _bound(4 * MEBIBYTE, "--max-upload", "Maximum bytes of an uploaded document.", 1024)
    documents: int = _bound(8, "--max-documents", "Maximum documents at a time; half of it for one client.", 2)
    """Each is read and written in a process of its own."""
    segments: int = _bound(50_000, "--max-segments", "Maximum segments of an uploaded document.")
    memories: int = _bound(20, "--max-memories", "Maximum translation memories of one client.")
    memory_segments: int = _bound(100_000, "--max-memory-segments", "Maximum segments of one client's memories.")
    queue: int = _bound(2000, "--max-queue", "Maximum number of waiting requests; half of it for one client.", 2)
    connections: int = _bound(500, "--max-connections", "Maximum number of connections.", 8)
    deadline: float = _bound(120.0, "--deadline", "Maximum time of a request in total.", 0.01)
    silence: float = _bound(
        60.0, "--silence-seconds", "Time after which an engine that does not report is replaced.", 1.0
    )
    write_seconds: float = _bound(
        30.0, "--write-seconds", "Maximum time that a client reads nothing of its answer.", 0.01
    )
    body_seconds: float = 20.0
    """How long a body may take to arrive."""
    header_seconds: float = 8.0
    """How long the headers of a request may take to arrive."""
