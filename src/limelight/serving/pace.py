"""How fast a queue is worked off."""

from collections import deque

RECENT = 64
"""Items from which the pace is found."""

FEWEST = 16
"""With fewer, nothing is said: a batch of several may be taken at the same moment."""


class Pace:
    """The pace at which items are taken out of a queue that is never empty meanwhile. An idle queue has none."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=RECENT)

    def taken(self, now: float) -> None:
        """An item has been taken, at this second."""
        self._times.append(now)

    def nothing_waits(self) -> None:
        """The queue is empty."""
        self._times.clear()

    def seconds(self, now: float) -> float:
        """Seconds for each item until now; 0 where too few have been taken to tell."""
        if len(self._times) < FEWEST:
            return 0.0
        return (now - self._times[0]) / len(self._times)
