"""The report of what should be looked at in translated documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from limelight.errors import counted, shown
from limelight.formats.unit import Unit, with_codes
from limelight.pipelines.translation import LOW_CONFIDENCE, Translation
from limelight.text.judge import IN_TARGET_LANGUAGE

SUSPECT, UNTRANSLATED, UNCHANGED, UNSURE = "suspect", "left untranslated", "unchanged", "unsure"
KINDS = (SUSPECT, UNTRANSLATED, UNCHANGED, UNSURE)
KEPT = "kept"
"""The kind of a string of a catalog that stays as it is: a name, or a note for translators."""
NAMED = (IN_TARGET_LANGUAGE, "span misplaced")
"""Beginnings of warnings that have reasons of their own here."""
COLUMNS = ("file", "segment", "line", "reasons", "confidence", "source", "translation")
EXAMPLES = 3
"""Strings that were kept, in the summary."""
SHOWN = 20
"""Suspect segments, and files that were left out, in the summary."""


class Note(NamedTuple):
    """A segment whose translation should be looked at, or a string that is kept."""

    file: str
    segment: int
    """Its number in the file, from 1."""
    line: int
    kinds: Sequence[str]
    """Some of `KINDS`, or `KEPT`."""
    reasons: Sequence[str]
    confidence: float | None
    source: str
    translation: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {'; '.join(self.reasons)}: {shown(self.source, 60)!r}"


class LeftOut(NamedTuple):
    """A file of a folder that was not translated."""

    file: str
    reason: str
    failed: bool = True
    """Whether its text is missing in the result; an image has none."""

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass
class Report:
    """The outcome for some files."""

    files: int = 0
    units: int = 0
    moved: int = 0
    """Units with tags that were placed by attention."""
    notes: list[Note] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files of a folder that were there already."""
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def suspects(self) -> list[Note]:
        """The notes of translations that are probably wrong."""
        return [note for note in self.notes if SUSPECT in note.kinds]

    @property
    def failed(self) -> list[LeftOut]:
        """The files with text that was not translated."""
        return [omission for omission in self.left_out if omission.failed]

    def add(self, other: Report) -> None:
        """Add the counts and notes of another report."""
        self.files += other.files
        self.units += other.units
        self.moved += other.moved
        self.notes += other.notes

    def summary(self) -> Iterator[str]:
        """Lines for people: the counts, then the first files left out and the first suspects."""
        counts = Counter(kind for note in self.notes for kind in note.kinds)
        listed = [f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind] or kind == SUSPECT]
        sure = f" (confidence below {LOW_CONFIDENCE})" * (counts[UNSURE] > 0)
        yield f"{counted(self.files, 'file')}, {counted(self.units, 'segment')}, {', '.join(listed)}{sure}"
        if self.moved:
            lost = "the model lost tags or variables; they were placed by its attention"
            yield f"  in {counted(self.moved, 'segment')} {lost}"
        kept = [note for note in self.notes if KEPT in note.kinds]
        if kept:
            examples = ", ".join(repr(shown(note.source, 20)) for note in kept[:EXAMPLES])
            yield f"  {counted(len(kept), 'string')} kept as identifiers or notes, such as {examples}"
        if self.left:
            were = "was there already, and newer than its source" if len(self.left) == 1 else "were there already"
            yield f"  {counted(len(self.left), 'file')} {were}: not translated again"
        yield from _first_items("left out", self.left_out)
        yield from _first_items("suspect", self.suspects)

    def rows(self) -> Iterator[str]:
        """The lines of a table of tab-separated values: all notes and all files that were left out."""
        yield "\t".join(COLUMNS)
        for note in self.notes:
            sure = "" if note.confidence is None else f"{note.confidence:.3f}"
            yield _row(note.file, note.segment, note.line, "; ".join(note.reasons), sure, note.source, note.translation)
        for omission in self.left_out:
            yield _row(omission.file, "", "", f"left out: {omission.reason}", "", "", "")
        for file in self.left:
            yield _row(file, "", "", "not translated again: its translation was there already", "", "", "")


def _first_items(label: str, items: Sequence[object]) -> Iterator[str]:
    yield from (f"  {label}: {item}" for item in items[:SHOWN])
    if len(items) > SHOWN:
        yield f"  {label}: {len(items) - SHOWN:,} more"


def _row(*cells: object) -> str:
    """A row of the table. File names may contain bytes that are not valid UTF-8."""
    texts = (" ".join(str(cell).splitlines()).replace("\t", " ") for cell in cells)
    return "\t".join(texts).encode("utf-8", "replace").decode()


def note_of(file: str, segment: int, unit: Unit, kept: Translation, *, both_sides: bool) -> Note | None:
    """What should be looked at in a translation, if anything. In a file with `both_sides` a translation that is the
    same as its source is not written."""
    reasons = list(_reasons(unit, kept))
    kinds = [SUSPECT] * bool(reasons)
    if kept.text.strip() == unit.text.strip():
        kinds.append(UNTRANSLATED if both_sides else UNCHANGED)
        is_there = IN_TARGET_LANGUAGE in kept.warnings
        reason = IN_TARGET_LANGUAGE if is_there else "the translation is the same as the source"
        reasons.append(reason + ": left untranslated" * both_sides)
    if kept.confidence is not None and kept.confidence < LOW_CONFIDENCE:
        kinds.append(UNSURE)
        reasons.append("low confidence")
    if not kinds:
        return None
    texts = (with_codes(text, unit.codes) for text in (unit.text, kept.text))
    return Note(file, segment, unit.line, kinds, reasons, kept.confidence, *texts)


def _reasons(unit: Unit, kept: Translation) -> Iterator[str]:
    """What is wrong with a translation."""
    if not kept.text.strip():
        yield "empty"
    if kept.failed:
        lost = ", ".join(shown(with_codes(code, unit.codes) or "format", 40) for code in dict.fromkeys(kept.failed))
        yield f"place not known: {lost}"
    yield from (warning for warning in kept.warnings if not warning.startswith(NAMED))
    yield from unit.limits(kept.text)
