"""The options of `limelight translate` for documents and folders, protected spans and glossaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from limelight.cli.arguments import option
from limelight.cli.output import lines_to, text_progress
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.config import RunConfig
    from limelight.documents.report import Report
    from limelight.formats.translation_memory import TranslationMemory
    from limelight.pipelines.job import Text
    from limelight.pipelines.translation import Translation
    from limelight.pipelines.translator import Translator

Everything = Annotated[
    bool, option("--all", "In bilingual documents, also translate segments that have a translation.")
]
Protect = Annotated[
    list[str] | None,
    option("--protect", "Regular expression of text to keep unchanged, like tags. Can be repeated.", "REGEX")
]  # fmt: skip
NoProtect = Annotated[bool, option("--no-protect", "Translate tags, variables and addresses like any other text.")]
MemoryFile = Annotated[
    Path | None,
    option(
        "--memory",
        "Translation memory: TMX, or another file of pairs. Its segments are reused for the same source.",
        "FILE",
    ),
]
ReportFile = Annotated[
    Path | None,
    option(
        "--report",
        "Write a table (TSV) of what to look at in translated documents: suspect, untranslated and unsure "
        "segments, and files that were left out.",
        "FILE",
    ),
]


GlossaryFile = Annotated[
    Path | None,
    option("--glossary", "Terms and their required translations: two columns (.tsv, .csv), or .tbx.", "FILE"),
]


def protect_of(expressions: Sequence[str] | None, *, off: bool) -> list[str] | bool | None:
    """The value of `--protect` and `--no-protect`; None without both. Raises `UserError` for an invalid expression."""
    if off and expressions:
        raise UserError(f"--no-protect and --protect {expressions[0]} exclude each other: leave one out")
    if expressions:
        from limelight.text.protectors import pattern

        for each in expressions:
            pattern(each)
    return False if off else list(expressions or ()) or None


def refuse_with(must_include: Sequence[str] | None, **others: Any) -> None:
    """Raise `UserError` for options that cannot be combined with `--must-include`."""
    for name, there in others.items():
        if must_include and there:
            raise UserError(f"--must-include and {name} exclude each other: put the terms into a --glossary")


def memory_of(path: Path | None, config: RunConfig, asked: Mapping[str, Any]) -> TranslationMemory | None:
    """The memory in the direction that is asked for, or in the only one of the model; None without a file.

    Raises `UserError` for a file that cannot be read, and if the direction is not known.
    """
    if path is None:
        return None
    from limelight.config import directions_of
    from limelight.formats.pairs import names_languages
    from limelight.formats.translation_memory import open_memory

    source, target, directions = asked["source_lang"], asked["target_lang"], directions_of(config.data)
    if len(directions) == 1:
        source, target = source or directions[0].source, target or directions[0].target
    if directions and not (source and target) and not names_languages([path]):
        raise UserError(
            f"--memory {path}: its languages are not in the file, and the model has several: add --from and --to"
        )
    return open_memory(path, source, target, say=lambda line: typer.echo(f"limelight: {line}", err=True))


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
    from limelight.formats.opening import DOCUMENT_SUFFIXES, refuse_to_translate

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
    job: Job, new_translator: Callable[[], Translator], asked: Mapping[str, Any], made_of: Mapping[str, Any]
) -> None:
    """Translate the documents and report what to look at. Raises `RunError` if files of a folder were left out.

    `asked` are options of `Translator.translate`. `made_of` is what the translations depend on besides the text.
    """
    from limelight.documents.folder import translate_folder
    from limelight.documents.translate import Work, translate_document
    from limelight.formats.registry import Options
    from limelight.pipelines.codec import choose_direction, other_language, unchanged

    translator = new_translator()
    given = {name: value for name, value in asked.items() if name != "batch_tokens"}
    if given["protect"] is None:
        given["protect"] = True  # also with a model that was not trained with placeholders
    direction = asked["source_lang"], asked["target_lang"]
    compares = not direction[0] and given.get("guards") is not False

    def translate(texts: Sequence[Text], source: str) -> Sequence[Translation]:
        stays: dict[int, Translation] = {}
        if compares and source and source == direction[1]:
            stays, source = _staying(translator, texts, source), ""
        options = translator.options(**{**given, "source_lang": source or direction[0], "detected": not direction[0]})
        rest = [text for place, text in enumerate(texts) if place not in stays]
        found = iter(translator.run(translator.jobs(rest, options), asked["batch_tokens"]))
        return [stays.get(place) or next(found) for place in range(len(texts))]

    def detect(text: str) -> str:
        pivots = translator.pivots if asked["pivot"] else ()
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
        found = (translate_folder if job.path.is_dir() else translate_document)(job.path, job.output, work)
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
        typer.echo(f"limelight: {line}", err=True)
    rows = len(found.notes) + len(found.left_out)
    if report:
        typer.echo(f"limelight: the report is in {report}: {counted(rows, 'row')}", err=True)
    elif rows:
        typer.echo(f"limelight: --report FILE writes a table of all of it: {counted(rows, 'row')}", err=True)
