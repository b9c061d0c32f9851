"""`limelight translate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from limelight.cli import documents, many, options, search_options
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import Write, file_or_text, greet, lines_to, live_lines_of
from limelight.errors import counted

if TYPE_CHECKING:
    from limelight.corpus.worker import Done
    from limelight.pipelines.translator import Translation

EXAMPLES = """
[bold]Examples[/bold]
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
WORST = 3
"""The least sure lines that are reported."""
BRIEF = 1000
"""Maximum characters of a text on the command line that is translated without compiled loops."""
WITH_LESS_MEMORY = "Give a smaller --batch-tokens or --beam, or split very long lines"


@command("translate", EXAMPLES, WITH_LESS_MEMORY)
def translate(
    *,
    inputs: many.Inputs = None,
    text: options.GivenText = None,
    model: options.Models = None,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    output: many.Output = None,
    as_json: options.AsJsonLines = False,
    lines: options.Lines = False,
    no_guards: options.NoGuards = False,
    no_pivot: options.NoPivot = False,
    formality: search_options.Formality = "",
    domain: search_options.Domain = "",
    n_best: options.NBest = 1,
    search: search_options.Search,
    no_repeat_ngram: search_options.NoRepeatNgram = None,
    repetition_penalty: search_options.RepetitionPenalty = None,
    must_include: search_options.MustInclude = None,
    must_not_include: search_options.MustNotInclude = None,
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    sample: search_options.Sample = False,
    drawing: search_options.Drawing,
    everything: documents.Everything = False,
    protect: documents.Protect = None,
    no_protect: documents.NoProtect = False,
    glossary: documents.GlossaryFile = None,
    memory: documents.MemoryFile = None,
    report: documents.ReportFile = None,
    workers: many.Workers = None,
    engine: many.EngineOption = None,
    shard: many.Part = None,
    field: many.Field = None,
    pairs: many.Pairs = None,
    timeout: many.Timeout = None,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Translate a text file, a text or standard input line by line, or a document, or a folder of documents."""
    given = many.Many(inputs or [], output, workers, engine, shard, field, pairs, timeout)
    file, text = (None, None) if given.is_corpus else file_or_text(given.argument, text)
    search_options.check_search(search, n_best=n_best, sample=sample)
    asked: dict[str, Any] = {"source_lang": source, "target_lang": target, **search, "n_best": n_best, "lines": lines,
        "no_repeat_ngram": no_repeat_ngram, "repetition_penalty": repetition_penalty,
        "must_include": must_include, "must_not_include": must_not_include,
        "sampling": search_options.sampling_of(drawing, sample=sample), "guards": not no_guards, "pivot": not no_pivot,
        "formality": formality, "domain": domain, "batch_tokens": batch_tokens,
        "protect": documents.protect_of(protect, off=no_protect)}  # fmt: skip
    job = documents.job_of(file, given.file, everything=everything, report=report)
    folders, configs = find_models(
        model, source=source, target=target, translates=True, pivot=not no_pivot, bundled=True
    )
    segments = documents.memory_of(memory, configs[0], asked)
    all_of_it = many.TranslateOptions(
        folders, Machine(device, threads), precision, shortlist, asked, glossary, segments
    )
    _translate(given, (file, text), all_of_it, job, "json" if as_json else "n-best" if n_best > 1 else "text")


def _translate(
    given: many.Many,
    what: tuple[Path | None, str | None],
    asked: many.TranslateOptions,
    job: documents.Job | None,
    form: str,
) -> None:
    """Translate files into a folder, a document, or lines."""
    others = {"sample": asked.options["sampling"], "protect": asked.options["protect"], "glossary": asked.glossary}
    documents.refuse_with(asked.options["must_include"], documents=job, **others)
    if given.is_corpus:
        return many.translate_corpus(given, asked, form)
    options = {**asked.options, "glossary": asked.terms(), "memory": asked.memory}
    brief = what[1] is not None and len(what[1]) <= BRIEF
    new_translator = partial(
        open_translator, asked.folders, asked.machine, asked.precision, shortlist=asked.shortlist, brief=brief
    )
    if job is not None:
        of_documents = {name: value for name, value in options.items() if name not in ("lines", "n_best")}
        return documents.translate_documents(job, new_translator, of_documents, asked.made_of())
    texts = live_lines_of(*what)
    with lines_to(given.file) as write:
        texts, found = many.by_processes(texts, given, asked, form, file=what[0])
        if found is None:
            translator = new_translator(aside=True)
            if what[1] is not None and options["guards"] and not options["source_lang"]:
                translator.require_language(what[1], options["target_lang"], pivot=options["pivot"])
            greet(*what)
            found = _shown(translator.translate_stream(texts, **options), form)
        _write(found, write, form)


def _write(found: Iterator[Done], write: Write, form: str) -> None:
    """Write the lines of each text; afterwards report warnings and low confidence."""
    from limelight.errors import shown
    from limelight.pipelines.translation import LOW_CONFIDENCE

    warnings = Counter[str]()
    unsure = list[tuple[float, int, str]]()
    count = low = 0
    for count, (lines, named, confidence) in enumerate(found, start=1):
        warnings.update(list(dict.fromkeys(named)))
        for line in lines:
            write(line)
        if confidence is not None and confidence < LOW_CONFIDENCE:
            low += 1
            unsure = nsmallest(WORST, [*unsure, (confidence, count, lines[0])])
    if warnings and count == 1:
        _say(f"warning: {', '.join(warnings)}")
    elif warnings:
        listed = ", ".join(f"{name} in {number:,}" for name, number in warnings.most_common())
        _say(f"warnings, of {count:,} lines: {listed}; --json names those of each line")
    if low and count == 1 and form != "json":
        _say(f"the translation is unsure: confidence {unsure[0][0]:.2f} (below {LOW_CONFIDENCE})")
    elif low and form != "json":
        _say(f"{low:,} of {counted(count, 'line')} unsure (confidence below {LOW_CONFIDENCE}); the least sure:")
        for confidence, number, line in unsure:
            _say(f"  line {number:,}: {confidence:.2f}: {shown(line, 60)}")


def _say(line: str) -> None:
    typer.echo(f"limelight: {line}", err=True)


def _shown(translations: Iterator[Translation], form: str) -> Iterator[Done]:
    from limelight.corpus.worker import Done
    from limelight.corpus.worker import shown as formed

    for number, each in enumerate(translations):
        yield Done(formed(each, number, form), each.warnings, each.confidence)
