"""`limelight translate` for a document or a folder of documents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.outcome import note
from limelight.cli.output import lines_to, text_progress
from limelight.errors import RunError, counted

if TYPE_CHECKING:
    from limelight.cli.job import Job
    from limelight.documents.report import Report
    from limelight.pipelines.job import Text
    from limelight.pipelines.translation import Translation
    from limelight.pipelines.translator import Translator


def translate_documents(job: Job, path: Path) -> None:
    """Translate the documents and report what to look at. Raises `RunError` if files of a folder were left out."""
    from limelight.documents.folder import translate_folder
    from limelight.documents.translate import Work, translate_document
    from limelight.formats.registry import Options
    from limelight.pipelines.codec import choose_direction, other_language, unchanged

    assert job.file is not None
    options = {**job.asked, "glossary": job.terms(), "memory": job.segments}
    made_of, translator = job.made_of(), job.translator()
    given = {name: value for name, value in options.items() if name not in ("lines", "n_best", "batch_tokens")}
    if given["protect"] is None:
        given["protect"] = True  # also with a model that was not trained with placeholders
    direction = job.source_lang, job.target_lang
    compares = not direction[0] and not job.no_guards

    def translate(texts: Sequence[Text], source: str) -> Sequence[Translation]:
        stays: dict[int, Translation] = {}
        if compares and source and source == direction[1]:
            stays, source = _staying(translator, texts, source), ""
        options = translator.options(**{**given, "source_lang": source or direction[0], "detected": not direction[0]})
        rest = [text for place, text in enumerate(texts) if place not in stays]
        found = iter(translator.run(translator.jobs(rest, options), job.batch_tokens))
        return [stays.get(place) or next(found) for place in range(len(texts))]

    def detect(text: str) -> str:
        pivots = () if job.no_pivot else translator.pivots
        chosen = choose_direction(translator.directions, translator.detector, text, *direction, pivots)
        if compares and chosen.direction is not None:
            language = other_language(translator.directions, translator.detector, text, chosen.direction)
            if unchanged(text, language, chosen.direction) is not None:
                return chosen.direction.target
        return chosen.direction.source if chosen.direction is not None and chosen.confidence is not None else ""

    with lines_to(job.report) if job.report else nullcontext() as write, text_progress() as progress:
        # the report is refused now if it cannot be written
        work = Work(
            translate,
            Options(*direction, job.everything),
            settings=made_of,
            detect=detect,
            progress=lambda file, done, units: progress.show(f"{file}: segment", done, units),
        )
        found = (translate_folder if path.is_dir() else translate_document)(path, job.file, work)
        if write is not None:
            for row in found.rows():
                write(row)
    _tell(found, job.report)
    if found.failed:
        raise RunError(f"{counted(len(found.failed), 'file')} could not be translated")


def _staying(translator: Translator, texts: Sequence[Text], language: str) -> dict[int, Translation]:
    """The texts of a document in the target language that are not clearly in another one, by their places."""
    from limelight.config import Direction
    from limelight.pipelines.codec import other_language, unchanged
    from limelight.text.marking import CODES

    there, stays = Direction(language, language), {}
    for place, text in enumerate(texts):
        plain = CODES.sub(" ", text.text)
        same = unchanged(text.text, language, Direction("", language))
        if same and not other_language(translator.directions, translator.detector, plain, there):
            stays[place] = same
    return stays


def _tell(found: Report, report: Path | None) -> None:
    """Write a summary of the report to standard error."""
    for line in found.summary():
        note(line)
    rows = len(found.notes) + len(found.left_out)
    if report:
        note(f"the report is in {report}: {counted(rows, 'row')}")
    elif rows:
        note(f"--report FILE writes a table of all of it: {counted(rows, 'row')}")
