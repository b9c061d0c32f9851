"""Documents for `limelight translate`: a file into a file, a folder into a folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from limelight.cli.output import lines_to
from limelight.errors import RunError, UserError
from limelight.text.formats import DOCUMENT_SUFFIXES

if TYPE_CHECKING:
    from limelight.documents.translate import Report
    from limelight.pipelines.translator import Translator


def is_document(path: Path | None) -> bool:
    """Whether a path is translated as a document, and not line by line."""
    return path is not None and (path.is_dir() or path.suffix.lower() in DOCUMENT_SUFFIXES)


def check_output(path: Path, output: Path | None) -> Path:
    """Raises `UserError` where it is not said what the translation is to be called, before a model is loaded."""
    if output is None:
        named = f"{path}.NEW" if path.is_dir() else f"{path.with_suffix('')}.NEW{path.suffix}"
        raise UserError(f"{path}: name the {'folder' if path.is_dir() else 'file'} for its translation: -o {named}")
    return output


def translate_documents(
    path: Path,
    output: Path,
    translator: Translator,
    *,
    everything: bool = False,
    protect: Sequence[str] = (),
    report: Path | None = None,
    **options: Any,
) -> None:
    """Translate them and say what was suspect. Raises `RunError` where a file of a folder could not be translated."""
    from limelight.documents.translate import Work, translate_document, translate_folder
    from limelight.pipelines.protected import translate_prepared
    from limelight.text.protectors import DEFAULT, pattern
    from limelight.text.units.registry import Options

    work = Work(
        lambda texts: translate_prepared(translator, texts, **options),
        Options(options.get("source_lang") or "", options.get("target_lang") or "", everything),
        settings=repr((translator.name, sorted(options.items()))),
        protectors=[*DEFAULT, *map(pattern, protect)],
        progress=_Progress(),
    )
    found = (translate_folder if path.is_dir() else translate_document)(path, output, work)
    _tell(found, report)
    if found.faults:
        raise RunError(f"{len(found.faults)} files could not be translated")


def _tell(found: Report, report: Path | None) -> None:
    """The report: into a file, else to standard error, shortened."""
    lines = list(found.lines())
    for line in lines[: 1 if report else 40]:
        typer.echo(f"limelight: {line}", err=True)
    if report:
        with lines_to(report) as write:
            for line in lines:
                write(line)
    elif len(lines) > 40:
        typer.echo(f"limelight: ... {len(lines) - 40} more; --report FILE has them all", err=True)


class _Progress:
    """A line now and then on standard error; on a terminal one that is written over."""

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
