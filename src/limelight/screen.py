"""Progress of long work on standard error."""

from __future__ import annotations

import os

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

FIRST_LINE, LATER_LINES, LIVE = 30.0, 300.0, 1.0
"""Seconds between displays of progress: before the first line, between later lines, and on a terminal."""


class Screen(Console):
    """A console on standard error. If the reader closes the pipe (`2>&1 | head`), output stops and the work
    continues."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # discards buffered output


def live_bar(console: Console) -> Progress:
    """A started progress bar for a terminal: description, bar, `figures`, and the time `left`."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[figures]}"),
        TextColumn("{task.fields[left]}"),
        console=console,
    )
    bar.add_task("starting", total=1.0, figures="", left="")
    bar.start()
    return bar


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds: `0:02:05`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
