"""Progress of long work on standard error: a live bar on a terminal, otherwise a line now and then."""

import os
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress

FIRST_LINE, LATER_LINES, LIVE = 30.0, 300.0, 1.0
"""Seconds between displays of progress: before the first line, between later lines, and on a terminal."""


class Screen(Console):
    """A console on standard error. If the reader closes the pipe (`2>&1 | head`), output stops and the work
    continues."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # discards buffered output


class Display:
    """A context that shows messages and progress."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.screen = Screen(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        columns = "{task.description}", BarColumn(bar_width=24), "{task.fields[figures]}", "{task.fields[left]}"
        self._bar = Progress(*columns, console=self.screen)
        self._is_live = self.screen.is_terminal and not quiet
        self._due = time.monotonic() + (LIVE if self._is_live else FIRST_LINE)
        self._first = dict[str, tuple[float, int]]()
        if self._is_live:
            self._bar.add_task("starting", total=1.0, figures="", left="")
            self._bar.start()

    def say(self, text: str) -> None:
        """Print a message."""
        self.screen.print(text, markup=False)

    def is_due(self) -> bool:
        """Whether it is time to show progress again."""
        return time.monotonic() > self._due

    def show(self, name: str, share: float, figures: str = "", left: str = "") -> None:
        """Show how far the work is, from 0 to 1."""
        if self._is_live:
            self._bar.update(self._bar.task_ids[0], completed=share, description=name, figures=figures, left=left)
        else:
            self.say("  ".join(filter(None, (name, figures, left))))
        self._due = time.monotonic() + (LIVE if self._is_live else LATER_LINES)

    def count(self, unit: str, done: int, total: int, figures: str = "") -> None:
        """Show that `done` of `total` units are finished, if it is time to; the first call for a unit tells where
        its work began."""
        now = time.monotonic()
        begun, before = self._first.setdefault(unit, (now, done))
        if self.is_due():
            left = f"{clock((now - begun) * (total - done) / (done - before))} left" if done > before else ""
            self.show(f"{unit} {done:,} of {total:,}", done / total if total else 1.0, figures, left)

    def close(self) -> None:
        """Restore the terminal."""
        if self._is_live:
            self._bar.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds: `0:02:05`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
