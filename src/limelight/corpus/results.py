"""What is made in parts: the results of a file of a corpus, and other outputs, with a report beside them.

OUT/part-1.txt                 the results of part-1.txt, there when they are complete
OUT/part-1.txt.skipped.jsonl   its lines that were left out, with the reasons
OUT/.shards/part-1.txt.json    its report: settings, model, input, and counts
OUT/.shards/part-1.txt.parts   its finished parts, until it is complete
OUT/report.json                the counts of all
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from limelight.config.files import describe_differences, differences
from limelight.corpus.shards import RESERVED, RESULT, Item, Shard
from limelight.corpus.worker import Done, Outcome
from limelight.documents.parts import AGAIN, Parts, parts_of
from limelight.errors import RunError, UserError
from limelight.files import as_json, fill_file, remove, require_new, sha256, write_whole, writing
from limelight.formats.opening import compress
from limelight.text.pair import BadLine

FORMAT = 5
(REPORT, SHARDS), SKIPPED = RESERVED, ".skipped.jsonl"
_NUMBER = re.compile(r"(?<![^\W_])(?<![^\W\d_]-)\d[\d,.]*")
"""A number that is not part of a name such as UTF-8."""


class Output:
    """A file that is made in parts. Complete are a file and its report together."""

    def __init__(self, path: Path, about: Path, made_of: Mapping[str, Any]) -> None:
        """`about` with `.json` is the report, and with `.parts` the folder of the parts. `made_of` is what they depend
        on, as plain values for JSON."""
        self.path, self.report, self._parts = path, about.with_name(about.name + ".json"), parts_of(about)
        self._made_of = json.loads(as_json(made_of))

    def former(self) -> dict[str, Any] | None:
        """The report of a complete output, None without one. Raises `UserError` if it was made of something else."""
        if not (self.path.is_file() and self.report.exists()):
            return None
        try:
            values: dict[str, Any] = json.loads(self.report.read_text(encoding="utf-8"))
            changed = differences(values["made_of"], self._made_of) or differences(values["format"], FORMAT, "format")
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self.report}: damaged ({error}); remove it and {self.path} to start again") from None
        if changed:
            raise UserError(
                f"{self.path}: it exists already, made with other settings: {describe_differences(changed)}. Repeat "
                "the command that made it, give -o another name, or remove it"
            )
        remove(self._parts)  # left by a process that was killed at its end
        return values

    def open(self) -> Parts:
        """The parts that exist, for more. Raises `UserError` if the output exists."""
        require_new(self.path)
        return Parts(self._parts, self._made_of)

    def finish(self, parts: Parts, values: Mapping[str, Any], fill: Callable[[Path], object]) -> dict[str, Any]:
        """Let `fill` write the output from its parts, and write the report, which is returned."""
        report: dict[str, Any] = {}

        def write(path: Path) -> None:
            fill(path)
            report.update({"format": FORMAT, "sha256": sha256(path), **values, "made_of": self._made_of})
            write_whole(self.report, as_json(report, indent=2) + "\n")

        self.path.parent.mkdir(parents=True, exist_ok=True)
        with writing(self.path, AGAIN):
            fill_file(self.path, write)
            parts.remove()
        return report


def join(parts: Parts, name: str, path: Path, suffix: str = "") -> None:
    """Write one value of all parts to a file, compressed as a file with this suffix."""
    with open(path, "wb") as file:
        for part in parts:
            if part[name]:
                file.write(compress(part[name].encode(), suffix))
        if not file.tell():
            file.write(compress(b"", suffix))  # an empty file is not a valid archive


Counts = Counter[str]
"""Numbers of lines: `read`, `written`, `skipped`, and by name `skipped: REASON` and `warning: NAME`."""


class Results:
    """The results of one file, in parts of `size` lines until they are complete."""

    def __init__(self, folder: Path, shard: Shard, made_of: Mapping[str, Any], size: int) -> None:
        """Raises `UserError` if they were made, or begun, with other settings or other content of the file."""
        self.shard = shard
        self._about = folder / SHARDS / shard.name
        self._output = Output(folder / shard.name, self._about, {**made_of, "lines of a part": size})
        former = self._output.former()
        self.finished = former is not None
        self.counts = Counts(former["counts"] if former else {})

    def begin(self) -> Parts:
        """Open the parts, and count what is in them."""
        with writing(self._about, AGAIN):
            self._about.parent.mkdir(parents=True, exist_ok=True)
        self.parts = self._output.open()
        for part in self.parts:
            self.counts.update(part["counts"])
        return self.parts

    def add(self, items: Sequence[Item], outcomes: Sequence[Outcome]) -> None:
        """Write the results of the next lines as a part."""
        lines, left_out, counts = list[str](), list[str](), Counts(read=len(items))
        for number, (item, outcome) in enumerate(zip(items, outcomes, strict=True), start=self.counts["read"] + 1):
            outcome = item.fault or outcome
            if isinstance(outcome, Done):
                lines.append(self.shard.line(item, outcome.lines[0]))
                counts.update(["written", *(f"warning: {name}" for name in outcome.warnings)])
            else:
                lines.append(self.shard.line(item, None))
                kind = BadLine(self.shard.name, number, outcome).kind
                counts.update(["skipped", f"skipped: {_NUMBER.sub('N', kind)}"])
                text = {} if item.fault else {"text": item.text}
                left_out.append(as_json({"line": number, "reason": outcome, **text}) + "\n")
        self.parts.append({"lines": "".join(lines), "aside": "".join(left_out), "counts": counts})
        self.counts.update(counts)

    def finish(self) -> None:
        """Make the results from all parts, with their counts beside them."""
        path = self._output.path
        skipped = path.with_name(path.name + SKIPPED)

        def fill(partial: Path) -> None:
            remove(skipped)  # of results that were removed
            if self.counts["skipped"]:
                fill_file(skipped, lambda aside: join(self.parts, "aside", aside))
            if self.shard.kind == "parquet":
                from limelight.formats.columns import write_rows

                rows = (json.loads(line) for part in self.parts for line in part["lines"].splitlines())
                write_rows(str(self.shard.path), rows, partial, RESULT)
            else:
                join(self.parts, "lines", partial, path.suffix.lower())

        self._output.finish(self.parts, {"counts": self.counts}, fill)
