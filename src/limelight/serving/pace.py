"""The rate at which items leave a queue."""

from collections import deque

RECENT = 64
"""Number of items from which the rate is estimated."""

FEWEST = 16
"""Minimum number of items for an estimate: a batch of several may be taken at the same time."""


class Pace:
    """Estimates the rate at which items are taken from a queue while it is not empty."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=RECENT)

    def taken(self, now: float) -> None:
        """Record that an item was taken at the time `now`, in seconds."""
        self._times.append(now)

    def nothing_waits(self) -> None:
        """Discard the recorded times: the queue is empty."""
        self._times.clear()

    def seconds(self, now: float) -> float:
        """The mean time per item up to `now`, in seconds; 0 if fewer than `FEWEST` items were taken."""
        if len(self._times) < FEWEST:
            return 0.0
        return (now - self._times[0]) / len(self._times)
