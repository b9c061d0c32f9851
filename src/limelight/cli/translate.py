"""`limelight translate`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from limelight.cli import documents, options, search_options
from limelight.cli.input import file_or_text, greet, live_lines_of
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.output import Write, lines_to

if TYPE_CHECKING:
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
  limelight translate --model runs/en-de docs/ -o out/ --report suspect.txt
  limelight translate --model runs/en-de --lines --no-guards test.en > test.de
"""
FORMAT = 1
"""Of the objects of `--json`."""
WITH_LESS_MEMORY = "Give a smaller --batch-tokens or --beam, or split very long lines"


def translate(
    argument: options.TextOrFile = None,
    text: options.GivenText = None,
    model: options.Models = None,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    output: options.Output = None,
    as_json: options.AsJsonLines = False,
    lines: options.Lines = False,
    no_guards: options.NoGuards = False,
    beam: options.Beam = None,
    n_best: options.NBest = 1,
    length_penalty: options.LengthPenalty = None,
    length_offset: search_options.LengthOffset = None,
    patience: search_options.Patience = None,
    prune: search_options.Prune = None,
    max_length_factor: search_options.MaxLengthFactor = None,
    max_length_extra: search_options.MaxLengthExtra = None,
    no_repeat_ngram: search_options.NoRepeatNgram = None,
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    sample: search_options.Sample = False,
    temperature: search_options.Temperature = None,
    top_k: search_options.TopK = None,
    top_p: search_options.TopP = None,
    seed: search_options.Seed = None,
    everything: documents.Everything = False,
    protect: documents.Protect = None,
    glossary: documents.GlossaryFile = None,
    report: documents.ReportFile = None,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Translate a text file, a text or standard input line by line, or a document, or a folder of documents."""
    file, text = file_or_text(argument, text)
    search_options.check_search(beam=beam, n_best=n_best, patience=patience, prune=prune, sample=sample)
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    asked: dict[str, Any] = {
        "source_lang": source, "target_lang": target, "beam_size": beam, "length_penalty": length_penalty,
        "length_offset": length_offset, "patience": patience, "prune": prune, "max_length_factor": max_length_factor,
        "max_length_extra": max_length_extra, "no_repeat_ngram": no_repeat_ngram,
        "sampling": search_options.sampling_of(drawing, sample=sample), "batch_tokens": batch_tokens,
        "guards": not no_guards,
    }  # fmt: skip
    job = documents.job_of(file, output, everything=everything, report=report)
    kept = documents.kept_of(protect, glossary, source, target)
    folders, _ = find_models(model, source=source, target=target, translates=True, bundled=True)
    new_translator = partial(open_translator, folders, Machine(device, threads), precision, shortlist=shortlist)
    if job is not None:
        documents.translate_documents(job, new_translator, kept, asked)
        return
    given = live_lines_of(file, text)
    with lines_to(output) as write:
        translator = new_translator()
        greet(file, text)
        asked |= {"n_best": n_best, "lines": lines}
        _write(documents.translate_lines(given, translator, kept, asked), write, as_json, n_best > 1)


def _write(translations: Iterator[Translation], write: Write, as_json: bool, all_of_them: bool) -> None:
    warnings = Counter[str]()
    lines = 0
    for number, translation in enumerate(translations):
        lines += 1
        warnings.update(set(translation.warnings))
        for line in _shown(translation, number, as_json=as_json, all_of_them=all_of_them):
            write(line)
    if warnings:
        named = ", ".join(f"{name} {count:,}" for name, count in warnings.most_common())
        typer.echo(f"limelight: warnings, in lines of {lines:,}: {named}; --json has those of each line", err=True)


def _shown(translation: Translation, number: int, *, as_json: bool, all_of_them: bool) -> Iterator[str]:
    if as_json:
        yield json.dumps({"format": FORMAT, **asdict(translation)}, ensure_ascii=False)
    elif all_of_them:
        for each in (translation, *translation.alternatives):
            yield f"{number} ||| {each.text} ||| {each.score:.4f}"
    else:
        yield translation.text
