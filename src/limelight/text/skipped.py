"""What could not be read or was not to be used: some of it said, all of it counted and written down."""

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
    """Collects bad lines; `add` is the `on_bad_line` of `read_pairs`, and its `on_unused`.

    The first few that cannot be read are said, and each line stands as `file:line: reason` in the file `listing`, which
    is there only when there was any. Use it in a `with` block.
    """

    def __init__(self, listing: Path, say: Callable[[str], None]) -> None:
        self.total = 0
        self._listing, self._say = listing, say
        self._file: TextIO | None = None
        self._unread = 0
        self._counts: dict[tuple[bool, str], int] = {}
        self._first: dict[tuple[bool, str], str] = {}

    def __enter__(self) -> SkipReport:
        self._listing.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, line: BadLine) -> None:
        """Say it, count it, write it down."""
        self.total += 1
        key = line.unused, line.kind
        self._counts[key] = self._counts.get(key, 0) + 1
        self._first.setdefault(key, f"{line.file}:{line.line}")
        if not line.unused:
            self._unread += 1
            if self._unread <= NAMED:
                self._say(f"skipped {line}")
        if self._file is None:
            self._listing.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._listing, "w", encoding="utf-8")  # noqa: SIM115 - closed when the block is left
        if self.total <= LISTED:
            self._file.write(f"{line}\n")

    def summary(self) -> str:
        """A line of counts, and a line for each reason with an example to look at; empty where nothing was skipped."""
        first = f"the first {LISTED:,} of them" if self.total > LISTED else "each of them"
        where, lines = f"; {first} in {self._listing}", list[str]()
        if self._unread:
            lines.append(f"{self._unread:,} lines cannot be read and were skipped{where}")
            lines += self._reasons("skipped", unused=False)
        if self.total > self._unread:
            count = self.total - self._unread
            lines.append(f"{count:,} segment{' is' if count == 1 else 's are'} not used{'' if lines else where}")
            lines += self._reasons("not used", unused=True)
        return "\n".join(lines)

    def _reasons(self, what: str, *, unused: bool) -> list[str]:
        """The most frequent one first."""
        counts = {reason: count for (kind, reason), count in self._counts.items() if kind == unused}
        return [
            f"  {what} {count:,}: {reason} (first: {self._first[unused, reason]})"
            for reason, count in sorted(counts.items(), key=lambda item: -item[1])
        ]
