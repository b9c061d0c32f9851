"""The options of `limelight translate` for documents and folders, protected spans and glossaries."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from limelight.cli.output import lines_to
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.documents.report import Report
    from limelight.pipelines.translation import Translation
    from limelight.pipelines.translator import Translator
    from limelight.text.glossary import Glossary
    from limelight.text.protectors import Protector


Everything = Annotated[
    bool,
    typer.Option("--all", help="In bilingual documents, also translate segments that have a translation.", metavar=""),
]
Protect = Annotated[
    list[str] | None,
    typer.Option(
        "--protect", help="Regular expression of text to keep unchanged, like tags. Can be repeated.",
        metavar="REGEX",
    ),
]  # fmt: skip
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Write a table (TSV) of what to look at in translated documents: suspect, untranslated and unsure "
        "segments, and files that were left out.",
        metavar="FILE",
    ),
]


GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", help="Terms and their required translations: two columns (.tsv, .csv), or .tbx.", metavar="FILE"
    ),
]


class Kept(NamedTuple):
    """The protected spans and the glossary of a translation."""

    protectors: Sequence[Protector]
    glossary: Glossary | None


def kept_of(protect: Sequence[str] | None, glossary: Path | None, source: str, target: str) -> Kept | None:
    """The value of `--protect` and `--glossary`; None without both. Raises `UserError` for an invalid expression,
    and for a glossary that cannot be read."""
    if not protect and glossary is None:
        return None
    from limelight.text.glossary import read_glossary
    from limelight.text.protectors import DEFAULT, pattern

    terms = None if glossary is None else read_glossary(glossary, source, target)
    return Kept([*DEFAULT, *map(pattern, protect or ())], terms)


def refuse_with(must_include: Sequence[str] | None, **others: Any) -> None:
    """Raise `UserError` for options that cannot be combined with `--must-include`."""
    for name, there in others.items():
        if must_include and there:
            raise UserError(f"--must-include and {name} exclude each other: put the terms into a --glossary")


def translate_lines(
    lines: Iterable[str | None], translator: Translator, kept: Kept | None, asked: Mapping[str, Any]
) -> Iterator[Translation]:
    """Translate line by line, with protected spans and terms if given."""
    if kept is None:
        yield from translator.translate_stream(lines, **asked)
        return
    from limelight.pipelines.protected import translate_protected
    from limelight.text.readers.live import chunks

    for some in chunks(lines, 1000):
        yield from translate_protected(translator, some, *kept, **asked)


class Job(NamedTuple):
    """The input and output of a document translation."""

    path: Path
    output: Path
    everything: bool
    report: Path | None


def job_of(path: Path | None, output: Path | None, *, everything: bool, report: Path | None) -> Job | None:
    """The job for a document or a folder; None for text that is translated line by line.

    Raises `UserError`, before a model is loaded, if the output is not named, and for document options without a
    document.
    """
    from limelight.text.open_text import DOCUMENT_SUFFIXES, refuse_to_translate

    if path is not None and not path.is_dir():
        refuse_to_translate(path)
    if path is None or not (path.is_dir() or path.suffix.lower() in DOCUMENT_SUFFIXES):
        given = {"--all": everything, "--report": report}
        if any(given.values()):
            name = next(name for name, value in given.items() if value)
            raise UserError(f"{name} is for documents ({', '.join(DOCUMENT_SUFFIXES)}) and folders")
        return None
    if output is None:
        named = f"{path}.NEW" if path.is_dir() else f"{path.with_suffix('')}.NEW{path.suffix}"
        raise UserError(f"{path}: name the {'folder' if path.is_dir() else 'file'} for its translation: -o {named}")
    return Job(path, output, everything, report)


def translate_documents(
    job: Job, new_translator: Callable[[], Translator], kept: Kept | None, asked: Mapping[str, Any],
    made_with: Mapping[str, Any],
) -> None:  # fmt: skip
    """Translate the documents and report what to look at. Raises `RunError` if files of a folder were left out.

    `made_with` is what the translations depend on besides options, text, spans and glossary.
    """
    from limelight.documents.folder import translate_folder
    from limelight.documents.translate import Work, translate_document
    from limelight.pipelines.job import choose_direction
    from limelight.pipelines.protected import ProtectedText, ProtectedTranslation, translate_prepared
    from limelight.text.protectors import DEFAULT
    from limelight.text.units.registry import Options

    translator = new_translator()

    def translate(texts: Sequence[ProtectedText], source: str) -> Sequence[ProtectedTranslation]:
        return translate_prepared(translator, texts, **{**asked, "source_lang": source or asked["source_lang"]})

    def detect(text: str) -> str:
        given = asked["source_lang"], asked["target_lang"]
        chosen = choose_direction(translator.directions, translator.detector, text, *given)
        return chosen.direction.source if chosen.direction is not None and chosen.confidence is not None else ""

    used = {name: value for name, value in asked.items() if name != "batch_tokens"}
    work = Work(
        translate,
        Options(asked["source_lang"], asked["target_lang"], job.everything),
        settings={**made_with, "options": used | {"sampling": repr(used["sampling"])}},
        detect=detect,
        protectors=DEFAULT if kept is None else kept.protectors,
        glossary=None if kept is None else kept.glossary,
        progress=_Progress(),
    )
    with lines_to(job.report) if job.report else nullcontext() as write:  # refused now if it cannot be written
        found = (translate_folder if job.path.is_dir() else translate_document)(job.path, job.output, work)
        if write is not None:
            for row in found.rows():
                write(row)
    _tell(found, job.report)
    if found.failed:
        raise RunError(f"{counted(len(found.failed), 'file')} could not be translated")


def _tell(found: Report, report: Path | None) -> None:
    """Write a summary of the report to standard error."""
    for line in found.summary():
        typer.echo(f"limelight: {line}", err=True)
    rows = len(found.notes) + len(found.left_out)
    if report:
        typer.echo(f"limelight: the report is in {report}: {counted(rows, 'row')}", err=True)
    elif rows:
        typer.echo(f"limelight: --report FILE writes a table of all of it: {counted(rows, 'row')}", err=True)


class _Progress:
    """Progress lines on standard error; on a terminal a single line that is overwritten."""

    def __init__(self) -> None:
        self.begun = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def __call__(self, file: str, done: int, units: int) -> None:
        now = time.monotonic()
        if self.live:
            typer.echo(f"\r{file}: {done:,} of {units:,} segments", err=True, nl=done == units)
        elif now - self.shown > 10:
            typer.echo(f"limelight: {file}: {done:,} of {units:,} segments", err=True)
            self.shown = now
