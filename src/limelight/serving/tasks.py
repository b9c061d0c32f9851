"""What the service and its engines tell each other. All of it is JSON, so an engine can be a process of its own."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Task:
    """Something an engine is asked to do, or with `cancel` to leave undone; with `ping` it is asked for a report."""

    id: int
    kind: str
    text: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    stream: bool = False
    """Whether the text so far is wanted after every step."""
    long: bool = False
    """Whether it is part of a long request, which lets short ones go first."""
    request: int = 0
    """The same for all tasks of a request; 0 for none."""
    seconds: float = math.inf
    """CPU time of an engine that the request may take in all."""


@dataclass(frozen=True, slots=True)
class Report:
    """What has become of a task, or with `loaded`, `pong` and `closed`, of the engine."""

    id: int
    kind: Literal["loaded", "partial", "done", "refused", "expensive", "failed", "pong", "closed"]
    value: Any = None
    """The result; for `refused` and `failed` a message; for `expensive` the CPU time of `Task.seconds`."""


def encode(message: Task | Report) -> bytes:
    """One line."""
    named = {name: getattr(message, name) for name in message.__slots__}  # `asdict` would copy every token of a value
    return json.dumps(named).encode("ascii") + b"\n"


def decode_task(line: bytes) -> Task:
    """What `encode` made of a task."""
    return Task(**json.loads(line))


def decode_report(line: bytes) -> Report:
    """What `encode` made of a report."""
    return Report(**json.loads(line))
