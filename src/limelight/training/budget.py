"""What a run may spend: its time, and what of it is used."""

import time


class Clock:
    """Training time in seconds: what was spent before this process, and what passes in it."""

    def __init__(self, before: float) -> None:
        self._began = time.monotonic() - before

    def seconds(self) -> float:
        """Training time so far, interruptions not counted."""
        return time.monotonic() - self._began
