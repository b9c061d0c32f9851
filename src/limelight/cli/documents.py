"""`limelight translate` for a document or a folder of documents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.outcome import note
from limelight.cli.output import lines_to
from limelight.errors import RunError, counted
from limelight.screen import Display

if TYPE_CHECKING:
    from limelight.cli.job import Job
    from limelight.pipelines.job import Text
    from limelight.pipelines.translation import Translation


def translate_documents(job: Job, path: Path) -> None:
    """Translate the documents and report what to look at. Raises `RunError` if files of a folder were left out."""
    from limelight.documents.folder import translate_folder
    from limelight.documents.translate import Work, translate_document
    from limelight.formats.registry import Options
    from limelight.pipelines.codec import choose_direction

    assert job.file is not None
    given = {name: value for name, value in job.asked.items() if name not in ("lines", "n_best", "batch_tokens")}
    given |= {"glossary": job.terms(), "memory": job.segments, "detected": not job.source_lang}
    if given["protect"] is None:
        given["protect"] = True  # also with a model that was not trained with placeholders
    direction = job.source_lang, job.target_lang
    made_of, translator = job.made_of(), job.translator()

    def translate(texts: Sequence[Text], source: str) -> Sequence[Translation]:
        options = translator.options(**{**given, "source_lang": source or job.source_lang})
        return translator.run(translator.jobs(texts, options), job.batch_tokens)

    def detect(text: str) -> str:
        pivots = () if job.no_pivot else translator.pivots
        chosen = choose_direction(translator.directions, translator.detector, text, *direction, pivots)
        return chosen.direction.source if chosen.direction is not None and chosen.confidence is not None else ""

    with lines_to(job.report) if job.report else nullcontext() as write, Display() as display:
        # the report is refused now if it cannot be written
        work = Work(
            translate,
            Options(*direction, job.everything),
            settings=made_of,
            detect=detect,
            progress=lambda file, done, units: display.count(f"{file}: segment", done, units),
        )
        found = (translate_folder if path.is_dir() else translate_document)(path, job.file, work)
        if write is not None:
            for row in found.rows():
                write(row)
    for line in found.summary():
        note(line)
    rows = len(found.notes) + len(found.left_out)
    if job.report:
        note(f"the report is in {job.report}: {counted(rows, 'row')}")
    elif rows:
        note(f"--report FILE writes a table of all of it: {counted(rows, 'row')}")
    if found.failed:
        raise RunError(f"{counted(len(found.failed), 'file')} could not be translated")
