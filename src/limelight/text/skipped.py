"""What could not be read and was left out: some of it said, all of it counted and written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from limelight.text.pair import BadLine

NAMED = 5
"""Lines that are said at once; a corpus may have a million more of them."""
LISTED = 1_000_000
"""Lines that are written down; a few MB of archive can hold any number of them, and the disk cannot."""


class SkipReport:
    """Collects bad lines; `add` is the `on_bad_line` of `read_pairs`.

    The first few are said, and each stands as `file:line: reason` in the file `listing`, which is there only when there
    was any. Use it in a `with` block.
    """

    def __init__(self, listing: Path, say: Callable[[str], None]) -> None:
        self.total = 0
        self._listing, self._say = listing, say
        self._file: TextIO | None = None
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def __enter__(self) -> SkipReport:
        self._listing.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, line: BadLine) -> None:
        """Say it, count it, write it down."""
        self.total += 1
        self._counts[line.kind] = self._counts.get(line.kind, 0) + 1
        self._first.setdefault(line.kind, f"{line.file}:{line.line}")
        if self.total <= NAMED:
            self._say(f"skipped {line}")
        if self._file is None:
            self._listing.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._listing, "w", encoding="utf-8")  # noqa: SIM115 - closed when the block is left
        if self.total <= LISTED:
            self._file.write(f"{line}\n")

    def summary(self) -> str:
        """A line of counts, and a line for each reason with an example to look at; empty where nothing was skipped."""
        if not self.total:
            return ""
        first = f"the first {LISTED:,} of them" if self.total > LISTED else "each of them"
        lines = [f"{self.total:,} lines cannot be read and were skipped; {first} in {self._listing}"]
        for reason, count in sorted(self._counts.items(), key=lambda item: -item[1]):
            lines.append(f"  skipped {count:,}: {reason} (first: {self._first[reason]})")
        return "\n".join(lines)
