"""The folder of results: what it was made with, and the results of each file.

OUT/manifest.json              settings and model; another start with others is refused
OUT/part-1.txt                 the results of part-1.txt, there when they are complete
OUT/part-1.txt.skipped.jsonl   its lines that were left out, with the reasons
OUT/.shards/part-1.txt.json    its counts
OUT/.shards/part-1.txt.parts   its finished parts, until it is complete
OUT/report.json                the counts of all
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from limelight.corpus.shards import RESERVED, RESULT, Item, Shard
from limelight.corpus.worker import Outcome
from limelight.errors import RunError, UserError
from limelight.files import as_json, fill_file, locked, remove, write_whole, writing
from limelight.formats.opening import compress
from limelight.parts import AGAIN, Parts, describe_differences, differences, parts_of, require_new
from limelight.pipelines.translation import LOW_CONFIDENCE
from limelight.text.pair import BadLine

FORMAT = 3
(MANIFEST, REPORT, SHARDS), SKIPPED = RESERVED, ".skipped.jsonl"
_NUMBER = re.compile(r"(?<![^\W_])(?<![^\W\d_]-)\d[\d,.]*")
"""A number that is not part of a name such as UTF-8."""


@dataclass(slots=True)
class Counts:
    """The outcome for the lines of a file. Every line that was read was written or skipped."""

    read: int = 0
    written: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Reasons of the skipped ones."""
    warnings: dict[str, int] = field(default_factory=dict)
    """Warnings of the guards, in the lines that were written."""
    unsure: int = 0
    """Lines that were written with a low confidence."""

    def add(self, other: Counts) -> None:
        """Count what another one has counted."""
        self.read += other.read
        self.written += other.written
        self.skipped += other.skipped
        self.reasons = dict(Counter(self.reasons) + Counter(other.reasons))
        self.warnings = dict(Counter(self.warnings) + Counter(other.warnings))
        self.unsure += other.unsure


def open_results(folder: Path, made_of: Mapping[str, Any]) -> None:
    """Make the folder, or check that what is in it was made with the same. Raises `UserError` if it was not."""
    manifest = folder / MANIFEST
    content = {"format": FORMAT, "made_of": json.loads(json.dumps(made_of))}
    try:
        (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        with locked(folder / SHARDS):  # several drivers may start at once
            if not manifest.exists():
                if any(path.name != SHARDS and not path.name.startswith(MANIFEST) for path in folder.iterdir()):
                    raise UserError(
                        f"{folder}: there are other files in it, and no {MANIFEST}; give -o a folder of its own"
                    )
                write_whole(manifest, as_json(content, indent=1))
        there = json.loads(manifest.read_text(encoding="utf-8"))
        changed = differences(there["made_of"], content["made_of"]) or differences(there["format"], FORMAT, "format")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None
    except (LookupError, TypeError, json.JSONDecodeError) as error:
        raise RunError(f"{manifest}: damaged ({error}); remove {folder} to start again") from None
    if changed:
        raise UserError(
            f"{folder}: its results were made with other settings: {describe_differences(changed)}. Repeat the command "
            "that made them, or give -o another folder"
        )


def join(parts: Parts, name: str, path: Path, suffix: str = "") -> None:
    """Write one value of all parts to a file, compressed as a file with this suffix."""
    with open(path, "wb") as file:
        for part in parts:
            if part[name]:
                file.write(compress(part[name].encode(), suffix))
        if not file.tell():
            file.write(compress(b"", suffix))  # an empty file is not a valid archive


class Results:
    """The results of one file, in parts of `size` lines until they are complete.

    Raises `UserError` if they were begun with other content of the file, or another process writes them.
    """

    def __init__(self, folder: Path, shard: Shard, size: int) -> None:
        self.shard, self._size = shard, size
        self.output = folder / shard.name
        self._report = folder / SHARDS / f"{shard.name}.json"
        self._aside = self.output.with_name(self.output.name + SKIPPED)
        self._folder = parts_of(folder / SHARDS / shard.name)
        self._digest = ""
        self.counts = Counts()
        self.finished = self.output.exists() and self._report.exists()
        if self.finished:
            remove(self._folder)  # left by a process that was killed at its end
            self.counts = self._former_counts()

    def begin(self, leave: ExitStack) -> int:
        """Open the parts, until `leave` closes them; returns the number of lines that they have."""
        require_new(self.output)
        self._digest = self.shard.digest()
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        made_of = {"path": self.shard.path, "bytes": self.shard.size, "SHA-256 of the input": self._digest}
        self._parts = Parts(self._folder, {**made_of, "lines of a part": self._size})
        leave.callback(self._parts.close)
        for part in self._parts:
            self.counts.add(Counts(**part["counts"]))
        return self.counts.read

    def add(self, items: Sequence[Item | BadLine], outcomes: Sequence[Outcome]) -> None:
        """Write the results of the next lines as a part. `outcomes` are of those that are items."""
        counts, lines, left_out = Counts(read=len(items)), list[str](), list[dict[str, Any]]()
        found = iter(outcomes)
        for number, item in enumerate(items, start=self.counts.read + 1):
            given = Item("") if isinstance(item, BadLine) else item
            outcome = item.reason if isinstance(item, BadLine) else next(found)
            if isinstance(outcome, str):
                text = {} if isinstance(item, BadLine) else {"text": item.text}
                left_out.append({"line": number, "reason": outcome, **text})
                lines.append(self.shard.line(given, None))
            else:
                lines.append(self.shard.line(given, outcome.lines[0]))
                counts.warnings = dict(Counter(counts.warnings) + Counter(outcome.warnings))
                counts.unsure += outcome.confidence is not None and outcome.confidence < LOW_CONFIDENCE
        counts.skipped, counts.written = len(left_out), len(items) - len(left_out)
        counts.reasons = dict(Counter(_NUMBER.sub("N", BadLine("", 0, each["reason"]).kind) for each in left_out))
        aside = "".join(as_json(each) + "\n" for each in left_out)
        self._parts.append({"lines": "".join(lines), "aside": aside, "counts": asdict(counts)})
        self.counts.add(counts)

    def finish(self) -> None:
        """Make the results from all parts, with their counts beside them."""
        read = {"path": self.shard.path, "bytes": self.shard.size, "changed": self.shard.stamp}
        values = {"format": FORMAT, **read, "sha256": self._digest, **asdict(self.counts)}
        self.output.parent.mkdir(parents=True, exist_ok=True)
        with writing(self.output, AGAIN):
            if self.counts.skipped:
                fill_file(self._aside, lambda path: join(self._parts, "aside", path))
            write_whole(self._report, as_json(values, indent=1))
            if self.shard.kind == "parquet":
                from limelight.formats.columns import write_rows

                file = self.shard.remote_file()
                fill_file(self.output, lambda path: write_rows(self.shard.path, self._rows(), path, RESULT, file))
            else:
                fill_file(self.output, lambda path: join(self._parts, "lines", path, self.output.suffix.lower()))
            self._parts.remove()
        self.finished = True

    def _rows(self) -> Iterator[str | None]:
        """The translation of each row of a Parquet file."""
        for part in self._parts:
            yield from map(json.loads, part["lines"].splitlines())

    def _former_counts(self) -> Counts:
        """The counts of results that a former start has finished. Raises `UserError` if the input has changed since."""
        try:
            values = json.loads(self._report.read_text(encoding="utf-8"))
            counts = Counts(**{name: values[name] for name in asdict(Counts())})
            former, digest = (values["bytes"], values["changed"]), values["sha256"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self._report}: damaged ({error}); remove it and {self.output} to start again") from None
        # A file that was written again may have the same content. Reading it takes a moment for each gigabyte.
        if former != (self.shard.size, self.shard.stamp) and digest != self.shard.digest():
            raise UserError(
                f"{self.shard.path}: it has changed since it was translated; remove {self.output} to translate it again"
            )
        return counts
