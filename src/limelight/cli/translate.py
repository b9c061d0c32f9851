"""`limelight translate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.arguments import refuse
from limelight.cli.job import Job
from limelight.cli.outcome import command, note
from limelight.cli.output import SENTENCES, Write, file_or_text, greet, lines_to, live_lines_of
from limelight.errors import UserError, counted

if TYPE_CHECKING:
    from limelight.corpus.worker import Done

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
    _ = job.asked, job.found, job.segments  # what is wrong with them is told before anything is loaded
    if job.mbr is not None:
        refuse({str(file): documents}, "--mbr: this is for lines")
    if job.is_corpus:
        from limelight.cli.corpus import translate_corpus

        translate_corpus(job)
    elif documents and file is not None:
        from limelight.cli.documents import translate_documents

        translate_documents(job, file)
    else:
        _translate_lines(job, file, text)


def is_of_documents(job: Job, path: Path | None) -> bool:
    """Whether a path is a document or a folder of documents, and not text that is translated line by line.

    Raises `UserError`, before a model is loaded, if the output is not named, and for document options without a
    document.
    """
    from limelight.formats.opening import DOCUMENT_SUFFIXES, refuse_to_translate

    if path is not None and not path.is_dir():
        refuse_to_translate(path)
    if path is None or not (path.is_dir() or path.suffix.lower() in DOCUMENT_SUFFIXES):
        of_documents = {"--all": job.everything, "--report": job.report is not None}
        refuse(of_documents, f"this is for documents ({', '.join(DOCUMENT_SUFFIXES)}) and folders")
        return False
    if job.output is None:
        named = f"{path}.NEW" if path.is_dir() else f"{path.with_suffix('')}.NEW{path.suffix}"
        raise UserError(f"{path}: name the {'folder' if path.is_dir() else 'file'} for its translation: -o {named}")
    return True


def _translate_lines(job: Job, file: Path | None, text: str | None) -> None:
    """Translate a file of text, a text, or standard input."""
    options = {**job.asked, "glossary": job.terms(), "memory": job.segments}
    texts = live_lines_of(file, text)
    with lines_to(job.file) as write:
        found = None
        if job.workers != 1 and job.mbr is None and (job.workers or file is not None):
            from limelight.cli.corpus import by_processes

            texts, found = by_processes(texts, job, file)
        if found is None:
            brief = text is not None and len(text) <= BRIEF and job.precision != "int8"
            translator = job.translator(aside=True, brief=brief)
            if text is not None and options["guards"] and not options["source_lang"]:
                translator.require_language(text, options["target_lang"], pivot=options["pivot"])
            if file is None and text is None:
                greet(SENTENCES)
            from limelight.corpus.worker import Done
            from limelight.corpus.worker import shown as as_lines

            each_text = translator.translate_stream(texts, **options)
            if job.mbr is not None:
                from limelight.evaluation.mbr import least_risk

                each_text = map(least_risk, each_text)
            numbered = enumerate(each_text)
            found = (
                Done(as_lines(each, number, job.form), each.warnings, each.confidence) for number, each in numbered
            )
        _write(found, write, job.form)


def _write(found: Iterator[Done], write: Write, form: str) -> None:
    """Write the lines of each text; afterwards report how many have warnings or a low confidence."""
    from limelight.pipelines.translation import LOW_CONFIDENCE

    warnings = Counter[str]()
    count = low = 0
    for lines, named, confidence in found:
        count += 1
        warnings.update(list(dict.fromkeys(named)))
        for line in lines:
            write(line)
        low += confidence is not None and confidence < LOW_CONFIDENCE
    if warnings:
        listed = ", ".join(f"{name} in {number:,}" for name, number in warnings.most_common(MOST))
        note(f"warnings, of {counted(count, 'line')}: {listed}; --json names those of each line")
    if low and form != "json":
        note(f"{low:,} of {counted(count, 'line')} unsure (confidence below {LOW_CONFIDENCE}); --json names them")
