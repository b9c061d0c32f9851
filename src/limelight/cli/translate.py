"""`limelight translate`: lines, documents, and many files or one by several processes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.arguments import refuse
from limelight.cli.job import Job
from limelight.cli.models import resolved_precision
from limelight.cli.outcome import command, note
from limelight.cli.output import SENTENCES, Write, file_or_text, greet, lines_to, live_lines_of
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.corpus.pool import Start
    from limelight.corpus.translate import Report
    from limelight.corpus.worker import Done, WorkerSettings
    from limelight.pipelines.job import Text
    from limelight.pipelines.translation import Translation

EXAMPLES = """
  limelight translate --model runs/en-de "A dog runs."
  limelight translate --model runs/en-de < input.txt > output.txt
  limelight translate --model runs/en-de input.txt.gz -o output.txt
  echo "A dog runs." | limelight translate --model runs/en-de --n-best 3
  limelight translate --model runs/one --model runs/two input.txt > out.txt
  limelight translate --model runs/en-de --sample --seed 7 --json input.txt
  limelight translate --model runs/en-de --shortlist input.txt > output.txt
  limelight translate --model runs/many --from en --to fr input.txt
  limelight translate --model runs/en-de manual.docx -o manual.de.docx
  limelight translate --model runs/en-de docs/ -o out/ --report report.tsv
  limelight translate --model runs/en-de --lines --no-guards test.en > test.de
  limelight translate --model runs/en-de --workers 8 shards/ -o out/
"""
MOST = 20
"""Warnings that are listed, the most frequent first."""
BRIEF = 1000
"""Maximum characters of a text on the command line that is translated without compiled loops."""


@command("translate", EXAMPLES)
def translate(*, job: Job) -> None:
    """Translate a text file, a text or standard input line by line, or a document, or a folder of documents."""
    file, text = (None, None) if job.is_corpus else file_or_text(next(iter(job.inputs or ()), None), job.text)
    documents = is_of_documents(job, file)
    _ = job.text_options, job.models, job.translation_memory, job.terms  # their errors come before anything is loaded
    if documents:
        refuse(
            {
                "--json": job.as_json,
                "--lines": job.lines,
                "--mbr": job.mbr,
                "--workers": job.workers,
                "--n-best": job.n_best if job.n_best > 1 else None,
            },
            f"this is for lines of text, and {file} is translated as a whole",
        )
    if job.is_corpus:
        _translate_corpus(job)
    elif documents and file is not None:
        translate_documents(job, file)
    else:
        _translate_lines(job, file, text)


def is_of_documents(job: Job, path: Path | None) -> bool:
    """Whether a path is a document or a folder of documents, and not text that is translated line by line.

    Raises `UserError`, before a model is loaded, if the output is not named, and for document options without a
    document.
    """
    from limelight.formats.opening import DESCRIPTIONS, text_suffix
    from limelight.formats.registry import DOCUMENT_SUFFIXES, FORMATS, SUFFIXES, refuse_to_translate, suffix_of

    if path is not None and not path.is_dir():
        refuse_to_translate(path)
        if text_suffix(path) == ".jsonl":
            raise UserError(f"{path}: its objects are translated into a folder: give -o FOLDER/")
    if path is None or not (path.is_dir() or path.suffix.lower() in DOCUMENT_SUFFIXES):
        refuse(
            {"--all": job.everything, "--report": job.report is not None},
            f"this is for documents ({', '.join(DOCUMENT_SUFFIXES)}) and folders",
        )
        return False
    if job.output is None:
        named = f"{path}.NEW" if path.is_dir() else f"{path.with_suffix('')}.NEW{path.suffix}"
        raise UserError(f"{path}: name the {'folder' if path.is_dir() else 'file'} for its translation: -o {named}")
    if path.is_file() and job.output.endswith(("/", os.sep)):
        raise UserError(f"{job.output}: a document is translated into a file: -o {Path(job.output) / path.name}")
    own, named = suffix_of(path), suffix_of(job.output)
    kinds = {FORMATS[suffix][1] if suffix in FORMATS else suffix for suffix in (own, named)}
    if path.is_file() and len(kinds) > 1 and named in (*SUFFIXES, *DESCRIPTIONS, ".mo"):
        raise UserError(f"{job.output}: would be a file in the format of {own}; give -o a name with {own}")
    return True


def _translate_lines(job: Job, file: Path | None, text: str | None) -> None:
    """Translate a file of text, a text, or standard input."""
    options = {**job.text_options, "glossary": job.terms, "memory": job.translation_memory}
    texts = live_lines_of(file, text)
    with lines_to(job.output_file, filter(None, [file])) as write:
        results = None
        if job.workers != 1 and job.mbr is None:
            texts, results = by_processes(texts, job, file)
        if results is None:
            brief = text is not None and len(text) <= BRIEF and job.precision != "int8"
            translator = job.translator(aside=True, brief=brief)
            if file is None and text is None:
                greet(SENTENCES)
            from limelight.corpus.worker import Done, shown

            translations = translator.translate_stream(texts, **options)
            if job.mbr is not None:
                from limelight.evaluation.mbr import least_risk

                translations = map(least_risk, translations)
            results = (
                Done(shown(translation, number, job.form), translation.warnings, translation.confidence)
                for number, translation in enumerate(translations)
            )
        _write_lines(results, write, job.form)


def _write_lines(results: Iterator[Done], write: Write, form: str) -> None:
    """Write the lines of each text; afterwards report how many have warnings or a low confidence."""
    from limelight.pipelines.translation import LOW_CONFIDENCE

    warnings = Counter[str]()
    count = low = 0
    for lines, named, confidence in results:
        count += 1
        warnings.update(named)  # each once
        for line in lines:
            write(line)
        low += confidence is not None and confidence < LOW_CONFIDENCE
    if warnings:
        listed = ", ".join(f"{name} in {number:,}" for name, number in warnings.most_common(MOST))
        note(f"warnings, of {counted(count, 'line')}: {listed}; --json names those of each line")
    if low and form != "json":
        note(f"{low:,} of {counted(count, 'line')} unsure (confidence below {LOW_CONFIDENCE}); --json names them")


def translate_documents(job: Job, path: Path) -> None:
    """Translate the documents and report what to look at. Raises `RunError` if files of a folder were left out."""
    from limelight.documents.folder import translate_folder
    from limelight.documents.translate import Work, translate_document
    from limelight.formats.unit import Options
    from limelight.screen import Display

    assert job.output_file is not None
    of_lines = ("lines", "n_best", "batch_tokens")
    set_options = {name: value for name, value in job.text_options.items() if name not in of_lines}
    set_options |= {"glossary": job.terms, "memory": job.translation_memory, "detected": not job.source_lang}
    if set_options["protect"] is None:
        set_options["protect"] = True  # also with a model that was not trained with placeholders
    made_of, translator = job.made_of(job.machine.device), job.translator()
    translator.options(**set_options)  # an error of them is not one of a single file

    def translate(texts: Sequence[Text], source: str) -> Sequence[Translation]:
        options = translator.options(**{**set_options, "source_lang": source or job.source_lang})
        return translator.run(translator.jobs(texts, options), job.batch_tokens)

    def detect(text: str) -> str:
        chosen = translator.choose(text, job.source_lang, job.target_lang, pivot=not job.no_pivot)
        return chosen.direction.source if chosen.direction is not None and chosen.confidence is not None else ""

    with lines_to(job.report, (path,)) if job.report else nullcontext() as write, Display() as display:
        # the report is refused now if it cannot be written
        work = Work(
            translate,
            Options(*job.direction.languages, job.everything),
            settings=made_of,
            detect=detect,
            progress=lambda file, done, units: display.count(f"{file}: segment", done, units),
        )
        report = (translate_folder if path.is_dir() else translate_document)(path, job.output_file, work)
        if write is not None:
            for row in report.rows():
                write(row)
    for line in report.summary():
        note(line)
    rows = sum(1 for _ in report.rows()) - 1
    if job.report:
        note(f"the report is in {job.report}: {counted(rows, 'row')}")
    elif rows:
        note(f"--report FILE writes a table of all of it: {counted(rows, 'row')}")
    if report.failed:
        raise RunError(f"{counted(len(report.failed), 'file')} could not be translated")


ENOUGH = 4000
"""Minimum lines of a file for which processes are faster than threads, including their start (docs/corpus.md)."""


def _translate_corpus(job: Job) -> None:
    """Translate the files into a folder. Raises `RunError` if some could not be read to their end."""
    from limelight.corpus.pool import TIMEOUT
    from limelight.corpus.translate import CorpusJob, translate_corpus
    from limelight.screen import Display

    refuse({"--text": job.text}, "this is for one text, and files are translated into a folder; leave it out")
    output, inputs = job.output or "", tuple(job.inputs or ())
    if "" in inputs:
        raise UserError("an argument is empty: name files or folders")
    if not (inputs and output) or "://" in output or Path(output).is_file():
        raise UserError(
            f"{counted(len(inputs), 'input')} and -o {output or '(none)'}: many files need inputs (files "
            "or folders) and a folder for their translations, -o OUT/; a text of several words is written in quotes"
        )
    if job.form != "text":
        raise UserError(
            "--json and --n-best are for one file: of many the translations are written, in their own format"
        )
    if job.sample and job.drawing.seed is None:
        raise UserError("--sample over many files needs --seed N")
    workers, settings = _settings(job)
    precision, _ = resolved_precision(job.models[0], settings.device, job.precision)
    settings = replace(settings, precision=precision)  # on all workers, whatever their machines have
    made_of = job.made_of(settings.device)
    files = CorpusJob(inputs, Path(output), made_of, job.field or "", workers, job.timeout or TIMEOUT)
    with Display() as display:

        def show(report: Report, count: int) -> None:
            speed = f"{report.new:,} lines  {report.lines_per_second:,.0f} lines/s"
            display.count("file", report.files, count, speed)

        report = translate_corpus(files, _starter(job.engine, settings, workers), show)
    for line in report.lines():
        note(line)
    if report.faults:
        raise RunError(f"{counted(len(report.faults), 'file')} could not be read to the end; all others are finished")
    if report.counts["read"] and not report.counts["written"]:
        raise RunError(f"no line was translated; the .skipped.jsonl files in {output} have the reasons")


def by_processes(
    lines: Iterator[str | None], job: Job, file: Path | None
) -> tuple[Iterator[str | None], Iterator[Done] | None]:
    """The lines, some of which may have been read, and their translations by several processes; None instead of these
    if one process should translate: short text, pipes, or on a GPU."""
    if job.workers is None:
        needs_one = job.protect or job.glossary or job.memory or job.sample
        if needs_one or file is None or not file.is_file() or not _forks(job.machine.device) or _cores() < 2:
            return lines, None
        first_lines = list(islice(lines, ENOUGH))
        lines = chain(first_lines, lines)
        if len(first_lines) < ENOUGH:
            return lines, None
    from limelight.corpus.translate import translate_lines

    workers, settings = _settings(job)
    return lines, translate_lines(lines, _starter(None, settings, workers), workers)


def _settings(job: Job) -> tuple[int, WorkerSettings]:
    """The number of workers, and how each opens the model."""
    from limelight.corpus.worker import WorkerSettings

    machine = job.machine
    on_cpu = machine.device in (None, "auto", "cpu")
    workers = job.workers or _gpus(machine.device) or (max(1, _cores() // (machine.threads or 1)) if on_cpu else 1)
    device = "cpu" if _forks(machine.device) else machine.device
    threads = machine.threads or max(1, _cores() // workers)
    indexes = job.translation_memory.indexes if job.translation_memory else ()
    memory = [(str(index.path), index.name) for index in indexes]
    glossary = (str(job.glossary), *job.direction.languages) if job.glossary else ()
    return workers, WorkerSettings(
        job.models[0], job.plain(), device, threads, job.precision, job.shortlist, glossary, job.form, memory
    )


def _starter(engine: str | None, settings: WorkerSettings, workers: int) -> Start:
    """What starts the workers: processes, or actors of the engine `ray`."""
    if engine != "ray":
        from limelight.corpus.pool import processes

        return processes(settings, shares=settings.device == "cpu" and sys.platform == "linux")
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise UserError(
            "--engine ray needs Ray: pip install 'limelight[ray]'; on one machine --workers N needs nothing"
        )
    from limelight.corpus.ray_actors import actors

    return actors(settings, workers=workers, gpus=1 if _gpus(settings.device) else 0)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forks(device: str | None) -> bool:
    """Whether workers are forked: on a CPU under Linux. GPUs are detected by device files, because importing torch
    takes seconds."""
    return sys.platform == "linux" and device in (None, "auto", "cpu") and not _gpus(device)


def _gpus(device: str | None) -> int:
    if device not in (None, "auto", "cuda"):
        return 0
    return len(list(Path("/dev").glob("nvidia[0-9]*"))) or int(Path("/dev/kfd").exists())
