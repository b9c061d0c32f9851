"""A file through a translator: chunk by chunk, resumable, with a report of what should be looked at."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from limelight.documents.document import Document, open_document
from limelight.documents.parts import Parts, parts_of
from limelight.documents.report import KEPT, Note, Report, note_of
from limelight.errors import RunError, UserError
from limelight.files import cause, write_whole
from limelight.formats.registry import BILINGUAL, suffix_of
from limelight.formats.unit import Options
from limelight.pipelines.job import Text
from limelight.pipelines.translation import Translation
from limelight.text.marking import CODES

CHUNK = 128
"""Units that are translated together, and kept for a later start."""
FORMAT = 6
"""Version of what is kept."""
FIELDS = ("text", "moved", "failed", "confidence", "warnings")
"""Fields of a translation that are kept, for the output and the report."""
SAMPLE = 5000
"""Characters of a document whose language is detected."""

Translate = Callable[[Sequence[Text], str], Sequence[Translation]]
"""Translates texts; also given is their source language, empty where it was not detected."""
Progress = Callable[[str, int, int], None]
"""Called with the file, the units that are done, and all its units."""


class Work(NamedTuple):
    """Settings of the translation of files."""

    translate: Translate
    options: Options
    settings: Mapping[str, Any] = {}
    """All that the translations depend on besides the text, such as the SHA-256 of the model: plain values for JSON.
    Kept translations of others are not used."""
    detect: Callable[[str], str] = lambda text: ""
    """Detects the source language of a text; empty if it was given, or cannot be detected."""
    progress: Progress = lambda file, done, units: None


def translate_document(path: Path, output: Path, work: Work) -> Report:
    """Translate a file into another one, which is there as a whole or not at all.

    What was translated before an interruption is kept beside the output (`.parts`) and used by the next call, which
    reports the same.

    Raises `UserError` for a file that cannot be read or is none of its format, and `RunError` where the output cannot
    be written.
    """
    _check_output(path, output)
    document = open_document(path, work.options)
    made_of = {**work.settings, "from, to, all": list(work.options)}
    made = {"format": FORMAT, "made_of": made_of, "sha256": hashlib.sha256(document.data).hexdigest()}
    with Parts(parts_of(output), made, replace=True) as parts:
        kept = _translated(document, work, parts)
        report = _report(document, kept)
        content = document.written([segment.text for segment in kept])
        try:
            write_whole(output, content)
        except OSError as error:
            raise RunError(f"{output}: cannot be written: {cause(error)}") from None
        parts.remove()
    return report


def _check_output(path: Path, output: Path) -> None:
    if output.exists() and not output.is_file():
        raise UserError(f"{output}: is not a file; give -o the name of a file")
    if output.exists() and path.exists() and output.samefile(path):  # also where case is ignored
        raise UserError(f"{output}: is the input; give -o another name")
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}")


def _translated(document: Document, work: Work, parts: Parts) -> list[Translation]:
    """The translations of all units. What the document says several times is translated once."""
    units = document.units
    keys = [(unit.text, unit.kinds) for unit in units]  # all of a unit that its translation depends on
    kept = [fields for part in parts for fields in part]
    known = dict(zip(keys, kept, strict=False))
    source = work.detect(CODES.sub(" ", " ".join(unit.text for unit in units))[:SAMPLE])
    for begin in range(len(kept), len(units), CHUNK):
        work.progress(document.name, begin, len(units))
        rows = slice(begin, begin + CHUNK)
        new = dict.fromkeys(key for key in keys[rows] if key not in known)
        texts = [Text(text, number, codes=codes) for number, (text, codes) in enumerate(new, start=begin + 1)]
        if texts:
            translations = work.translate(texts, source)
            known |= zip(new, ({name: getattr(each, name) for name in FIELDS} for each in translations), strict=True)
        part = [known[key] for key in keys[rows]]
        parts.append(part)
        kept += part
    work.progress(document.name, len(units), len(units))
    return [Translation(**fields) for fields in kept]


def _report(document: Document, kept: Sequence[Translation]) -> Report:
    both_sides = suffix_of(document.name) in BILINGUAL
    pairs = enumerate(zip(document.units, kept, strict=True), start=1)
    notes = [
        note
        for number, (unit, segment) in pairs
        if (note := note_of(document.name, number, unit, segment, both_sides=both_sides))
    ]
    for part in document.parts:
        for line, text in part.kept:
            notes.append(Note(document.name, 0, line, (KEPT,), ("kept: an identifier or a note",), None, text, text))
    return Report(1, len(kept), sum(bool(segment.moved) for segment in kept), notes)
