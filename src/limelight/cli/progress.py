"""Progress of a command that processes text: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from limelight.screen import FIRST_LINE, LATER_LINES, Screen, clock, live_bar


class TextProgress:
    """Shows the processed share of the text, on standard error."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.screen = Screen(quiet=quiet)
        self._bar = live_bar(self.screen) if sys.stderr.isatty() and not quiet else None
        self._shown, self._patience = time.monotonic(), FIRST_LINE

    def say(self, text: str) -> None:
        """Print a message."""
        self.screen.print(text, markup=False)

    def show(self, done: int, total: int, *, tokens: int, seconds: float) -> None:
        """Show that `done` of `total` lines are processed, with `tokens` in `seconds`."""
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
        """Show that `files` of `total` files are finished, and `lines` were processed since the start."""
        figures = f"{lines:,} lines  {speed:,.0f} lines/s"
        if self._bar is None:
            return self.say(f"file {files:,} of {total:,}  {figures}")
        done = files / total if total else 1.0
        self._bar.update(
            self._bar.task_ids[0], completed=done, description=f"file {files:,} of {total:,}", figures=figures
        )

    def steps(self, done: int, total: int, *, fresh: int, seconds: float) -> None:
        """Show that `done` of `total` steps are finished, `fresh` of them in the last `seconds`."""
        left = f"{clock(seconds * (total - done) / fresh)} left" if fresh else ""
        if self._bar is not None:
            named = f"step {done:,} of {total:,}"
            self._bar.update(self._bar.task_ids[0], completed=done / total, description=named, figures="", left=left)
        elif time.monotonic() - self._shown > self._patience:
            self.say(f"step {done:,} of {total:,}  {left}")
            self._shown, self._patience = time.monotonic(), LATER_LINES

    def close(self) -> None:
        """Restore the terminal."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def text_progress(*, quiet: bool = False) -> Iterator[TextProgress]:
    """A context that yields the progress display and closes it."""
    progress = TextProgress(quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()
