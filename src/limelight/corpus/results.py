"""The folder of results: what it was made with, and the results of each file, which grow by commits.

OUT/manifest.json              settings and model; another start with others is refused
OUT/part-1.txt                 the results of part-1.txt, there when they are complete
OUT/part-1.txt.skipped.jsonl   its lines that were left out, with the reasons
OUT/.shards/part-1.txt.json    its counts
OUT/report.json                the counts of all
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from limelight.corpus.shards import RESERVED, RESULT, Form, Item, Shard
from limelight.corpus.worker import Outcome
from limelight.errors import RunError, UserError
from limelight.files import PARTIAL, as_json, fill_file, sync_file, sync_folder, write_all, write_whole, writing
from limelight.formats.opening import compress
from limelight.pipelines.translation import LOW_CONFIDENCE
from limelight.resumable import ResumableFile, describe_differences, differences, places_of, resumable
from limelight.text.pair import BadLine

FORMAT = 2
(MANIFEST, REPORT, SHARDS), SKIPPED = RESERVED, ".skipped.jsonl"
_NUMBER = re.compile(r"(?<![^\W_])(?<![^\W\d_]-)\d[\d,.]*")
"""A number that is not part of a name such as UTF-8."""
AGAIN = "what is finished is kept: the same command continues"


@dataclass(slots=True)
class Counts:
    """The outcome for the lines of a file. Every line that was read was written or skipped."""

    read: int = 0
    written: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Reasons of the skipped ones."""
    aside: int = 0
    """Bytes of the file of skipped lines."""
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
    """Make the folder, or check that what is in it was made with the same. Raises `UserError` where it was not."""
    manifest = folder / MANIFEST
    made_of = json.loads(json.dumps(made_of))
    try:
        (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        # Listed first: another driver may write the manifest, and results after it, at any moment.
        others = [path for path in folder.iterdir() if path.name != SHARDS and not path.name.startswith(MANIFEST)]
        if not manifest.exists():
            if others:
                raise UserError(
                    f"{folder}: there are other files in it, and no {MANIFEST}; give -o a folder of its own"
                )
            _write_once(manifest, as_json({"format": FORMAT, "made_of": made_of}, indent=1))
        for left in folder.glob(f"{MANIFEST}*{PARTIAL}"):  # of a process that was killed here
            left.unlink(missing_ok=True)
        there = json.loads(manifest.read_text(encoding="utf-8"))
        known, former = there["format"] == FORMAT, there["made_of"]
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError) as error:
        raise RunError(f"{manifest}: damaged ({error}); remove {folder} to start again") from None
    changed = describe_differences(differences(former, made_of)) if known else "it is of another version of Limelight"
    if changed:
        raise UserError(
            f"{folder}: its results were made with other settings: {changed}. Repeat the command that made them, or "
            "give -o another folder"
        )


def _write_once(path: Path, content: str) -> None:
    """Write a file unless it is there. Of several processes that do so at once, one succeeds, and all go on."""
    own = path.with_name(f"{path.name}.{uuid4().hex}{PARTIAL}")
    try:
        own.write_text(content, encoding="utf-8")
        sync_file(own)
        try:
            os.link(own, path)
        except OSError:  # it is there, or the file system has no links
            if not path.exists():
                os.replace(own, path)
    except FileNotFoundError:  # another driver has tidied up
        if not path.exists():
            raise
    finally:
        with suppress(OSError):
            own.unlink(missing_ok=True)
    sync_folder(path.parent)


class Results:
    """The results of one file.

    Raises `UserError` where they were begun with other content of the file, and where another process writes them.
    """

    def __init__(self, folder: Path, shard: Shard, form: Form) -> None:
        self.shard, self._form = shard, form
        self.output = folder / form.name_of(shard)
        self._report = folder / SHARDS / f"{form.name_of(shard)}.json"
        self._aside = self.output.with_name(self.output.name + SKIPPED)
        self._place = self.output
        if shard.kind == "parquet":
            self._place = self._report.with_name(self._report.name.replace(".json", ".rows"))
        self.counts = Counts()
        self.finished = self._read_finished()
        self._file: ResumableFile | None = None
        self._digest = ""
        self._leave = ExitStack()

    def begin(self) -> int:
        """Begin, or go on; returns how many lines are done."""
        self._digest = self.shard.digest()
        for place in (self.output, self._report):
            place.parent.mkdir(parents=True, exist_ok=True)
        self._place.unlink(missing_ok=True)  # rows of a Parquet file that was about to be finished
        made_of = {"path": self.shard.path, "bytes": self.shard.size, "SHA-256 of the input": self._digest}
        self._file = self._leave.enter_context(resumable(self._place, made_of))
        if self._file.state:
            self.counts = Counts(**self._file.state)
        if self._aside.exists():
            os.truncate(self._aside, self.counts.aside)
        return self.counts.read

    def commit(self, items: Sequence[Item | BadLine], outcomes: Sequence[Outcome]) -> None:
        """Write the results of the next lines. `outcomes` are of those that are items."""
        assert self._file is not None
        warnings: Counter[str] = Counter()
        lines, left_out = [], []
        found = iter(outcomes)
        for number, item in enumerate(items, start=self.counts.read + 1):
            if isinstance(item, BadLine):
                left_out.append({"line": number, "reason": item.reason})
                lines.append(self._form.line(self.shard, Item(""), None))
                continue
            outcome = next(found)
            if isinstance(outcome, str):
                left_out.append({"line": number, "reason": outcome, "text": item.text})
                lines.append(self._form.line(self.shard, item, None))
            else:
                lines.append(self._form.line(self.shard, item, outcome.lines[0]))
                warnings.update(outcome.warnings)
                self.counts.unsure += outcome.confidence is not None and outcome.confidence < LOW_CONFIDENCE
        self._count(len(items), left_out)
        self.counts.warnings = dict(Counter(self.counts.warnings) + warnings)
        content = "".join(lines).encode()
        suffix = self._place.suffix.lower()
        self._file.commit(compress(content, suffix) if content else b"", asdict(self.counts))

    def finish(self) -> None:
        """Put the results in their place, and their counts beside them."""
        assert self._file is not None
        suffix = self._place.suffix.lower()
        if not self._file.size and compress(b"", suffix):
            self._file.commit(compress(b"", suffix), asdict(self.counts))  # an empty archive is one
        with writing(self.output, AGAIN):
            if self.shard.kind == "parquet":
                from limelight.corpus.parquet import write_rows

                column, rows = self._form.pairs or RESULT, self._file.partial
                fill_file(self.output, lambda partial: write_rows(self.shard.path, rows, partial, column))
            read = {"path": self.shard.path, "bytes": self.shard.size, "changed": self.shard.stamp}
            values = {"format": FORMAT, **read, "sha256": self._digest, **asdict(self.counts)}
            write_whole(self._report, as_json(values, indent=1))
        self._file.finish()
        if self._place != self.output:
            self._place.unlink(missing_ok=True)
        if self._aside.exists() and not self.counts.aside:
            self._aside.unlink()
        self._file = None
        self._leave.close()
        self.finished = True

    def close(self) -> None:
        """Leave them as they are, for a later start."""
        if self._file is not None and not self._file.state:
            self._file.discard()
        self._leave.close()

    def _count(self, lines: int, left_out: Sequence[Mapping[str, Any]]) -> None:
        counts = self.counts
        counts.read += lines
        counts.skipped += len(left_out)
        counts.written += lines - len(left_out)
        kinds = Counter(_NUMBER.sub("N", BadLine("", 0, str(each["reason"])).kind) for each in left_out)
        counts.reasons = dict(Counter(counts.reasons) + kinds)
        if not left_out:
            return
        content = "".join(as_json(each) + "\n" for each in left_out).encode()
        with writing(self._aside, AGAIN):
            handle = os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                write_all(handle, content)
            finally:
                os.close(handle)
            sync_file(self._aside)
        counts.aside += len(content)

    def _read_finished(self) -> bool:
        """Whether a former start has finished them. Takes up their counts."""
        if not (self.output.exists() and self._report.exists()):
            return False
        for left in places_of(self._place):  # by a process that was killed at its very end
            left.unlink(missing_ok=True)
        try:
            values = json.loads(self._report.read_text(encoding="utf-8"))
            self.counts = Counts(**{name: values[name] for name in asdict(Counts())})
            size, stamp, digest = values["bytes"], values["changed"], values["sha256"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RunError(f"{self._report}: damaged ({error}); remove it and {self.output} to start again") from None
        if size != self.shard.size:
            raise UserError(
                f"{self.shard.path}: it had {size:,} bytes when it was translated, and has {self.shard.size:,} now; "
                f"remove {self.output} to translate it again"
            )
        # A file that was written again may have the same content. Reading it takes a moment for each gigabyte.
        if stamp != self.shard.stamp and digest != self.shard.digest():
            raise UserError(
                f"{self.shard.path}: it has changed since it was translated; remove {self.output} to translate it again"
            )
        return True
