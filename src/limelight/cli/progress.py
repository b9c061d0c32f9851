"""Progress of a command that goes through text: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from limelight.screen import FIRST_LINE, LATER_LINES, Screen, clock, live_bar


class TextProgress:
    """Shows how much of the text is done, on standard error."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.screen = Screen(quiet=quiet)
        self._bar = live_bar(self.screen) if sys.stderr.isatty() and not quiet else None
        self._shown, self._patience = time.monotonic(), FIRST_LINE

    def say(self, text: str) -> None:
        """A line for the person in front of it."""
        self.screen.print(text, markup=False)

    def show(self, done: int, total: int, *, tokens: int, seconds: float) -> None:
        """So many of all lines have become so many tokens in so many seconds."""
        speed = f"{tokens / seconds if seconds else 0:,.0f} tokens/s"
        left = f"{clock(seconds * (total - done) / done)} left" if done else ""
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0],
                completed=done / total if total else 1.0,
                description=f"line {done:,} of {total:,}",
                figures=speed,
                left=left,
            )
        elif time.monotonic() - self._shown > self._patience:
            self.say(f"line {done:,} of {total:,}  {speed}  {left}")
            self._shown, self._patience = time.monotonic(), LATER_LINES

    def corpus(self, files: int, total: int, lines: int, speed: float) -> None:
        """So many of all files are finished, and so many lines were done by this start."""
        figures = f"{lines:,} lines  {speed:,.0f} lines/s"
        if self._bar is None:
            return self.say(f"file {files:,} of {total:,}  {figures}")
        done = files / total if total else 1.0
        self._bar.update(
            self._bar.task_ids[0], completed=done, description=f"file {files:,} of {total:,}", figures=figures
        )

    def close(self) -> None:
        """Give the terminal back."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def text_progress(*, quiet: bool = False) -> Iterator[TextProgress]:
    """Within it, progress that ends with the block."""
    progress = TextProgress(quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()
