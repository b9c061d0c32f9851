"""Files and folders through a translator: chunk by chunk, resumable, with a report of what is suspect."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from limelight.documents.document import Document, open_document
from limelight.documents.journal import Journal, Kept
from limelight.errors import RunError, UserError
from limelight.files import cause, write_whole
from limelight.pipelines.protected import ProtectedText, ProtectedTranslation, protect_text
from limelight.text.checks import find_loop, is_copied, is_too_long, is_too_short, lost_addresses, lost_numbers
from limelight.text.glossary import Glossary
from limelight.text.protectors import DEFAULT, Protector
from limelight.text.units.registry import Options, is_document
from limelight.text.units.unit import Unit, code_protector, parts_of, with_codes
from limelight.untrusted import shown

CHUNK = 128
"""Units that are translated together, and kept for a later start."""

Translate = Callable[[Sequence[ProtectedText]], Sequence[ProtectedTranslation]]
Progress = Callable[[str, int, int], None]
"""Called with the file, the units that are done, and all its units."""


class Suspect(NamedTuple):
    """A unit whose translation should be looked at."""

    file: str
    line: int
    reasons: tuple[str, ...]
    source: str
    translation: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {'; '.join(self.reasons)}: {shown(self.source, 60)!r}"


@dataclass
class Report:
    """The outcome for some files."""

    files: int = 0
    units: int = 0
    moved: int = 0
    """Units with tags that were placed by attention."""
    suspects: list[Suspect] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files of a folder that were there already."""
    faults: list[str] = field(default_factory=list)
    """Files of a folder that could not be translated, and why."""

    def lines(self) -> Iterator[str]:
        """For people: the counts, then each suspect."""
        yield f"{self.files} files, {self.units} segments, {len(self.suspects)} suspect"
        if self.moved:
            yield f"  in {self.moved} segments the model lost tags or variables; they were placed by its attention"
        if self.left:
            yield f"  {len(self.left)} files were there already, and newer than their source: not translated again"
        yield from (f"  {each}" for each in (*self.suspects, *self.faults))


class Work(NamedTuple):
    """How files are translated."""

    translate: Translate
    options: Options
    settings: str = ""
    """All that the translations depend on besides the text: model, beam. Kept translations of others are not used."""
    protectors: Sequence[Protector] = DEFAULT
    glossary: Glossary | None = None
    progress: Progress = lambda file, done, units: None


def translate_document(path: Path, output: Path, work: Work) -> Report:
    """Translate a file into another one, which is there as a whole or not at all.

    What was translated before an interruption is kept beside the output (`.progress`) and used by the next call.

    Raises `UserError` for a file that cannot be read or is none of its format, and `RunError` where the output cannot
    be written.
    """
    _check_output(path, output)
    document = open_document(path, work.options)
    report = Report(files=1, units=len(document.units))
    with Journal(output.with_name(output.name + ".progress"), _key(document, work)) as journal:
        texts = _translated(document, work, journal, report)
        content = document.written(texts)
        try:
            write_whole(output, content)
        except OSError as error:
            raise RunError(f"{output}: cannot be written: {cause(error)}") from None
        journal.done()
    return report


def translate_folder(folder: Path, output: Path, work: Work) -> Report:
    """Translate each document in a folder, and in those in it, into another folder with the same names.

    Files whose output is there, and newer, are left. A file that cannot be read stops nothing; the report names it.
    Raises `UserError` for an output in the folder itself, and where there are no documents.
    """
    if output.resolve() == folder.resolve() or folder.resolve() in output.resolve().parents:
        raise UserError(f"{output}: give a folder that is not within {folder}")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and is_document(path)]
    if not files:
        raise UserError(f"{folder}: there are no documents in it")
    report = Report()
    for path in files:
        target = output / path.relative_to(folder)
        if target.exists() and target.stat().st_mtime > path.stat().st_mtime:
            report.left.append(str(path))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            found = translate_document(path, target, work)
        except UserError as error:
            report.faults.append(str(error))
            continue
        report.files += found.files
        report.units += found.units
        report.moved += found.moved
        report.suspects += found.suspects
    return report


def _check_output(path: Path, output: Path) -> None:
    if output.exists() and not output.is_file():
        raise UserError(f"{output}: is no file; give -o the name of a file")
    if output.exists() and output.resolve() == path.resolve():
        raise UserError(f"{output}: is the input; give -o another name")
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no folder {output.parent}")


def _key(document: Document, work: Work) -> str:
    """What kept translations are of."""
    names = [each.name for each in work.protectors]
    terms = work.glossary.terms if work.glossary is not None else ()
    settings = json.dumps([work.settings, work.options, names, terms])
    return hashlib.sha256(settings.encode() + document.data).hexdigest()


def _translated(document: Document, work: Work, journal: Journal, report: Report) -> list[str | None]:
    """The translations of all units. What the document says several times is translated once."""
    units = document.units
    same = [_text_of(unit) for unit in units]
    known = dict(zip(same, journal.kept, strict=False))
    language, glossary = work.options.source or "en", work.glossary
    for begin in range(len(journal.kept), len(units), CHUNK):
        work.progress(document.name, begin, len(units))
        some = slice(begin, begin + CHUNK)
        new = {text: unit for text, unit in zip(same[some], units[some], strict=True) if text not in known}
        protected = [
            protect_text(unit.text, [code_protector(unit.codes), *work.protectors], language, glossary)
            for unit in new.values()
        ]
        if protected:
            known |= zip(new, map(_kept, work.translate(protected)), strict=True)
        journal.add([known[text] for text in same[some]])
    work.progress(document.name, len(units), len(units))
    for unit, (text, moved, failed, unused) in zip(units, journal.kept, strict=True):
        report.moved += bool(moved)
        reasons = _reasons(unit, text, failed, unused)
        if reasons:
            shown_text = with_codes(text, unit.codes)
            report.suspects.append(
                Suspect(document.name, unit.line, reasons, with_codes(unit.text, unit.codes), shown_text)
            )
    return [text for text, *_ in journal.kept]


def _text_of(unit: Unit) -> tuple[object, ...]:
    """All of a unit that its translation depends on: its text, and what its codes do in it."""
    return unit.text, tuple((code.role, code.name) for code in unit.codes)


def _kept(found: ProtectedTranslation) -> Kept:
    return found.text, list(found.moved), list(found.failed), list(found.unused)


def _reasons(unit: Unit, text: str, failed: Sequence[str], unused: Sequence[str]) -> tuple[str, ...]:
    """What is strange about a translation."""
    source, output = (_plain(each, unit) for each in (unit.text, text))
    reasons = []
    if failed:
        lost = ", ".join(shown(with_codes(each, unit.codes) or "format", 40) for each in dict.fromkeys(failed))
        reasons.append(f"place not known: {lost}")
    if unused:
        reasons.append(f"term not used: {shown(', '.join(unused), 80)}")
    if numbers := lost_numbers(source, output):
        reasons.append(f"lost number {', '.join(numbers)}")
    if addresses := lost_addresses(*(_plain(each, unit, " ") for each in (unit.text, text))):
        reasons.append(f"lost address {', '.join(addresses)}")
    if loop := find_loop(source, output):
        reasons.append(f"repeats {' '.join(loop)!r}")
    if is_too_short(source, output):
        reasons.append("very short")
    if is_too_long(source, output):
        reasons.append("very long")
    if is_copied(source, output):
        reasons.append("not translated")
    return tuple(reasons)


def _plain(text: str, unit: Unit, code: str = "") -> str:
    """The text with something in place of each code."""
    return "".join(part if isinstance(part, str) else code for part in parts_of(text, unit.codes))
